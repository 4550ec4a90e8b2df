"""Bands of rows: computed one after another they are the whole, halo kept and nothing twice."""

from __future__ import annotations

import pickle
import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from spmopt.assemble import assemble
from spmopt.audit.boxes import piece_maps
from spmopt.core.errors import InputError
from spmopt.core.graph import Graph, Node
from spmopt.core.instance import Instance
from spmopt.core.objective import MAKESPAN
from spmopt.core.pieces.listing import Listing
from spmopt.core.pieces.row_windows import Window
from spmopt.core.pieces.segments import Segment
from spmopt.core.scheduler import Request
from spmopt.frontends import zoo
from spmopt.graph.axes import LinkedAxes
from spmopt.graph.build import GraphBuilder
from spmopt.graph.listing import listing
from spmopt.graph.lower import lower
from spmopt.graph.preparation import UNFOLDED
from spmopt.graph.rows import RowAxes
from spmopt.graph.training import training_graph
from spmopt.hardware.machines import load_machine
from spmopt.schedulers.registry import find
from spmopt.verifier import require_legal
from spmopt.verifier.pieces import check_pieces
from tests.graph.feature_maps import banded, feature_maps
from tests.graph.networks import attention, mlp
from tests.graph.test_loops import run

MACHINE = load_machine("rtx2080ti", {"spm": "16KB", "page": "64B"})
Floats = NDArray[np.float32]


def listed(graph: Graph) -> Listing:
    """Its values are those of the graph: nothing is folded."""
    return listing(graph, MACHINE, lowering=UNFOLDED)


def numbers(graph: Graph) -> dict[int, Floats]:
    """Numbers for what is there at the start."""
    random = np.random.default_rng(1)
    written = {value for node in graph.nodes for value in node.outputs}
    return {
        index: random.random(value.shape, np.float32) + np.float32(0.5)
        for index, value in enumerate(graph.values)
        if index not in written
    }


def pooled(node: Node, x: Floats) -> Floats:
    """Pool rows; ONNX's reference passes over NaN."""
    attributes: Any = node.attributes
    kernel, stride = attributes["kernel_shape"][0], attributes["strides"][0]
    dilation = attributes.get("dilations", (1,))[0]
    before, _, after, _ = attributes["pads"]
    largest = node.operator == "MaxPool"
    pads = ((0, 0), (0, 0), (before, after), (0, 0))
    padded = np.pad(x, pads, constant_values=-np.inf if largest else 0)
    there = np.pad(np.ones_like(x), pads)
    taps = [slice(r * dilation, r * dilation + 1) for r in range(kernel)]
    rows = []
    for row in range(0, padded.shape[2] - (kernel - 1) * dilation, stride):
        window = np.concatenate([padded[:, :, row:][:, :, tap] for tap in taps], axis=2)
        real = np.concatenate([there[:, :, row:][:, :, tap] for tap in taps], axis=2)
        rows.append(window.max(axis=2) if largest else window.sum(axis=2) / real.sum(axis=2))
    return np.stack(rows, axis=2)


def computed(node: Node, inputs: list[Floats]) -> Floats:
    if node.operator in ("MaxPool", "AveragePool"):
        return pooled(node, inputs[0])
    return run(node.operator, inputs, node.attributes)


def whole(graph: Graph) -> dict[int, Floats]:
    found = numbers(graph)
    for node in graph.nodes:
        found[node.outputs[0]] = computed(node, [found[value] for value in node.inputs])
    return found


def place(name: str, of: str, shape: tuple[int, ...], batch: int) -> Any:
    """The elements of a part of a tensor, by its name."""
    match = re.fullmatch(r"(?:\[(\d+)\])?(?:\[(\d+):(\d+)\])?", name.removeprefix(of))
    assert match is not None
    image = slice(None) if match[1] is None else slice(int(match[1]), int(match[1]) + 1)
    assert batch > 1 or match[1] is None
    rows = slice(None) if match[2] is None else slice(int(match[2]), int(match[3]))
    return (image, slice(None), rows) if len(shape) > 2 else (image,)


def in_pieces(graph: Graph, found: Listing, instance: Instance) -> dict[int, Floats]:
    """Run each operation of an instance on what it reads, all else NaN."""
    start = numbers(graph)
    store = {
        index: start.get(index, np.full(value.shape, np.nan, np.float32))
        for index, value in enumerate(graph.values)
    }
    names = {graph.values[index].name: index for index in store}
    by_name = {node.name: node for node in graph.nodes}
    of = [re.sub(r"(\[\d+\])?(\[\d+:\d+\])?$", "", each.name) for each in instance.tensors]
    for operation in instance.operations:
        node = by_name[re.sub(r"(\[\d+\])?(\[\d+:\d+\])?$", "", operation.name)]
        given = {value: np.full_like(store[value], np.nan) for value in node.inputs}
        for t in operation.reads:
            value = names[of[t]]
            at = place(instance.tensors[t].name, of[t], store[value].shape, found.batch)
            given[value][at] = store[value][at]
        result = computed(node, [given[value] for value in node.inputs])
        for t in operation.writes:
            value = names[of[t]]
            at = place(instance.tensors[t].name, of[t], result.shape, found.batch)
            store[value][at] = result[at]
    return store


@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
@settings(max_examples=80, deadline=None)
@given(st.data())
def test_bands_compute_what_the_whole_does(data: st.DataObject) -> None:
    """What a band does not read is NaN, what is not written yet too."""
    graph = data.draw(feature_maps())
    found = listed(graph)
    cover = data.draw(banded(found))
    instance, _ = found.instance(cover)
    expected, store = whole(graph), in_pieces(graph, found, instance)
    for node in graph.nodes:
        (value,) = node.outputs
        np.testing.assert_allclose(store[value], expected[value], rtol=1e-4)


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_bands_do_the_work_of_the_whole_on_its_bytes(data: st.DataObject) -> None:
    graph = data.draw(feature_maps())
    found, given = listed(graph), lower(graph, MACHINE, lowering=UNFOLDED)
    cover = data.draw(banded(found))
    instance, origins = found.instance(cover)
    work = Counter[int]()
    rows: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for operation, origin in zip(instance.operations, origins, strict=True):
        work[origin.operation] += operation.modes[0].macs
        if origin.rows is not None:
            rows.setdefault((origin.operation, origin.piece), []).append(origin.rows)
    assert [work[k] for k in range(len(given.operations))] == [
        each.modes[0].macs for each in given.operations
    ]
    for (at, _), bands in rows.items():
        cut = found.operations[at].rows
        assert cut is not None
        assert [0, *(end for _, end in bands)] == [*(begin for begin, _ in bands), cut.count]
    assert sum(t.size_bytes for t in instance.tensors) == sum(t.size_bytes for t in given.tensors)
    assert found.graph is not None
    assert check_pieces(piece_maps(found.graph, found, cover, instance)) == ()
    plan = find("belady-size").load()(instance, Request(objective=MAKESPAN, threads=1)).plan
    assert plan is not None
    assert require_legal(instance, assemble(instance, plan)).legal


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


def test_rows_of_a_network_are_its_height() -> None:
    found = listed(zoo.network("mobilenetv2", batch=2))
    segment = Segment(begin=0, end=33, pieces=2, bands=4)
    assert not found.obstacle(segment)
    borders = found.borders(segment)
    assert borders[0] == (0, 28, 56, 84, 112)  # a stride of 2, of the image
    assert borders[3] == (0, 27, 55, 83, 112)  # three rows each: one must wait
    assert borders[-1] == (0, 6, 13, 20, 28)
    assert "bands are of one of 2 pieces" in found.obstacle(Segment(begin=0, end=3, bands=4))
    last = len(found.operations)
    assert "cannot be cut into bands" in found.obstacle(
        Segment(begin=last - 2, end=last, pieces=2, bands=2)
    )
    late = Segment(begin=last - 10, end=last - 3, pieces=2, bands=8)
    assert "has no rows to compute, or to take, in some of 8 bands" in found.obstacle(late)
    assert pickle.loads(pickle.dumps(found)).instance(found.uniform(2)) == found.instance(
        found.uniform(2)
    )


def test_what_has_no_windows_has_no_rows() -> None:
    for graph in (mlp(), attention()):
        assert RowAxes(LinkedAxes(graph)).rows is None
        found = listed(graph)
        said = found.obstacle(Segment(begin=0, end=1, pieces=found.batch, bands=2))
        assert "cannot be cut into bands of rows" in said


def test_gradients_through_windows_are_not_cut() -> None:
    found = listed(training_graph(zoo.network("resnet18", batch=2)))
    for operation in found.operations:
        if operation.kind in ("ConvInputGradient", "ConvWeightGradient", "MaxPoolGradient"):
            assert operation.rows is None, operation.name
    rows = Counter(each.kind for each in found.operations if each.rows is not None)
    assert rows["Conv"] == 20
    assert rows["ReluGradient"] > 10


def test_a_segment_does_not_read_all_rows_of_what_it_makes_in_bands() -> None:
    b = GraphBuilder("scale")
    x = b.add("Relu", [b.input("x", (2, 3, 8, 4))], name="r")
    flat = b.add("Flatten", [x], name="flat")
    y = b.add("Gemm", [flat, b.weight("w", (96, 5))], name="y")
    mean = b.add("GlobalAveragePool", [x], name="mean")
    w = b.weight("v", (3, 3, 3, 1))
    conv = b.add("Conv", [x, w], name="c", pads=(1, 0, 1, 0))
    found = listed(b.finish([y, b.add("Mul", [conv, mean], name="m")]))
    names = [each.name for each in found.operations]
    assert "y cannot be cut into bands" in found.obstacle(
        Segment(begin=0, end=2, pieces=2, bands=2)
    )
    assert "mean cannot be cut" in found.obstacle(Segment(begin=2, end=3, pieces=2, bands=2))
    both = Segment(begin=names.index("c"), end=names.index("m") + 1, pieces=2, bands=2)
    assert not found.obstacle(both)
    cover = (Segment(begin=0, end=both.begin, pieces=2), both)
    instance, _ = found.instance(cover)
    assert instance.operations[-1].name == "m[1][4:8]"
    assert instance.tensors[instance.operations[-1].reads[-1]].name == "mean[1]"
    with pytest.raises(InputError, match="at least 1 piece of 1 band"):
        Segment(begin=0, end=1, bands=0)
