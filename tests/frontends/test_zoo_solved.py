"""Networks of the paper on gradient orders, and LLaMA, are scheduled, trained too, and verified."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spmopt.core.objective import TRAFFIC
from spmopt.core.scheduler import Request
from spmopt.frontends import zoo
from spmopt.graph.lower import lower
from spmopt.graph.training import training_graph
from spmopt.solving import solve

from .figures import MACHINE, macs

SMALL = {
    "mobilenet": {"image": 64},
    "faster-rcnn": {"image": 64, "regions": 4},
    "faster-rcnn-resnet50": {"image": 64, "regions": 2},
    "yolov2-tiny": {"image": 64},
    "yolov5l": {"image": 64},
    "tinybert": {"layers": 1, "sequence": 8},
    "t5-small": {"layers": 1, "sequence": 8, "target": 4, "vocabulary": 100},
    "t5-large": {"layers": 1, "sequence": 8, "target": 4, "vocabulary": 100},
    "llama": {
        "layers": 1,
        "sequence": 8,
        "hidden": 64,
        "inner": 96,
        "vocabulary": 100,
        "heads": 4,
        "groups": 2,
    },
    "ncf": {},
    "dlrm": {},
}


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", SMALL)
def test_lru_is_legal_and_not_below_the_bound(name: str, training: bool) -> None:
    graph = zoo.network(name, batch=2, **SMALL[name])
    graph = training_graph(graph) if training else graph
    machine = replace(MACHINE, spm_bytes=2_000_000)
    instance = lower(graph, machine)
    # The verifier and the bound are part of solving; either would raise.
    result = solve(instance, "lru", Request(objective=TRAFFIC))
    assert result.verified
    assert result.gap is not None
    assert result.gap >= 0
    assert result.totals is not None
    assert result.totals.macs == macs(graph)
