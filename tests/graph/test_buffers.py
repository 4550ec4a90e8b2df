"""Buffers of streams: lines of windows, rows that are read again, pages of all else."""

from __future__ import annotations

import pytest

from spmopt.core.graph import Graph
from spmopt.core.machine import Machine
from spmopt.core.operation import STREAMED, Operand, OpMapping
from spmopt.core.problem import Problem
from spmopt.graph.build import GraphBuilder
from spmopt.graph.lower import lower
from spmopt.graph.training import training_graph
from tests.graph.networks import attention, convolution, lstm, mlp, residual
from tests.tiny import plain_machine

TWICE = Operand(fetches=2)


def machine(spm_bytes: int, page_bytes: int = 64) -> Machine:
    return plain_machine(spm_bytes, page_bytes=page_bytes)


def mapping(graph: Graph, operation: str, spm_bytes: int) -> tuple[OpMapping, dict[str, Operand]]:
    problem = lower(graph, machine(spm_bytes))
    (op,) = (op for op in problem.operations if op.name == operation)
    names = [problem.tensor_names[t] for t in op.tensors]
    return op.mappings[0], dict(zip(names, op.mappings[0].operands, strict=True))


def one(operator: str, shapes: list[tuple[int, ...]], **attributes: int | tuple[int, ...]) -> Graph:
    b = GraphBuilder("one")
    x = b.input("x", shapes[0])
    rest = [b.weight(f"w{k}", shape) for k, shape in enumerate(shapes[1:])]
    return b.finish(b.add_many(operator, [x, *rest], name="y", **attributes)[:1])


@pytest.mark.parametrize(
    ("kernel", "stride", "dilation", "lines"),
    [(3, 1, 1, 4), (3, 2, 1, 5), (3, 1, 2, 6), (1, 1, 1, 2), (2, 2, 1, 4)],
)
def test_a_convolution_holds_the_lines_of_its_windows(
    kernel: int, stride: int, dilation: int, lines: int
) -> None:
    graph = one(
        "Conv", [(2, 3, 16, 8), (4, 3, kernel, kernel)],
        strides=(stride,) * 2, dilations=(dilation,) * 2, pads=(kernel // 2,) * 4,
    )  # fmt: skip
    out = graph.values[graph.nodes[0].outputs[0]].shape
    found, operands = mapping(graph, "y", 10**6)
    assert operands["w0"].required_resident
    width = graph.values[0].shape[3]
    result = 4 * out[3] * min(2, out[2])
    assert found.scratch_bytes == 4 * (3 * lines * width + result)


@pytest.mark.parametrize(
    ("size", "kernel", "read", "written"),
    [
        ((16, 8), (7, 1), 2 * 16, 2 * 16),  # columns: eight rows of eight take twice the room
        ((16, 8), (3, 1), 4 * 8, 2 * 8),
        ((16, 8), (1, 3), 2 * 8, 2 * 8),
        ((4, 64), (3, 3), 4 * 4, 2 * 4),  # columns of a wide image
        ((64, 4), (3, 3), 4 * 4, 2 * 4),
        ((1, 100), (1, 5), 6, 2),  # one row, as of sound
    ],
)
def test_a_convolution_goes_by_rows_or_by_columns_whichever_take_less_room(
    size: tuple[int, int], kernel: tuple[int, int], read: int, written: int
) -> None:
    pads = tuple(each // 2 for each in kernel) * 2
    found, _ = mapping(one("Conv", [(1, 3, *size), (4, 3, *kernel)], pads=pads), "y", 10**6)
    assert found.scratch_bytes == 4 * (3 * read + 4 * written)


def test_pooling_and_gradients_do_so_too() -> None:
    graph = training_graph(convolution())
    image = 4 * 8 * 4 * 4  # four channels of lines of eight elements
    pool, _ = mapping(graph, "p", 10**6)
    assert pool.scratch_bytes == image // 8 * (4 + 1) * 2  # 4 lines of 8; 2 lines of 4
    back, _ = mapping(graph, "p.d0", 10**6)  # dY and Y by two lines, X and dX by four
    assert back.scratch_bytes == image // 8 * (1 + 1 + 4 + 4) * 2
    weights, operands = mapping(graph, "c.d1", 10**6)
    assert operands["w.gradient"].required_resident
    assert weights.scratch_bytes == 4 * (3 * 8 * 4 + 4 * 8 * 2)  # X by four lines, dY by two


@pytest.mark.parametrize("bias", [[], [(5,)]])
def test_a_transposed_convolution_holds_lines_of_its_result(bias: list[tuple[int, ...]]) -> None:
    graph = one("ConvTranspose", [(20, 3, 8, 8), (3, 5, 3, 3), *bias], strides=(2, 2))
    out = graph.values[graph.nodes[0].outputs[0]].shape
    assert out == (20, 5, 17, 17)
    found, operands = mapping(graph, "y", 10**6)
    assert operands["w0"].required_resident
    # Two lines of X, five of Y (a window of three, and two that the next one adds), the bias.
    assert found.scratch_bytes == 4 * (2 * 8 * 3 + 5 * 17 * 5 + 5 * len(bias))


def test_what_streams_by_pages_has_two() -> None:
    found, operands = mapping(one("Relu", [(100, 10)]), "y", 10**4)
    assert (found.scratch_bytes, set(operands.values())) == (2 * 2 * 64, {STREAMED})
    small, _ = mapping(one("Relu", [(5,)]), "y", 10**4)
    assert small.scratch_bytes == 2 * 5 * 4


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_softmax_holds_two_rows_or_reads_twice(operator: str, axis: int) -> None:
    graph = one(operator, [(60, 50)], axis=axis)
    row = 4 * (50 if axis else 60)
    found, operands = mapping(graph, "y", 4096)
    assert (operands, found.scratch_bytes) == ({"x": STREAMED, "y": STREAMED}, 2 * row + 2 * 64)
    assert found.spm_read_bytes == 60 * 50 * 4
    found, operands = mapping(graph, "y", 2 * (2 * row + 2 * 64) - 64)
    assert (operands, found.scratch_bytes) == ({"x": TWICE, "y": STREAMED}, 2 * 2 * 64)
    assert found.spm_read_bytes == 2 * 60 * 50 * 4


def test_layer_normalization_and_its_gradient() -> None:
    graph = training_graph(one("LayerNormalization", [(40, 30), (30,), (30,)]))
    for spm, wanted in ((4096, STREAMED), (1024, TWICE)):
        _, forward = mapping(graph, "y", spm)
        assert {name for name, each in forward.items() if each != STREAMED} == (
            {"x"} if wanted == TWICE else set()
        )
    b = GraphBuilder("norm")
    w = b.weight("v", (30, 30))
    x = b.add("MatMul", [b.input("x", (40, 30)), w], name="z")
    y = b.add("LayerNormalization", [x, b.weight("s", (30,)), b.weight("t", (30,))], name="y")
    graph = training_graph(b.finish([y]))
    for spm, wanted in ((4096, STREAMED), (1024, TWICE)):
        _, backward = mapping(graph, "y.d0", spm)
        assert {backward["y.gradient"], backward["z"]} == {wanted}
        assert backward["z.gradient"] == STREAMED


def lowered(graph: Graph, pages: int) -> Problem:
    return lower(graph, machine(64 * pages), mapper="tiled")


@pytest.mark.parametrize("make", [mlp, convolution, residual, attention, lstm])
def test_all_that_an_operation_needs_fits_from_one_page_on(make: object) -> None:
    assert callable(make)
    for graph in (make(), training_graph(make(), optimizer="adam")):
        before = None
        for pages in (1, 2, 3, 4, 6, 9, 20, 100):
            problem = lowered(graph, pages)
            moved = 0
            for op in problem.operations:
                (found,) = op.mappings
                uses = list(zip(op.tensors, found.operands, strict=True))
                required_resident = [
                    problem.tensors[t].size_bytes for t, o in uses if o.required_resident
                ]
                taken = sum(map(problem.machine.pages, [*required_resident, found.scratch_bytes]))
                # One score at a time may need more than half of few pages.
                whole = op.kind == "FusedAttention" and pages < 10
                assert taken <= max(1, pages if whole else pages // 2)
                moved += sum(problem.tensors[t].size_bytes * o.fetches for t, o in uses)
            assert before is None or moved <= before
            before = moved
