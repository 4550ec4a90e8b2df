"""The registry, what operators refuse, their work, and what their gradients read."""

from collections import Counter
from dataclasses import replace
from math import prod
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spmopt.core.errors import InputError
from spmopt.core.graph import Attribute
from spmopt.core.problem import TensorKind
from spmopt.graph import operators
from spmopt.graph.build import GraphBuilder
from spmopt.graph.operators import rules
from spmopt.graph.operators.spec import Gemm, Style
from spmopt.graph.operators.table import read_operators
from spmopt.graph.statistics import parameters
from spmopt.graph.training import training_graph

Shape = tuple[int, ...]


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes", "says"),
    [
        ("Conv", [(1, 3, 8, 8), (4, 2, 3, 3)], {}, "input channels"),
        ("Conv", [(1, 3, 8, 8), (4, 3, 9, 9)], {}, "larger than"),
        ("Gemm", [(2, 3), (4, 5)], {}, "inner dimensions"),
        ("MatMul", [(2, 3), (4, 5)], {}, "inner dimensions"),
        ("Add", [(2, 3), (4, 3)], {}, "do not broadcast"),
        ("Concat", [(2, 3), (2, 4)], {"axis": 0}, "differ beside axis"),
        ("Concat", [(2, 3)], {}, "axis is missing"),
        ("Split", [(7, 3)], {"split": (3, 3)}, "do not fill"),
        ("Slice", [(7, 3)], {"starts": (3,), "ends": (3,)}, "is empty"),
        ("Reshape", [(2, 3)], {"shape": (4, -1)}, "does not hold"),
        ("Reshape", [(2, 3)], {"shape": (-1, -1)}, "does not hold"),
        ("Squeeze", [(2, 3)], {"axes": (0,)}, "not all 1"),
        ("Transpose", [(2, 3)], {"perm": (0,)}, "must name all"),
        ("MaxPool", [(1, 1, 8, 8)], {}, "kernel_shape is missing"),
        ("MaxPool", [(1, 1, 8, 8)], {"kernel_shape": (2, 2), "strides": (2,)}, "2 entries"),
        ("MaxPool", [(1, 1, 8, 8)], {"kernel_shape": (2, 2), "auto_pad": "UP"}, "use pads"),
        ("BatchNormalization", [(1, 2, 3), (3,), (3,), (3,), (3,)], {}, "must have shape"),
        ("CrossEntropy", [(4, 10), (5,)], {}, "do not suit"),
        ("LSTMGate", [(4, 2), (4, 3), (6, 3)], {}, "must be"),
        ("Lookup", [(5, 3, 2)], {"table": 10}, "must have 2 dimensions"),
        ("Lookup", [(5, 3)], {"table": 0}, "table has 0 rows"),
        ("Lookup", [(5, 3)], {}, "attribute table is missing"),
        ("RoiAlign", [(2, 8, 20, 30), (5, 4), (6,)], {}, r"\(R, 4\)"),
        ("RMSNormalization", [(2, 8), (8,), (8,)], {}, "takes 2 inputs"),
        (
            "GroupNormalization",
            [(2, 6, 4), (6,), (6,)],
            {"num_groups": 4},
            "must divide 6 channels",
        ),
    ],
)
def test_wrong_operands(
    operator: str, inputs: list[Shape], attributes: dict[str, Attribute], says: str
) -> None:
    rule = operators.lookup(operator).shapes
    assert rule is not None
    with pytest.raises(InputError, match=says):
        rule(tuple(inputs), attributes)


def test_unknown_operator_names_the_fix() -> None:
    with pytest.raises(InputError, match=r"Convolve.*--operators"):
        operators.lookup("Convolve")
    with pytest.raises(InputError, match="did you mean Relu"):
        operators.lookup("ReLU")


def test_each_rule_is_in_one_module() -> None:
    homes = Counter(
        name
        for kind in rules.KINDS
        for name, found in vars(kind).items()
        if getattr(found, "__module__", "") == kind.__name__
        and name.endswith(("_shapes", "_computes", "_product"))
    )
    assert set(homes.values()) == {1}
    known = len(rules.SHAPES) - 2 + len(rules.COMPUTES) + len(rules.PRODUCTS)
    assert len(homes) == known  # "given" and "stated" are no functions


def test_only_products_have_a_gemm_and_every_replacement_exists() -> None:
    for spec in operators.SPECS.values():
        assert (spec.gemm is not None) == (spec.style is Style.GEMM), spec.name
        if spec.training is not None:
            replacement = operators.lookup(spec.training.operator)
            assert replacement.gradients is not None
            assert spec.gradients is None


def gemm(operator: str, inputs: list[Shape], outputs: list[Shape], **attributes: Attribute) -> Gemm:
    spec = operators.lookup(operator)
    assert spec.gemm is not None
    product = spec.gemm(tuple(inputs), tuple(outputs), attributes)
    work = spec.operations(tuple(inputs), tuple(outputs), attributes)
    assert work == 2 * product.macs
    return product


def test_convolution_as_a_product() -> None:
    x, w, y = (32, 3, 224, 224), (64, 3, 7, 7), (32, 64, 112, 112)
    rows, taps = 32 * 112 * 112, 3 * 49
    assert gemm("Conv", [x, w], [y]) == Gemm(m=rows, k=taps, n=64, taps=(1, 49, 1))
    assert gemm("ConvInputGradient", [y, w], [x]) == Gemm(m=rows, k=64, n=taps, taps=(1, 1, 49))
    assert gemm("ConvWeightGradient", [y, x], [w]) == Gemm(
        m=taps, k=rows, n=64, a=(1,), b=(0,), taps=(49, 1, 1)
    )


def test_depthwise_convolution_has_one_product_a_channel() -> None:
    x, w = (2, 8, 10, 10), (8, 1, 3, 3)
    assert gemm("Conv", [x, w], [x], group=8) == Gemm(batch=8, m=200, k=9, n=1, taps=(1, 9, 1))
    assert gemm("ConvInputGradient", [x, w], [x], group=8) == Gemm(
        batch=8, m=200, k=1, n=9, taps=(1, 1, 9)
    )
    assert gemm("ConvWeightGradient", [x, x], [w], group=8) == Gemm(
        batch=8, m=9, k=200, n=1, a=(1,), b=(0,), taps=(9, 1, 1)
    )


@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
def test_gemm_gradients(trans_a: int, trans_b: int) -> None:
    a, b, y = (5, 3) if trans_a else (3, 5), (7, 5) if trans_b else (5, 7), (3, 7)
    flags = {"transA": trans_a, "transB": trans_b}
    assert gemm("Gemm", [a, b], [y], **flags) == Gemm(m=3, k=5, n=7)
    assert gemm("GemmInputGradient", [y, b], [a], **flags) == Gemm(m=3, k=7, n=5)
    assert gemm("GemmWeightGradient", [y, a], [b], **flags) == Gemm(m=5, k=3, n=7, a=(1,), b=(0,))


def test_matmul_with_a_shared_operand_is_one_product() -> None:
    assert gemm("MatMul", [(4, 6, 3, 5), (5, 7)], [(4, 6, 3, 7)]) == Gemm(m=72, k=5, n=7)
    assert gemm("MatMul", [(3, 5), (4, 5, 7)], [(4, 3, 7)]) == Gemm(m=3, k=5, n=28)
    assert gemm("MatMulWeightGradient", [(4, 6, 3, 7), (4, 6, 3, 5)], [(5, 7)]) == Gemm(
        m=5, k=72, n=7, a=(1,), b=(0,)
    )


def test_products_of_a_shared_slice_are_one_of_more_rows_or_columns() -> None:
    a, b, y = (4, 6, 3, 5), (6, 5, 7), (4, 6, 3, 7)
    whole = Gemm(m=12, k=5, n=7, batch=6, slices=(6, 6, 6))
    assert gemm("MatMul", [a, b], [y]) == whole
    assert gemm("MatMulInputGradient", [y, b], [a]) == replace(whole, k=7, n=5)
    weights = replace(whole, m=5, k=12, a=(1,), b=(0,))
    assert gemm("MatMulWeightGradient", [y, a], [b]) == weights
    # Grouped queries: eight heads share keys. And each row of A meets each column of B.
    heads = gemm("MatMul", [(4, 8, 16, 64), (4, 1, 64, 128)], [(4, 8, 16, 128)])
    assert heads == Gemm(m=128, k=64, n=128, batch=4, slices=(4, 4, 4))
    every = gemm("MatMul", [(9, 1, 3, 5), (1, 8, 5, 7)], [(9, 8, 3, 7)])
    assert every == Gemm(m=27, k=5, n=56)


_batch = st.lists(st.sampled_from([1, 3]), max_size=3).map(tuple)


@given(_batch, _batch, st.booleans(), st.booleans())
def test_matmul_gradients_work_as_much_as_the_product(
    batch_a: Shape, batch_b: Shape, vector_a: bool, vector_b: bool
) -> None:
    a: Shape = (6,) if vector_a else (*batch_a, 5, 6)
    b: Shape = (6,) if vector_b else (*batch_b, 6, 7)
    rule = operators.lookup("MatMul").shapes
    assert rule is not None
    (y,) = rule((a, b), {})
    # Each element of Y is a sum over 6 products.
    work = 6 * prod(y)
    found = gemm("MatMul", [a, b], [y])
    assert found.macs == work
    # No slice of an operand belongs to several products.
    sides = (found.m * found.k, found.k * found.n, found.m * found.n)
    assert [found.batch * side for side in sides] == [prod(each) for each in (a, b, y)]
    if not vector_a and not vector_b:
        assert gemm("MatMulInputGradient", [y, b], [a]).macs == work
        assert gemm("MatMulWeightGradient", [y, a], [b]).macs == work


def test_lstm_gate_products() -> None:
    x, h, w = (32, 4), (32, 8), (12, 8)
    assert gemm("LSTMGate", [x, h, w], [h]) == Gemm(m=32, k=12, n=8, a=(0, 1), b=(2,))
    assert gemm("LSTMGateInputGradient", [h, w], [x, h]) == Gemm(m=32, k=8, n=12, c=(0, 1))
    assert gemm("LSTMGateInputGradient", [h, w], [h]) == Gemm(m=32, k=8, n=8)
    assert gemm("LSTMGateWeightGradient", [h, x, h], [w]) == Gemm(m=12, k=32, n=8, a=(1, 2), b=(0,))


X, Y = ("x", 0), ("y", 0)


@pytest.mark.parametrize(
    ("operator", "reads"),
    [
        # Paper 001, table 3.1.
        ("Relu", {Y}),
        ("Sigmoid", {Y}),
        ("Tanh", {Y}),
        ("Softmax", {Y}),
        ("MaxPool", {X, Y}),
        ("GlobalAveragePool", set()),
        ("AveragePool", set()),
        ("Add", set()),
        ("Concat", set()),
        ("Reshape", set()),
        ("Transpose", set()),
        # Others.
        ("LogSoftmax", {Y}),
        ("Clip", {Y}),
        ("LeakyRelu", {Y}),
        ("HardSwish", {X}),
        ("Gelu", {X}),
        ("Erf", {X}),
        ("LRN", {X, Y}),
        ("Sqrt", {Y}),
        ("Exp", {Y}),
        ("Neg", set()),
        ("ReduceMean", set()),
        ("Mul", {("x", 1)}),
        ("Div", {("x", 1)}),
        ("Pow", {X, ("x", 1)}),
        ("DropoutTraining", {("y", 1)}),
        ("BatchNormalizationTraining", {X, ("x", 1), ("y", 1), ("y", 2)}),
        ("Conv", {("x", 1)}),
        ("MatMul", {("x", 1)}),
        ("CrossEntropy", {X, ("x", 1)}),
        ("RoiAlign", {("x", 1), ("x", 2)}),
        ("Swish", {X}),
        ("RMSNormalizationTraining", {X, ("x", 1), ("y", 1)}),
        ("GroupNormalizationTraining", {X, ("x", 1), ("y", 1), ("y", 2)}),
    ],
)
def test_what_the_gradient_of_the_first_input_reads(
    operator: str, reads: set[tuple[str, int]]
) -> None:
    rule = operators.lookup(operator).gradients
    assert rule is not None
    shape = (4, 4)
    (gradient,) = rule((shape, shape), (shape,), {}, frozenset({0}))
    assert gradient.of == (0,)
    assert set(gradient.reads) == reads


@pytest.mark.parametrize(
    ("operator", "attributes", "per_element"),
    [
        ("Relu", {}, 1),
        ("Sigmoid", {}, 4),
        ("Softmax", {}, 5),
        ("Add", {}, 1),
        ("BatchNormalization", {}, 2),
        ("BatchNormalizationTraining", {}, 5),
        ("LRN", {"size": 5}, 14),
        ("MaxPool", {"kernel_shape": (3, 3)}, 9),
        ("Swish", {}, 5),
        ("RotaryEmbeddingGradient", {}, 3),
        ("RoiAlign", {"sampling_ratio": 2}, 4 * 9),  # 4 products, 4 additions a sample, and a mean
        ("Transpose", {}, 0),
        ("Reshape", {}, 0),
    ],
)
def test_point_wise_work(operator: str, attributes: dict[str, Attribute], per_element: int) -> None:
    shape = (2, 3, 4, 4)
    work = operators.lookup(operator).operations((shape,) * 2, (shape,), attributes)
    assert work == per_element * prod(shape)


def test_a_sum_of_three_adds_twice() -> None:
    shape = (3, 4)
    assert operators.lookup("Sum").operations((shape,) * 3, (shape,), {}) == 24


def test_cast_and_mask_change_the_element_type() -> None:
    cast, dropout = operators.lookup("Cast"), operators.lookup("DropoutTraining")
    assert cast.result_types is not None
    assert dropout.result_types is not None
    assert cast.result_types(("fp32",), {"to": "fp16"}) == ("fp16",)
    assert dropout.result_types(("fp16",), {}) == ("fp16", "bool")
    with pytest.raises(InputError, match="no element type called 'fp99'"):
        cast.result_types(("fp32",), {"to": "fp99"})


def test_each_operator_stands_in_one_table() -> None:
    tables = sorted(Path(operators.__file__).parent.glob("*.toml"))
    found = [spec.name for table in tables for spec in read_operators(table)]
    assert [name for name, count in Counter(found).items() if count > 1] == []


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes", "results"),
    [
        ("RoiAlign", [(2, 8, 20, 30), (6, 4), (6,)], {}, ((6, 8, 1, 1),)),
        (
            "RoiAlign",
            [(2, 8, 20, 30), (6, 4), (6,)],
            {"output_height": 7, "output_width": 5},
            ((6, 8, 7, 5),),
        ),
        ("RMSNormalization", [(2, 3, 8), (8,)], {}, ((2, 3, 8),)),
        ("RMSNormalizationTraining", [(2, 3, 8), (8,)], {}, ((2, 3, 8), (2, 3, 1))),
        (
            "GroupNormalizationTraining",
            [(2, 6, 4, 5), (6,), (6,)],
            {"num_groups": 3},
            ((2, 6, 4, 5), (2, 3), (2, 3)),
        ),
    ],
)
def test_shapes_that_onnx_does_not_infer(
    operator: str,
    inputs: list[Shape],
    attributes: dict[str, Attribute],
    results: tuple[Shape, ...],
) -> None:
    rule = operators.lookup(operator).shapes
    assert rule is not None
    assert rule(tuple(inputs), attributes) == results


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
