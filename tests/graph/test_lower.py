"""Lowering: tensors, views, mappings, updates in place and predecessors."""

from dataclasses import replace

import pytest

from spmopt.core.errors import InputError
from spmopt.core.graph import Graph, Node, Value
from spmopt.core.operation import REQUIRED_RESIDENT, STREAMED, Operand
from spmopt.core.problem import Problem, TensorKind
from spmopt.graph.build import GraphBuilder
from spmopt.graph.lower import lower
from spmopt.graph.training import training_graph
from tests.graph.networks import convolution, mlp
from tests.tiny import plain_machine

MACHINE = plain_machine(
    64 * 64, dram_bytes_per_s=10, clock_hz=10, operations_per_s=100, page_bytes=64
)


def text(problem: Problem) -> list[str]:
    names = problem.tensor_names
    return [
        f"{op.name}: {' '.join(names[t] for t in op.reads)}"
        f" -> {' '.join(names[t] for t in op.writes)}"
        for op in problem.operations
    ]


def predecessors(problem: Problem) -> dict[str, list[str]]:
    names = [op.name for op in problem.operations]
    return {op.name: [names[k] for k in op.predecessors] for op in problem.operations}


def used(problem: Problem, operation: str) -> dict[str, Operand]:
    (op,) = (op for op in problem.operations if op.name == operation)
    names = [problem.tensor_names[t] for t in op.tensors]
    return dict(zip(names, op.mappings[0].operands, strict=True))


def test_mlp_ideal() -> None:
    problem = lower(mlp(), MACHINE, mapper="ideal")
    assert problem.mapper == "ideal"
    assert problem.machine is MACHINE
    assert text(problem) == [
        "y1: x w1 b1 -> y1",
        "r: y1 -> r",
        "y2: r w2 b2 -> y2",
        "loss: y2 labels -> loss",
    ]
    for operation in problem.operations:
        (mapping,) = operation.mappings
        assert set(mapping.operands) == {STREAMED}
        assert mapping.scratch_bytes == 0
    assert [op.kind for op in problem.operations] == ["Gemm", "Relu", "Gemm", "CrossEntropy"]
    mapping = problem.operations[0].mappings[0]
    assert mapping.macs == 8 * 4 * 16
    assert mapping.compute_cycles == 103  # 1,024 operations, 10 a cycle
    assert mapping.spm_read_bytes == 4 * (8 * 4 + 4 * 16 + 16)
    assert mapping.spm_write_bytes == 4 * 8 * 16
    relu = problem.operations[1].mappings[0]
    assert (relu.macs, relu.compute_cycles) == (0, 13)


def test_tensors_keep_their_flags() -> None:
    problem = lower(training_graph(mlp(), optimizer="momentum"), MACHINE)
    by_name = {tensor.name: tensor for tensor in problem.tensors}
    assert {name for name, tensor in by_name.items() if tensor.in_dram} == {
        "x", "labels", "w1", "b1", "w2", "b2",
        "w1.velocity", "b1.velocity", "w2.velocity", "b2.velocity",
    }  # fmt: skip
    assert {name for name, tensor in by_name.items() if tensor.keep} == {
        "loss", "w1", "b1", "w2", "b2",
        "w1.velocity", "b1.velocity", "w2.velocity", "b2.velocity",
    }  # fmt: skip
    assert by_name["w1.velocity"].kind is TensorKind.STATE
    assert by_name["w1.gradient"].kind is TensorKind.WEIGHT_GRADIENT
    assert by_name["labels"].size_bytes == 64
    assert by_name["loss"].size_bytes == 4


def test_weights_keep_whole_weights_and_their_gradients() -> None:
    problem = lower(training_graph(mlp()), MACHINE, mapper="weights")
    for operation in problem.operations:
        kept = used(problem, operation.name)
        (mapping,) = operation.mappings
        assert mapping.scratch_bytes == 0
        whole = {name for name, operand in kept.items() if operand == REQUIRED_RESIDENT}
        # Biases are no factors of the products; their gradients come with those of the weights.
        factors = {"w1", "w2", "w1.gradient", "w2.gradient"} if mapping.macs else set()
        assert whole == factors & kept.keys()
        assert set(kept.values()) <= {REQUIRED_RESIDENT, STREAMED}
    plain = lower(training_graph(mlp()), MACHINE, mapper="ideal")
    assert [op.mappings[0].compute_cycles for op in problem.operations] == [
        op.mappings[0].compute_cycles for op in plain.operations
    ]


def test_weights_beyond_half_of_the_pages_stream() -> None:
    # w1 has 64 floats, 4 pages; w2 has 48, 3 pages.
    for pages, kept in ((5, set()), (6, {"w2"}), (7, {"w2"}), (8, {"w1", "w2"})):
        machine = replace(MACHINE, spm_bytes=64 * pages)
        problem = lower(mlp(), machine, mapper="weights")
        found = {
            name
            for operation in problem.operations
            for name, operand in used(problem, operation.name).items()
            if operand == REQUIRED_RESIDENT
        }
        assert found == kept


def test_convolution_keeps_its_weight_then_its_weight_gradient() -> None:
    b = GraphBuilder("conv")
    x = b.input("x", (2, 2, 16, 16))
    y = b.add("Conv", [x, b.weight("w", (4, 2, 3, 3))], name="y", pads=(1, 1, 1, 1))
    graph = training_graph(b.finish([y]))
    problem = lower(graph, MACHINE, mapper="panel")
    assert used(problem, "y") == {"x": STREAMED, "w": REQUIRED_RESIDENT, "y": STREAMED}
    assert used(problem, "y.d1") == {
        "y.gradient": STREAMED,
        "x": STREAMED,
        "w.gradient": REQUIRED_RESIDENT,
    }
    # W takes 5 pages; of 8 half are 4, so two panels of 144 bytes and X twice.
    narrow = lower(graph, plain_machine(8 * 64, page_bytes=64), mapper="panel")
    assert used(narrow, "y") == {"x": Operand(fetches=2), "w": STREAMED, "y": STREAMED}
    mapping = narrow.operations[0].mappings[0]
    assert mapping.scratch_bytes == 144
    assert mapping.spm_read_bytes == 2 * 4096 + 288
    assert mapping.spm_write_bytes == 8192


def test_views_share_their_operands_tensor() -> None:
    problem = lower(convolution(), MACHINE, mapper="panel")
    # Dropout and Flatten do nothing at inference; running statistics are read.
    assert text(problem) == [
        "c: x w -> c",
        "n: c scale shift mean variance -> n",
        "r: n -> r",
        "p: r -> p",
        "y: p v -> y",
    ]
    assert predecessors(problem)["y"] == ["p"]


def test_a_view_that_is_kept_keeps_its_operand() -> None:
    b = GraphBuilder("view")
    y = b.add("Relu", [b.input("x", (2, 3))], name="y")
    z = b.add("Reshape", [b.add("Identity", [y])], name="z", shape=(6,))
    u = b.add("Relu", [z], name="u")
    problem = lower(b.finish([z]), MACHINE)
    assert text(problem) == ["y: x -> y", "u: y -> u"]
    assert [tensor.keep for tensor in problem.tensors] == [False, True, False]
    assert b.shape(u) == (6,)


def test_a_weight_gradient_that_is_a_view_is_kept() -> None:
    b = GraphBuilder("bias")
    y = b.add("Add", [b.input("x", (2, 3)), b.weight("b", (2, 3))], name="y")
    problem = lower(training_graph(b.finish([y])), MACHINE)
    by_name = {tensor.name: tensor for tensor in problem.tensors}
    assert by_name["y.gradient"].keep
    assert by_name["y.gradient"].kind is TensorKind.WEIGHT_GRADIENT


def test_hazards() -> None:
    """Read after write, write after read, write after write, and updates in place."""
    values = tuple(Value(name=name, shape=(4,), keep=name == "c") for name in "abc")

    def node(name: str, reads: str, writes: str) -> Node:
        return Node(
            name=name,
            operator="AssumedPointwise",
            inputs=tuple("abc".index(v) for v in reads),
            outputs=tuple("abc".index(v) for v in writes),
        )

    graph = Graph(
        name="hazards",
        values=values,
        nodes=(
            node("0", "a", "b"),
            node("1", "b", "c"),
            node("2", "bb", "c"),
            node("3", "ac", "c"),
            node("4", "a", "b"),
            node("5", "c", "b"),
        ),
    )
    problem = lower(graph, MACHINE)
    assert predecessors(problem) == {
        "0": [],
        "1": ["0"],
        "2": ["0", "1"],
        "3": ["2"],
        "4": ["0", "1", "2"],
        "5": ["3", "4"],
    }
    assert problem.operations[2].reads == (1,)
    assert (problem.operations[3].reads, problem.operations[3].writes) == ((0, 2), (2,))


def test_names_are_unique() -> None:
    value = Value(name="v", shape=(4,))
    node = Node(name="", operator="Relu", inputs=(0,), outputs=(1,))
    again = Node(name="", operator="Relu", inputs=(1,), outputs=(2,))
    graph = Graph(name="g", values=(value,) * 3, nodes=(node, again))
    problem = lower(graph, MACHINE, mapper="ideal")
    assert list(problem.tensor_names) == ["v", "v_2", "v_3"]
    assert len({op.name for op in problem.operations}) == 2


@pytest.mark.parametrize(
    ("node", "said"),
    [
        (Node(name="r", operator="Reshape", inputs=(0,), outputs=(1,)), "must not change the size"),
        (Node(name="r", operator="Reshape", inputs=(2,), outputs=(2,)), "be updated in place"),
        (
            Node(
                name="s",
                operator="StridedView",
                inputs=(0,),
                outputs=(2,),
                attributes={"split": (2, 4), "perm": (1, 0), "shape": (4,)},
            ),
            r"axes \(2, 4\) in the order \(1, 0\) are no view of \(2, 2\)",
        ),
        (
            Node(
                name="s",
                operator="StridedViewGradient",
                inputs=(0,),
                outputs=(2,),
                attributes={"split": (2, 2), "perm": (1, 2), "shape": (4,)},
            ),
            "are no view of",
        ),
    ],
)
def test_views_of_a_graph_that_is_read_are_checked(node: Node, said: str) -> None:
    """As many bytes are not as many elements; what a builder has made is not asked."""
    values = (
        Value(name="x", shape=(2, 2)),
        Value(name="halves", shape=(2, 4), element_type="fp16"),
        Value(name="y", shape=(4,)),
    )
    relu = Node(name="relu", operator="Relu", inputs=(0,), outputs=(0,))
    alike = Graph(  # a value may stand in several places
        name="alike",
        values=(values[2],) * 2,
        nodes=(Node(name="r", operator="Reshape", inputs=(0,), outputs=(1,)), relu),
    )
    assert len(lower(alike, MACHINE).operations) == 1
    with pytest.raises(InputError, match=f"node {node.name}: .*{said}"):
        lower(Graph(name="views", values=values, nodes=(relu, node)), MACHINE)


def test_errors() -> None:
    with pytest.raises(
        InputError, match="mapper 'best' is unknown; use choose, tiled, panel, weights or ideal"
    ):
        lower(mlp(), MACHINE, mapper="best")
    b = GraphBuilder("nothing")
    y = b.add("Identity", [b.input("x", (3,))])
    with pytest.raises(InputError, match="has no operations"):
        lower(b.finish([y]), MACHINE)
