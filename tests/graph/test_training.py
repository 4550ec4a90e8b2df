"""Training graphs against dependencies written out by hand."""

import pytest

from spmopt.core.errors import InputError
from spmopt.core.graph import Graph, Node, Value
from spmopt.core.problem import TensorKind
from spmopt.graph.build import GraphBuilder
from spmopt.graph.statistics import macs, parameters
from spmopt.graph.training import training_graph
from tests.graph.networks import attention, convolution, lines, lstm, mlp, residual


def kept(graph: Graph) -> set[str]:
    return {value.name for value in graph.values if value.keep}


def of_kind(graph: Graph, kind: TensorKind) -> set[str]:
    return {value.name for value in graph.values if value.kind is kind}


def test_mlp() -> None:
    graph = training_graph(mlp())
    assert lines(graph) == [
        "Gemm: x w1 b1 -> y1",
        "Relu: y1 -> r",
        "Gemm: r w2 b2 -> y2",
        "CrossEntropy: y2 labels -> loss",
        "CrossEntropyGradient: y2 labels -> y2.gradient",
        "GemmWeightGradient: y2.gradient r -> w2.gradient b2.gradient",
        "GemmInputGradient: y2.gradient w2 -> r.gradient",
        "ReluGradient: r.gradient r -> y1.gradient",
        "GemmWeightGradient: y1.gradient x -> w1.gradient b1.gradient",
    ]
    weights = {"w1.gradient", "b1.gradient", "w2.gradient", "b2.gradient"}
    assert kept(graph) == {"loss", *weights}
    assert of_kind(graph, TensorKind.WEIGHT_GRADIENT) == weights
    assert of_kind(graph, TensorKind.GRADIENT) == {"y1.gradient", "y2.gradient", "r.gradient"}


def test_convolution_without_a_loss() -> None:
    graph = training_graph(convolution())
    assert lines(graph) == [
        "Conv: x w -> c",
        "BatchNormalizationTraining: c scale shift -> n n:1 n:2",
        "Relu: n -> r",
        "MaxPool: r -> p",
        "DropoutTraining: p -> d d:1",
        "Flatten: d -> f",
        "Gemm: f v -> y",
        "LossGradient: y y.labels -> y.gradient",
        "GemmWeightGradient: y.gradient f -> v.gradient",
        "GemmInputGradient: y.gradient v -> f.gradient",
        "ViewGradient: f.gradient -> d.gradient",
        "DropoutGradient: d.gradient d:1 -> p.gradient",
        "MaxPoolGradient: p.gradient r p -> r.gradient",
        "ReluGradient: r.gradient r -> n.gradient",
        "NormalizationGradient: n.gradient c scale n:1 n:2 -> "
        "c.gradient scale.gradient shift.gradient",
        "ConvWeightGradient: c.gradient x -> w.gradient",
    ]
    assert kept(graph) == {"w.gradient", "v.gradient", "scale.gradient", "shift.gradient"}
    by_name = {value.name: value for value in graph.values}
    assert by_name["d:1"].size_bytes == by_name["d"].elements
    assert by_name["n:1"].shape == (4,)
    assert by_name["y.labels"].shape == (2,)
    assert "mean" not in by_name


def test_residual_block_sums_where_it_forked() -> None:
    graph = training_graph(residual())
    assert lines(graph, 6) == [
        "LossGradient: y y.labels -> y.gradient",
        "ReluGradient: y.gradient y -> s.gradient",
        "ViewGradient: s.gradient -> c2.gradient",
        "ViewGradient: s.gradient -> x1.gradient",
        "ConvWeightGradient: c2.gradient r1 -> w2.gradient",
        "ConvInputGradient: c2.gradient w2 -> r1.gradient",
        "ReluGradient: r1.gradient r1 -> c1.gradient",
        "ConvWeightGradient: c1.gradient x1 -> w1.gradient",
        "ConvInputGradient: c1.gradient w1 -> x1.gradient_2",
        "Sum: x1.gradient x1.gradient_2 -> x1.sum",
        "ConvWeightGradient: x1.sum x -> w0.gradient",
    ]


def test_attention() -> None:
    graph = training_graph(attention())
    assert lines(graph, 8) == [
        "LossGradient: y y.labels -> y.gradient",
        "MatMulWeightGradient: y.gradient p -> v.gradient",
        "MatMulInputGradient: y.gradient v -> p.gradient",
        "SoftmaxGradient: p.gradient p -> a.gradient",
        "MatMulWeightGradient: a.gradient q -> t.gradient",
        "MatMulInputGradient: a.gradient t -> q.gradient",
        "TransposeGradient: t.gradient -> k.gradient",
        "MatMulWeightGradient: v.gradient x -> wv.gradient",
        "MatMulInputGradient: v.gradient wv -> x.gradient",
        "MatMulWeightGradient: k.gradient x -> wk.gradient",
        "MatMulInputGradient: k.gradient wk -> x.gradient_2",
        "MatMulWeightGradient: q.gradient x -> wq.gradient",
        "MatMulInputGradient: q.gradient wq -> x.gradient_3",
        "Sum: x.gradient x.gradient_2 x.gradient_3 -> x.sum",
        "GatherGradient: x.sum tokens -> table.gradient",
    ]


def test_two_lstm_steps_accumulate_in_place() -> None:
    graph = training_graph(lstm())
    backward = [
        "CrossEntropyGradient: c1:1 labels -> c1:1.gradient",
        "LSTMCellGradient: c1:1.gradient i1 f1 o1 g1 c0 c1 -> "
        "i1.gradient f1.gradient o1.gradient g1.gradient c0.gradient",
    ]
    for g in "gofi":
        backward += [
            f"{'Tanh' if g == 'g' else 'Sigmoid'}Gradient: {g}1.gradient {g}1 -> y{g}1.gradient",
            f"LSTMGateWeightGradient: y{g}1.gradient x1 c0:1 -> w{g}.gradient",
            f"LSTMGateInputGradient: y{g}1.gradient w{g}"
            f"{'' if g == 'g' else ' c0:1.gradient'} -> c0:1.gradient",
        ]
    backward.append(
        "LSTMCellGradient: c0.gradient c0:1.gradient i0 f0 o0 g0 c c0 -> "
        "i0.gradient f0.gradient o0.gradient g0.gradient"
    )
    for g in "gofi":
        backward += [
            f"{'Tanh' if g == 'g' else 'Sigmoid'}Gradient: {g}0.gradient {g}0 -> y{g}0.gradient",
            f"LSTMGateWeightGradient: y{g}0.gradient x0 h w{g}.gradient -> w{g}.gradient",
        ]
    assert lines(graph, 19) == backward
    assert kept(graph) == {"loss", *(f"w{g}.gradient" for g in "ifog")}


@pytest.mark.parametrize(
    ("forward", "without_input_gradient"),
    [
        (mlp(), ["y1"]),
        (convolution(), ["c"]),
        (residual(), ["x1"]),
        (attention(), []),
    ],
)
def test_backward_is_twice_forward_less_the_first_input_gradient(
    forward: Graph, without_input_gradient: list[str]
) -> None:
    first = [node for node in forward.nodes if node.name in without_input_gradient]
    skipped = macs(Graph(name="first", values=forward.values, nodes=tuple(first)))
    assert macs(training_graph(forward)) == 3 * macs(forward) - skipped


@pytest.mark.parametrize(
    ("optimizer", "operator", "states"),
    [
        ("sgd", "SGD", []),
        ("momentum", "Momentum", ["velocity"]),
        ("adam", "Adam", ["first_moment", "second_moment"]),
    ],
)
def test_optimizers_update_in_place(optimizer: str, operator: str, states: list[str]) -> None:
    graph = training_graph(mlp(), optimizer=optimizer)
    for w in ("w1", "b1", "w2", "b2"):
        updated = " ".join([w, *(f"{w}.{state}" for state in states)])
        operands = " ".join([w, f"{w}.gradient", *(f"{w}.{state}" for state in states)])
        assert f"{operator}: {operands} -> {updated}" in lines(graph)
    text = lines(graph)
    # dX reads w2 before the update changes it.
    update = next(k for k, line in enumerate(text) if line.startswith(f"{operator}: w2"))
    assert text.index("GemmInputGradient: y2.gradient w2 -> r.gradient") == update - 1
    state_names = {f"{w}.{state}" for w in ("w1", "b1", "w2", "b2") for state in states}
    assert kept(graph) == {"loss", "w1", "b1", "w2", "b2", *state_names}
    assert of_kind(graph, TensorKind.STATE) == state_names
    assert parameters(graph) == parameters(mlp())


def test_shared_weight_is_updated_once_after_its_last_gradient() -> None:
    text = lines(training_graph(lstm(), optimizer="sgd"))
    updates = [k for k, line in enumerate(text) if line.startswith("SGD: wi ")]
    gradients = [k for k, line in enumerate(text) if line.endswith("-> wi.gradient")]
    assert updates == [gradients[-1] + 1]


def test_a_value_multiplied_by_itself_sums_both_gradients() -> None:
    b = GraphBuilder("square")
    x = b.add("Gemm", [b.input("x", (2, 3)), b.weight("w", (3, 4))], name="y")
    graph = training_graph(b.finish([b.add("Mul", [x, x], name="z")]))
    assert lines(graph, 3) == [
        "MulGradient: z.gradient y y -> y.gradient y.gradient_2",
        "Sum: y.gradient y.gradient_2 -> y.sum",
        "GemmWeightGradient: y.sum x -> w.gradient",
    ]


def test_broadcast_operands_get_a_reduced_gradient() -> None:
    b = GraphBuilder("bias")
    y = b.add("MatMul", [b.input("x", (5, 2, 3)), b.weight("w", (3, 4))], name="y")
    graph = training_graph(b.finish([b.add("Add", [y, b.weight("b", (4,))], name="z")]))
    assert lines(graph, 3) == [
        "ViewGradient: z.gradient -> y.gradient",
        "ReduceSum: z.gradient -> b.gradient",
        "MatMulWeightGradient: y.gradient x -> w.gradient",
    ]


def test_split_and_concat_pass_gradients_in_one_operation() -> None:
    b = GraphBuilder("split")
    y = b.add("MatMul", [b.input("x", (2, 3)), b.weight("w", (3, 6))], name="y")
    left, middle, _ = b.add_many("Split", [y], name="s", axis=1, split=(2, 2, 2))
    z = b.add("Concat", [middle, left, b.input("u", (2, 1))], name="z", axis=1)
    graph = training_graph(b.finish([z]))
    assert lines(graph, 4) == [
        "ConcatGradient: z.gradient -> s:1.gradient s.gradient",
        "SplitGradient: s.gradient s:1.gradient -> y.gradient",
        "MatMulWeightGradient: y.gradient x -> w.gradient",
    ]


def test_other_outputs_than_the_loss_are_left_out() -> None:
    b = GraphBuilder("two")
    y = b.add("MatMul", [b.input("x", (2, 3)), b.weight("w", (3, 6))], name="y")
    loss = b.add("CrossEntropy", [y, b.input("labels", (2,))], name="loss")
    graph = training_graph(b.finish([b.add("Softmax", [y], name="p"), loss]))
    assert kept(graph) == {"loss", "w.gradient"}
    assert not any("Softmax:" in line for line in lines(graph))


def test_errors() -> None:
    with pytest.raises(InputError, match="optimizer 'lion' is unknown; use one of sgd"):
        training_graph(mlp(), optimizer="lion")
    b = GraphBuilder("fixed")
    y = b.add("Relu", [b.input("x", (2,))])
    with pytest.raises(InputError, match="nothing to train"):
        training_graph(b.finish([y]))
    backward = Graph(
        name="backward",
        values=(
            Value(name="w", shape=(2,), kind=TensorKind.WEIGHT),
            Value(name="y", shape=(2,), keep=True),
        ),
        nodes=(Node(name="n", operator="ReluGradient", inputs=(0, 0), outputs=(1,)),),
    )
    with pytest.raises(InputError, match="node n: operator ReluGradient has no gradient rule"):
        training_graph(backward)


def test_positions_and_conditions_have_no_gradient() -> None:
    b = GraphBuilder("picks")
    y = b.add("MatMul", [b.input("x", (4, 6)), b.weight("w", (6, 6))], name="y")
    place = b.add("ArgMax", [y], name="place", axis=1)
    total = b.add("Sum", [y, b.add("Cast", [place], name="cast", to="fp32")], name="total")
    graph = training_graph(b.finish([total, place]))
    assert of_kind(graph, TensorKind.GRADIENT) == {"total.gradient", "y.gradient"}
    assert kept(graph) == {"w.gradient"}
