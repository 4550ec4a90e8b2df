"""Networks of the paper on gradient orders, and of today, are scheduled, trained too, verified."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spmopt.core.elements import element_type
from spmopt.core.graph import Graph
from spmopt.core.objective import TRAFFIC
from spmopt.core.problem import TensorKind
from spmopt.core.scheduler import Request
from spmopt.frontends import zoo
from spmopt.graph.elements import with_element_type
from spmopt.graph.lower import lower
from spmopt.graph.training import training_graph
from spmopt.solving import solve

from .figures import MACHINE, macs

LLAMA = {
    "layers": 1,
    "sequence": 8,
    "hidden": 64,
    "inner": 96,
    "vocabulary": 100,
    "heads": 4,
    "groups": 2,
}
SMALL = {
    "faster-rcnn-resnet50": {"image": 64, "regions": 2},
    "yolov2-tiny": {"image": 64},
    "tinybert": {"layers": 1, "sequence": 8},
    "t5-small": {"layers": 1, "sequence": 8, "target": 4, "vocabulary": 100},
    "llama3": LLAMA,
    "gpt2": {"layers": 1, "sequence": 8, "hidden": 64, "heads": 4, "vocabulary": 100},
    "ncf": {},
    "dlrm": {},
}


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", SMALL)
def test_lru_is_legal_and_not_below_the_bound(name: str, training: bool) -> None:
    graph = zoo.network(name, batch=2, **SMALL[name])
    check(training_graph(graph) if training else graph)


@pytest.mark.parametrize(("dtype", "training"), [("bf16", True), ("int8", False)])
def test_networks_in_narrow_types(dtype: str, training: bool) -> None:
    whole = zoo.network("gpt2", batch=2, **SMALL["gpt2"])
    graph = with_element_type(whole, dtype)
    graph = training_graph(graph) if training else graph
    width = element_type(dtype).bits // 8
    sizes = {value.name: value.size_bytes for value in graph.values}
    for value in whole.values:
        if value.kind is TensorKind.WEIGHT and len(value.shape) > 1:
            assert sizes[value.name] == width * value.elements
    check(graph)


@pytest.mark.parametrize("sizes", [{"cache": 1}, {"sequence": 1, "past": 9}, {"past": 9}])
def test_prefill_and_decoding(sizes: dict[str, int]) -> None:
    check(zoo.network("llama3", batch=2, **{**LLAMA, **sizes}))


def check(graph: Graph) -> None:
    """Schedule a graph; the verifier and the bound are part of solving, and either would raise."""
    request = Request(objective=TRAFFIC, tolerance=0.1)  # a loose bound, which costs little
    result = solve(lower(graph, replace(MACHINE, spm_bytes=2_000_000)), "lru", request)
    assert result.verified
    assert result.gap is not None
    assert result.gap >= 0
    assert result.totals is not None
    assert result.totals.macs == macs(graph)
