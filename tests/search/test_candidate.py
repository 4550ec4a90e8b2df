"""Problems of candidates: lowered once for all channels, and the same as lowered alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from spmopt.core.errors import InputError
from spmopt.frontends import zoo
from spmopt.graph.lower import lower
from spmopt.graph.training import training_graph
from spmopt.hardware.machines import load_machine
from spmopt.hardware.settings import Setting
from spmopt.search.candidate import Candidate
from spmopt.sweeps.cases import Network

SIZES = {"sequence": 8, "layers": 1}
NETWORK = Network(name="bert-tiny", training=True, batch=1, parameters=tuple(SIZES.items()))
FIELDS: tuple[Mapping[str, Setting], ...] = (
    {},
    {"bandwidth": 10**10, "dma_setup": 7},
    {"duplex": True},
    {"technology": "nvsim-stt", "spm": 2_000_000, "banks": 1},
    {"technology": "nvsim-stt", "spm": 2_000_000, "banks": 1, "bandwidth": 10**9},
)


@pytest.mark.parametrize("fields", FIELDS)
@pytest.mark.parametrize("mapper", ["tiled", "choose"])
def test_problems_are_as_lowered_alone(fields: Mapping[str, Setting], mapper: str) -> None:
    candidate = Candidate.of(load_machine("rtx2080ti"), fields)
    graph = training_graph(zoo.network("bert-tiny", batch=1, **SIZES))
    network = replace(NETWORK, mapper=mapper)
    assert candidate.problem(network) == lower(graph, candidate.machine, mapper=mapper)


def test_operations_of_all_channels_are_one_record() -> None:
    """The same objects: they were lowered once."""
    first, second = (
        Candidate.of(load_machine("rtx2080ti"), fields).problem(replace(NETWORK, mapper="tiled"))
        for fields in FIELDS[:3:2]
    )
    assert first.machine != second.machine
    assert first.operations is second.operations


def test_limits_are_those_of_the_channel() -> None:
    """Large work on a usual channel is no error, and on a slow one is."""
    network = Network(name="resnet50", training=True)
    base = load_machine("rtx2080ti")
    assert Candidate.of(base, {}).problem(network).machine == base
    with pytest.raises(InputError, match="cycles, but at most"):
        Candidate.of(base, {"bandwidth": 1}).problem(network)
