"""Rows of embedding tables, regions of images, norms without a mean, turned pairs."""

from __future__ import annotations

import pytest

from spmopt.core.errors import InputError
from spmopt.core.graph import Attribute
from spmopt.core.problem import TensorKind
from spmopt.graph import operators
from spmopt.graph.build import GraphBuilder
from spmopt.graph.operators.spec import Shape, Style
from spmopt.graph.statistics import parameters
from spmopt.graph.training import training_graph


def _shapes(operator: str, *inputs: Shape, **attributes: Attribute) -> tuple[Shape, ...]:
    rule = operators.lookup(operator).shapes
    assert rule is not None
    return rule(inputs, attributes)


def _reads(operator: str, needed: set[int]) -> list[tuple[str, tuple[tuple[str, int], ...]]]:
    rule = operators.lookup(operator).gradients
    assert rule is not None
    shape = (4, 4)
    return [
        (each.operator, each.reads)
        for each in rule((shape,) * 3, (shape,) * 2, {}, frozenset(needed))
    ]


def test_rows_have_a_gradient_of_their_size_and_count_as_the_table() -> None:
    b = GraphBuilder("rows")
    rows = b.add("Lookup", [b.weight("table.rows", (5, 3))], table=1000)
    graph = b.finish([b.add("Gemm", [rows, b.weight("w", (3, 2))])])
    assert operators.lookup("Lookup").style is Style.VIEW
    assert parameters(graph) == 1000 * 3 + 6
    step = training_graph(graph)
    gradients = [v.shape for v in step.values if v.kind is TensorKind.WEIGHT_GRADIENT and v.keep]
    assert sorted(gradients) == [(3, 2), (5, 3)]
    assert parameters(step) == parameters(graph)


def test_wrong_rows() -> None:
    with pytest.raises(InputError, match="must have 2 dimensions"):
        _shapes("Lookup", (5, 3, 2), table=10)
    with pytest.raises(InputError, match="table has 0 rows"):
        _shapes("Lookup", (5, 3), table=0)
    with pytest.raises(InputError, match="attribute table is missing"):
        _shapes("Lookup", (5, 3))


def test_regions() -> None:
    x, boxes, images = (2, 8, 20, 30), (6, 4), (6,)
    size: dict[str, Attribute] = {"output_height": 7, "output_width": 5, "sampling_ratio": 2}
    assert _shapes("RoiAlign", x, boxes, images, **size) == ((6, 8, 7, 5),)
    assert _shapes("RoiAlign", x, boxes, images) == ((6, 8, 1, 1),)
    work = operators.lookup("RoiAlign").operations((x, boxes, images), ((6, 8, 7, 5),), size)
    # Four samples of four products, four additions each, and their mean.
    assert work == 6 * 8 * 7 * 5 * 4 * 9
    assert _reads("RoiAlign", {0}) == [("RoiAlignGradient", (("x", 1), ("x", 2)))]
    with pytest.raises(InputError, match=r"\(R, 4\)"):
        _shapes("RoiAlign", x, (5, 4), images)


def test_root_mean_square_norm_saves_one_number_a_row() -> None:
    assert _shapes("RMSNormalization", (2, 3, 8), (8,)) == ((2, 3, 8),)
    training = operators.lookup("RMSNormalization").training
    assert training is not None
    assert _shapes(training.operator, (2, 3, 8), (8,)) == ((2, 3, 8), (2, 3, 1))
    assert _reads(training.operator, {0, 1}) == [
        ("RMSNormalizationGradient", (("x", 0), ("x", 1), ("y", 1)))
    ]
    with pytest.raises(InputError, match="takes 2 inputs"):
        _shapes("RMSNormalization", (2, 8), (8,), (8,))


def test_group_norm_saves_two_numbers_a_group_and_sample() -> None:
    x, c = (2, 6, 4, 5), (6,)
    training = operators.lookup("GroupNormalization").training
    assert training is not None
    assert _shapes(training.operator, x, c, c, num_groups=3) == (x, (2, 3), (2, 3))
    assert _reads(training.operator, {0, 1, 2}) == [
        ("GroupNormalizationGradient", (("x", 0), ("x", 1), ("y", 1), ("y", 2)))
    ]
    with pytest.raises(InputError, match="num_groups 4 must divide 6 channels"):
        _shapes("GroupNormalization", x, c, c, num_groups=4)


def test_swish_reads_its_input_again() -> None:
    assert _reads("Swish", {0}) == [("SwishGradient", (("x", 0),))]
    assert operators.lookup("Swish").operations(((3, 4),), ((3, 4),), {}) == 5 * 12


def test_rotary_positions_turn_back_by_tables_that_are_not_trained() -> None:
    b = GraphBuilder("turned")
    tables = [b.weight(name, (5, 2)) for name in ("cos", "sin")]
    x = b.add("Gemm", [b.input("x", (5, 3)), b.weight("w", (3, 4))])
    graph = b.finish([b.add("RotaryEmbedding", [x, *tables])])
    assert [graph.values[index].kind for index in tables] == [TensorKind.STATE] * 2
    step = training_graph(graph)
    (gradient,) = (node for node in step.nodes if node.operator == "RotaryEmbeddingGradient")
    assert gradient.inputs[1:] == tuple(tables)
    assert step.shapes(gradient.outputs) == ((5, 4),)
    work = operators.lookup(gradient.operator).operations
    assert work(step.shapes(gradient.inputs), ((5, 4),), {}) == 3 * 20
