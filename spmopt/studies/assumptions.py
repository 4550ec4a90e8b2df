"""What the thesis leaves open, and which of it explains figures that differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from spmopt.sweep.cases import Case

ASSUMED: Mapping[str, Mapping[str, int]] = {
    "transformer": {"inner": 1024, "vocabulary": 1},
    "gnmt": {"vocabulary": 1},
}
"""Parameters of networks as the thesis may have them: it gives H = 1024 and nothing else."""


def assumed(plain: Case) -> Case:
    """``plain`` with the network as the thesis may have it."""
    network = plain.network
    given = dict(network.parameters) | dict(ASSUMED.get(network.name, {}))
    return replace(plain, network=replace(network, parameters=tuple(given.items())))


_COUNT = (
    "the thesis seems to count a multiply-accumulate as one operation, so that computing takes "
    "half the time that it takes here and hides fewer transfers"
)
_WIDTH = (
    "the thesis gives no width but H = 1024; with feed-forward layers of that width, where here "
    "they have 4096, and without the layer over the vocabulary, more of the traffic is of tensors "
    "that 128 MB hold"
)
_ORDER = (
    "depth-first order walks through the layers step by step, so that all weights come back in "
    "every step until nearly all fit"
)
REASONS: Mapping[tuple[str, str], str] = {
    ("time", "resnet50"): f"{_COUNT}.",
    ("faster", "resnet50"): f"{_COUNT}.",
    ("type2", "resnet50"): f"{_COUNT}.",
    ("traffic", "transformer"): f"{_WIDTH}.",
    ("captured", "transformer"): f"{_WIDTH}.",
    ("time", "transformer"): f"{_COUNT}; {_WIDTH}.",
    ("faster", "transformer"): f"{_COUNT}; {_WIDTH}.",
    ("type2", "transformer"): f"{_COUNT}; {_WIDTH}.",
    ("traffic", "gnmt"): f"{_ORDER}.",
    ("time", "gnmt"): f"{_COUNT}; {_ORDER}.",
}
"""By kind of claim and network."""
