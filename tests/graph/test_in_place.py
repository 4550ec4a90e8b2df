"""Results in the bytes of an operand that dies: where, and that no schedule is lost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import spmopt
from spmopt.core.graph import Graph, Node
from spmopt.core.objective import objective_named
from spmopt.core.scheduler import Request
from spmopt.graph.build import GraphBuilder
from spmopt.graph.in_place import update_in_place
from spmopt.graph.lower import lower
from spmopt.graph.preparation import prepare
from spmopt.hardware.machines import load_machine
from spmopt.solving import solve
from tests.banks_by_hand import problem
from tests.checked import need
from tests.formulations.small import small_optimum
from tests.graph.test_tiles import machine
from tests.thorough import THOROUGH, some


def updates(graph: Graph) -> list[tuple[str, str]]:
    """Each node that updates a value, and the value."""
    values = graph.values
    return [(n.name, values[v].name) for n in graph.nodes for v in n.outputs if v in n.inputs]


def test_the_operand_that_was_computed_last_is_overwritten() -> None:
    b = GraphBuilder("sum")
    x, w = b.input("x", (4, 8)), b.weight("w", (8, 8))
    one, two = b.add("MatMul", [x, w], name="one"), b.add("MatMul", [x, w], name="two")
    graph = update_in_place(b.finish([b.add("Add", [one, two], name="sum")]))
    assert updates(graph) == [("sum", "sum")]
    assert [v.name for v in graph.values if v.keep] == ["sum"]
    # Its value is the second product's, which bears the name of the output now.
    assert graph.nodes[1].outputs == graph.nodes[2].outputs
    assert update_in_place(graph) == graph


def test_what_is_needed_later_is_not_overwritten() -> None:
    b = GraphBuilder("kept")
    x, w = b.input("x", (4, 8)), b.weight("w", (8, 8))
    of_input, bias = b.add("Relu", [x], name="of_input"), b.weight("bias", (8,))
    wide = b.add("Add", [bias, b.add("MatMul", [x, w], name="product")], name="wide")
    twice = b.add("Mul", [of_input, b.add("Sigmoid", [of_input], name="gate")], name="twice")
    shown = b.add("Neg", [b.add("Reshape", [wide], shape=(8, 4), name="view")], name="shown")
    rows = b.add("Softmax", [twice], name="rows")
    # An input, an output, a view, one with another reader, and rows that are read twice.
    graph = update_in_place(b.finish([shown, rows, twice]))
    assert [name for name, _ in updates(graph)] == ["wide", "twice"]
    assert dict(updates(graph))["twice"] == "twice"


def test_a_result_that_is_updated_later_keeps_its_bytes() -> None:
    b = GraphBuilder("later")
    x, w = b.input("x", (4, 8)), b.weight("w", (8, 8))
    result = b.add("Relu", [b.add("MatMul", [x, w], name="product")], name="result")
    listed = b.finish([result])
    again = Node(name="again", operator="Relu", inputs=(result,), outputs=(result,))
    graph = replace(listed, nodes=(*listed.nodes, again))
    assert update_in_place(graph) == graph
    assert len(spmopt.lower(graph).operations) == 3


def test_smaller_or_wider_elements_are_not_overwritten() -> None:
    b = GraphBuilder("types")
    x = b.add("Relu", [b.input("x", (4, 8))], name="r")
    graph = b.finish([b.add("Cast", [x], name="cast", to="fp16")])
    assert not updates(update_in_place(graph))


def test_a_chain_takes_the_room_of_one_tensor() -> None:
    """Inputs of 36,864 bytes come in, the result of 4,096 goes out, and nothing else."""
    b = GraphBuilder("chain", element_type="int8")
    y = b.add("MatMul", [b.input("x", (256, 64)), b.weight("w", (64, 256))])
    for operator in ("Relu", "Sigmoid", "Tanh", "Exp"):
        y = b.add(operator, [y])
    graph = b.finish([b.add("MatMul", [b.weight("w2", (16, 256)), y])])
    own = load_machine("ethos-u65", {"spm": "112KiB", "page": "64B"})
    request = Request(objective=objective_named("traffic", own))
    found = solve(lower(graph, own), "residency", request)
    assert found.value == found.bound == 40_960


@pytest.mark.parametrize("seed", some(range(60), 6))
def test_no_schedule_is_lost(seed: int) -> None:
    """Optima of tiny graphs are no worse in place, in time, traffic and energy."""
    generator = np.random.default_rng(seed)
    b = GraphBuilder("random")
    values = [b.input("x", (2, 2), element_type="int8")]
    for _ in range(4 if THOROUGH else 3):
        operands = generator.choice(values, int(generator.integers(1, 3))).tolist()
        values.append(b.add("Relu" if len(operands) == 1 else "Add", operands))
    read = {v for node in b.nodes for v in node.inputs}
    graph = b.finish([v for v in values[1:] if v not in read])
    own = replace(machine(1), spm_bytes=8, page_bytes=2, duplex=seed % 2 > 0)
    apart, together = (
        lower(graph, own, mapper="ideal"),
        lower(update_in_place(graph), own, mapper="ideal"),
    )
    assert len(together.tensors) <= len(apart.tensors)
    for name in ("time", "traffic", "energy"):
        objective = objective_named(name, own)
        assert small_optimum(together, objective).value <= small_optimum(apart, objective).value


def test_a_prepared_graph_is_itself() -> None:
    graph = need(spmopt.load("bert-tiny", batch=1).graph)
    for mapper in ("tiled", "choose"):
        once = prepare(graph, mapper)
        assert updates(once)
        assert prepare(once, mapper) == once
    assert prepare(graph, "ideal") is graph


def test_results_are_apart_where_a_command_or_a_move_costs() -> None:
    """Of x 4 of 10 bytes stay, and y streams out in one command: in place it takes two."""
    b = GraphBuilder("apart", element_type="int8")
    y = b.add("MatMul", [b.input("x", (5, 1)), b.weight("w", (1, 2))])
    graph = b.finish([b.add("Neg", [y])])
    plain = load_machine("rtx2080ti")
    assert len(lower(graph, plain).tensors) == 3
    assert len(lower(graph, replace(plain, dma_setup_cycles=1)).tensors) == 4
    assert not updates(prepare(graph, "tiled", problem().machine))
