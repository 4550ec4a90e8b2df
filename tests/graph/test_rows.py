"""Stripes: computed one after another they are the whole, halo kept and nothing twice."""

from __future__ import annotations

import pickle
from collections import Counter
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spmopt.assemble import assemble
from spmopt.audit.boxes import tile_maps
from spmopt.core.errors import InputError
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.fusion.row_windows import Window
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.graph import Graph
from spmopt.core.objective import MAKESPAN
from spmopt.core.scheduler import Request
from spmopt.frontends import zoo
from spmopt.graph.axes import LinkedAxes
from spmopt.graph.build import GraphBuilder
from spmopt.graph.lower import lower
from spmopt.graph.rows import RowAxes
from spmopt.graph.tileable import tileable
from spmopt.graph.training import training_graph
from spmopt.hardware.machines import load_machine
from spmopt.schedulers.registry import find
from spmopt.verifier import require_legal
from spmopt.verifier.fusion_tiles import check_fusion
from tests.execution.executed import check_parts
from tests.graph.feature_maps import feature_maps, striped
from tests.graph.networks import attention, mlp
from tests.thorough import share
from tests.uniform import uniform_plan

MACHINE = load_machine("rtx2080ti", {"spm": "16KB", "page": "64B"})


def listed(graph: Graph) -> TileableGraph:
    """Its values are those of the graph: nothing is folded."""
    return tileable(graph, MACHINE, mapper="tiled-unfolded")


@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
@settings(max_examples=share(80), deadline=None)
@given(st.data())
def test_stripes_compute_what_the_whole_does_with_its_work_on_its_bytes(
    data: st.DataObject,
) -> None:
    """What a stripe does not read is poison, what is not written yet too."""
    graph = data.draw(feature_maps())
    mapper = data.draw(st.sampled_from(("tiled-unfolded", "tiled")))
    found, given = tileable(graph, MACHINE, mapper=mapper), lower(graph, MACHINE, mapper=mapper)
    fusion_plan = data.draw(striped(found))
    check_parts(found, fusion_plan, data.draw(st.sampled_from(("integer", "normal"))))
    problem, origins = found.problem(fusion_plan)
    work = Counter[int]()
    rows: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for operation, origin in zip(problem.operations, origins, strict=True):
        work[origin.operation] += operation.mappings[0].macs
        if origin.rows is not None:
            rows.setdefault((origin.operation, origin.fusion_tile), []).append(origin.rows)
    rounded = set[int]()
    for (at, _), stripes in rows.items():
        cut = found.operations[at].rows
        assert cut is not None
        few = min(end - begin for begin, end in stripes)
        # Each stripe of a transposed convolution multiplies a row of X at least.
        rounded |= {at for window in cut.windows.values() if few * window.size < cut.count}
        assert [0, *(end for _, end in stripes)] == [*(begin for begin, _ in stripes), cut.count]
    for at, operation in enumerate(given.operations):
        macs = operation.mappings[0].macs
        assert work[at] == macs or (at in rounded and work[at] > macs)
    assert sum(t.size_bytes for t in problem.tensors) == sum(t.size_bytes for t in given.tensors)
    assert found.graph is not None
    assert check_fusion(tile_maps(found.graph, found, fusion_plan, problem)) == ()
    residency_plan = (
        find("belady-size").load()(problem, Request(objective=MAKESPAN, threads=1)).residency_plan
    )
    assert residency_plan is not None
    assert require_legal(problem, assemble(problem, residency_plan)).legal


def test_windows_know_what_they_need_and_what_they_allow() -> None:
    """By trying: results that some first rows allow are those that read no further."""
    for stride in (1, 2, 3):
        for span in (1, 3, 4):
            for first in (0, -1, -2):
                window = Window(size=12, stride=stride, first=first, span=span)
                reads = [
                    [y * stride + first + r for r in range(span) if y * stride + first + r >= 0]
                    for y in range(12)
                ]
                for there in range(1, 12):
                    ready = sum(max(each, default=-1) < there for each in reads)
                    assert min(max(window.ready(there), 0), 12) == ready
                count = 3
                for begin in range(count):
                    for end in range(begin + 1, count + 1):
                        low, high = window.rows(begin, end, count)
                        needed = {r for y in range(begin, end) for r in reads[y] if r < 12}
                        assert needed <= set(range(low, high))


def test_windows_of_larger_maps_know_what_they_need_and_what_they_allow() -> None:
    """By trying, as above; a quotient that is not whole takes the row before, or none."""
    for divisor, span, first in product((2, 3), (-1, 0, 1, 4), (-2, 0, 1)):
        window = Window(size=4, first=first, span=span, divisor=divisor)
        reads = [
            range((y + first) // divisor, (y + first + span - 1) // divisor + 1) for y in range(12)
        ]
        needed = [{row for row in each if 0 <= row < 4} for each in reads]
        for there in range(1, 4):
            ready = min(max(window.ready(there), 0), 12)
            assert all(max(each, default=-1) < there for each in reads[:ready])
            assert ready == 12 or (reads[ready].stop > there)
        for begin, end in combinations(range(13), 2):
            low, high = window.rows(begin, end, 12)
            assert set().union(*needed[begin:end]) <= set(range(low, high))


def windows_of(operator: str, shapes: list[tuple[int, ...]], **attributes: Any) -> Window | None:
    """The rows of its first operand that a node takes, if these are a window."""
    b = GraphBuilder("one")
    x = b.add(
        "MaxPool", [b.input("x", shapes[0])], name="p", kernel_shape=(3, 1), pads=(1, 0, 1, 0)
    )
    weights = [b.weight(f"w{k}", shape) for k, shape in enumerate(shapes[1:])]
    rows = listed(b.finish([b.add(operator, [x, *weights], name="y", **attributes)])).operations[1]
    return None if rows.rows is None else rows.rows.windows[rows.reads[0]]


def test_rows_of_larger_maps_by_hand() -> None:
    def transposed(kernel: int, **attributes: Any) -> Window | None:
        weight = (2, 2, kernel, 1)
        return windows_of("ConvTranspose", [(1, 2, 8, 3), weight], **attributes)

    assert transposed(2, strides=(2, 1)) == Window(size=8, first=0, span=1, divisor=2)
    padded = transposed(4, strides=(2, 1), pads=(1, 0, 1, 0))
    assert padded == Window(size=8, first=-1, span=3, divisor=2)
    assert transposed(3) == Window(size=8, first=-2, span=3)
    assert transposed(3, strides=(2, 1), output_shape=(16, 3)) is None

    def resized(rows: int, *, of: int = 8, **attributes: Any) -> Window | None:
        return windows_of("Resize", [(1, 2, of, 3)], shape=(1, 2, rows, 3), **attributes)

    assert resized(16) == Window(size=8, divisor=2)
    linear = resized(16, mode="linear")
    assert linear == Window(size=8, first=-1, span=3, divisor=2)
    asymmetric: dict[str, Any] = {
        "coordinate_transformation_mode": "asymmetric",
        "nearest_mode": "floor",
    }
    assert resized(24, **asymmetric) == Window(size=8, divisor=3)
    assert resized(4, **asymmetric) == Window(size=8, stride=2)
    # Floats of five thirds are not exact: rows on both sides of a whole position.
    inexact = resized(10, of=6, **asymmetric)
    assert inexact == Window(size=6, stride=3, first=-1, span=3, divisor=5)
    refused: list[dict[str, Any]] = [
        {"coordinate_transformation_mode": "tf_crop_and_resize"},
        {"mode": "cubic"},
        {"coordinate_transformation_mode": "half_pixel", "nearest_mode": "floor"},
    ]
    assert [resized(16, **each) for each in refused] == [None] * 3
    # A crop may be enlarged to the size of the whole.
    assert resized(8, coordinate_transformation_mode="tf_crop_and_resize") is None
    assert resized(8) == Window(size=8)
    assert resized(4, mode="linear", antialias=1) is None


def test_rows_of_a_network_are_its_height() -> None:
    found = listed(zoo.network("mobilenetv2", batch=2))
    fused_group = FusedGroup(begin=0, end=33, micro_batches=2, stripes=4)
    assert not found.obstacle(fused_group)
    boundaries = found.boundaries(fused_group)
    assert boundaries[0] == (0, 28, 56, 84, 112)  # a stride of 2, of the image
    assert boundaries[3] == (0, 27, 55, 83, 112)  # three rows each: one must wait
    assert boundaries[-1] == (0, 6, 13, 20, 28)
    assert "stripes are of one of 2 fusion tiles" in found.obstacle(
        FusedGroup(begin=0, end=3, stripes=4)
    )
    last = len(found.operations)
    assert "cannot be cut into stripes" in found.obstacle(
        FusedGroup(begin=last - 2, end=last, micro_batches=2, stripes=2)
    )
    late = FusedGroup(begin=last - 10, end=last - 3, micro_batches=2, stripes=8)
    assert "has no rows to compute, or to take, in some of 8 stripes" in found.obstacle(late)
    assert pickle.loads(pickle.dumps(found)).problem(uniform_plan(found, 2)) == found.problem(
        uniform_plan(found, 2)
    )


def test_what_has_no_windows_has_no_rows() -> None:
    for graph in (mlp(), attention()):
        assert RowAxes(LinkedAxes(graph)).rows is None
        found = listed(graph)
        said = found.obstacle(FusedGroup(begin=0, end=1, micro_batches=found.batch, stripes=2))
        assert "cannot be cut into stripes" in said


def test_gradients_through_windows_are_not_cut() -> None:
    found = listed(training_graph(zoo.network("resnet18", batch=2)))
    for operation in found.operations:
        if operation.kind in ("ConvInputGradient", "ConvWeightGradient", "MaxPoolGradient"):
            assert operation.rows is None, operation.name
    rows = Counter(each.kind for each in found.operations if each.rows is not None)
    assert rows["Conv"] == 20
    assert rows["ReluGradient"] > 10


def test_a_fused_group_does_not_read_all_rows_of_what_it_makes_in_stripes() -> None:
    b = GraphBuilder("scale")
    x = b.add("Relu", [b.input("x", (2, 3, 8, 4))], name="r")
    flat = b.add("Flatten", [x], name="flat")
    y = b.add("Gemm", [flat, b.weight("w", (96, 5))], name="y")
    mean = b.add("GlobalAveragePool", [x], name="mean")
    w = b.weight("v", (3, 3, 3, 1))
    conv = b.add("Conv", [x, w], name="c", pads=(1, 0, 1, 0))
    found = listed(b.finish([y, b.add("Mul", [conv, mean], name="m")]))
    names = [each.name for each in found.operations]
    assert "y cannot be cut into stripes" in found.obstacle(
        FusedGroup(begin=0, end=2, micro_batches=2, stripes=2)
    )
    assert "mean cannot be cut" in found.obstacle(
        FusedGroup(begin=2, end=3, micro_batches=2, stripes=2)
    )
    both = FusedGroup(begin=names.index("c"), end=names.index("m") + 1, micro_batches=2, stripes=2)
    assert not found.obstacle(both)
    fusion_plan = (FusedGroup(begin=0, end=both.begin, micro_batches=2), both)
    problem, _ = found.problem(fusion_plan)
    assert problem.operations[-1].name == "m[1][4:8]"
    assert problem.tensors[problem.operations[-1].reads[-1]].name == "mean[1]"
    with pytest.raises(InputError, match="at least 1 fusion tile of 1 stripe"):
        FusedGroup(begin=0, end=1, stripes=0)
