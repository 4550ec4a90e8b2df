"""Networks computed in pieces and stripes, and their gradients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random

import numpy as np
import pytest

import spmopt
from spmopt.audit.fusion import unfaithful
from spmopt.core.errors import InputError
from spmopt.core.fusion.tileable_graph import TileableGraph, whole
from spmopt.core.operation import OpMapping
from spmopt.core.problem import Problem
from spmopt.execution.computations import TOLERANCE, by_graph
from spmopt.execution.executor import Trace
from spmopt.execution.graph_kernel import GraphKernel
from spmopt.graph.build import GraphBuilder
from spmopt.graph.elements import with_element_type
from spmopt.graph.tileable import tileable
from spmopt.graph.training import training_graph
from tests.execution.executed import check_parts
from tests.execution.slopes import check_slopes, ran
from tests.graph import networks
from tests.graph.mixed_plans import mixed_plan
from tests.thorough import nightly, some
from tests.uniform import uniform_plan

MACHINE = spmopt.machine(spm="256KiB")
NETWORKS: Mapping[str, tuple[int, dict[str, int]]] = {
    "bert-tiny": (2, {"sequence": 4, "hidden": 8, "heads": 2}),
    "gnmt": (2, {"layers": 2, "steps": 2, "hidden": 8, "vocabulary": 12}),
    "llama": (1, {"layers": 1, "sequence": 4, "hidden": 16, "heads": 2, "groups": 1}),
}


def listed(name: str, *, training: bool = False, dtype: str | None = None) -> TileableGraph:
    if name in networks.__dict__:
        graph = getattr(networks, name)()
        graph = graph if dtype is None else with_element_type(graph, dtype)
        return tileable(training_graph(graph) if training else graph, MACHINE)
    batch, parameters = NETWORKS[name]
    workload = spmopt.load(name, batch=batch, training=training, parameters=parameters, dtype=dtype)
    assert workload.graph is not None
    return tileable(workload.graph, MACHINE)


def worst(found: Trace, expected: Trace, kernel: GraphKernel) -> float:
    """Largest difference of what is kept, relative to the largest number of all."""
    most = largest = 0.0
    for t, tensor in enumerate(kernel.problem.tensors):
        if tensor.keep:
            dtype = kernel.dtypes[t]
            assert dtype is not None
            one, other = (
                each.contents[t].view(dtype).astype(np.float64) for each in (found, expected)
            )
            most = max(most, float(np.nan_to_num(np.abs(one - other), nan=np.inf).max()))
            largest = max(largest, float(np.abs(other).max()))
    assert largest > 0
    return most / largest


@pytest.mark.parametrize("training", [False, True], ids=["inference", "training"])
@pytest.mark.parametrize(
    "name",
    ["bert-tiny", "gnmt", pytest.param("llama", marks=nightly), "convolution", "residual", "mlp"],
)
def test_pieces_compute_what_the_whole_does(name: str, training: bool) -> None:
    found = listed(name, training=training)
    stripes = 2 if 2 in found.fusion_space("all").stripes else 1
    for data in some(("normal", "integer"), 2) if training else ("integer", "normal"):
        fusion_plan = uniform_plan(found, found.batch, stripes=stripes)
        problem, _ = found.problem(fusion_plan)
        wanted = by_graph(found, fusion_plan, problem, data, 1)
        assert isinstance(wanted.kernel, GraphKernel)
        got = ran(wanted.kernel, wanted.contents)
        limit = 0.0 if data == "integer" else TOLERANCE
        assert worst(got, wanted.expected, wanted.kernel) <= limit
        assert len(problem.operations) > len(found.operations)


@pytest.mark.parametrize("training", [False, True], ids=["inference", "training"])
@pytest.mark.parametrize("name", ["bert-tiny", "llama", "convolution", "mlp"])
def test_tiles_along_any_axis_compute_what_the_whole_does(name: str, training: bool) -> None:
    """Bit for bit, and faithful to the graph by names and loops alone."""
    found, chosen, along = listed(name, training=training), Random(name), set[str]()
    for _ in some(range(4), 2)[: 1 if training else 4]:
        fusion_plan = mixed_plan(found, chosen)
        problem, _ = found.problem(fusion_plan)
        assert not unfaithful(found, fusion_plan, problem)
        check_parts(found, fusion_plan, "integer")
        along |= {found.axes[each.axis].along for each in fusion_plan if each.count > 1}
    assert along


def test_losses_of_whole_numbers_are_sums_of_whole_numbers() -> None:
    b = GraphBuilder("scored")
    x = b.add("Gemm", [b.input("x", (6, 4)), b.weight("w", (4, 5))])
    labels = b.input("labels", (6,), element_type="int64")
    found = tileable(b.finish([b.add("CrossEntropy", [x, labels])]), MACHINE)
    fusion_plan = uniform_plan(found, 6)
    for seed in range(8):
        wanted = by_graph(found, fusion_plan, found.problem(fusion_plan)[0], "integer", seed)
        assert isinstance(wanted.kernel, GraphKernel)
        got = ran(wanted.kernel, wanted.contents)
        (kept,) = (t for t, each in enumerate(wanted.kernel.problem.tensors) if each.keep)
        assert got.contents[kept].tolist() == wanted.expected.contents[kept].tolist()


def test_a_row_of_the_halo_that_a_band_lacks_shows() -> None:
    found = listed("convolution")
    fusion_plan = uniform_plan(found, found.batch, stripes=2)
    problem, origins = found.problem(fusion_plan)
    wanted = by_graph(found, fusion_plan, problem, "normal", 1)
    kernel = wanted.kernel
    assert isinstance(kernel, GraphKernel)
    index = next(
        index
        for index, (operation, origin) in enumerate(zip(problem.operations, origins, strict=True))
        if origin.rows and origin.rows[0] and "[" in problem.tensors[operation.reads[1]].name
    )
    operation = problem.operations[index]
    first = operation.reads[0]
    mappings = tuple(
        OpMapping(compute_cycles=1, operands=m.operands[1:]) for m in operation.mappings
    )
    less = replace(operation, reads=operation.reads[1:], mappings=mappings)
    assert problem.tensors[first].name.endswith("]")
    kernel.problem = _with(problem, index, less)
    assert worst(ran(kernel, wanted.contents), wanted.expected, kernel) == np.inf


def _with(problem: Problem, index: int, operation: spmopt.Operation) -> Problem:
    operations = list(problem.operations)
    operations[index] = operation
    return replace(problem, operations=tuple(operations))


@pytest.mark.parametrize("name", some(["convolution", "mlp", "gnmt", "bert-tiny", "llama"], 2))
def test_gradients_are_slopes_of_the_loss(name: str) -> None:
    assert check_slopes(listed(name, training=True, dtype="fp64")) > 2


def test_results_that_are_not_as_the_graph_has_them_are_refused() -> None:
    """A file may say anything: that of a slice beyond its operand has no elements."""
    b = GraphBuilder("beyond")
    x = b.add("Relu", [b.input("x", (4, 8))])
    beyond = {"axes": (0,), "starts": (10**80,), "ends": (2**62,)}
    (y,) = b.add_stated("Slice", [x], [((2, 8), "fp32")], name="y", **beyond)
    found = tileable(b.finish([y]), MACHINE)
    problem, _ = found.problem(whole(found))
    with pytest.raises(InputError, match="kernels: y has 0 elements where the graph has 16;"):
        by_graph(found, None, problem, "normal", 0)


def test_tensors_that_views_alone_make_are_refused() -> None:
    b = GraphBuilder("twice")
    x, w = b.input("x", (4, 8)), b.weight("w", (4, 8))
    y = b.add("Relu", [x], name="y")
    graph = b.finish([b.add("Neg", [b.add("Reshape", [y], shape=(32,), name="v")])])
    # The view of Y, which the node before has written, is one of W too.
    node = replace(graph.nodes[1], name="again", inputs=(w,), outputs=(y,))
    found = replace(graph, nodes=(graph.nodes[0], node, *graph.nodes[1:]))
    with pytest.raises(InputError, match=r"kernels: tensor .* is made by views alone"):
        GraphKernel(tileable(found, MACHINE), None, "normal")
