"""The vector unit: its rate, its settings, and the cycles of work that is no product."""

from dataclasses import replace
from pathlib import Path

import pytest

from spmopt.api.lists import list_machines
from spmopt.core.errors import InputError
from spmopt.core.graph import Graph, Node, Value
from spmopt.core.machine import Machine, VectorUnit
from spmopt.graph import operators
from spmopt.graph.build import GraphBuilder
from spmopt.graph.lower import lower
from spmopt.graph.operators.table import operators_of
from spmopt.hardware.machines import load_machine, override
from spmopt.hardware.settings import Setting, from_settings, to_settings
from spmopt.io.codec import decode, encode
from spmopt.reporting.headings import describe
from spmopt.tiles.partition import scale

LARGE, GPU = load_machine("large-npu"), load_machine("a100")
INLINE = VectorUnit(lanes=8, inline=True)


def softmax_cycles(machine: Machine) -> int:
    values = tuple(Value(name=name, shape=(512, 512)) for name in "xy")
    node = Node(name="n", operator="Softmax", inputs=(0,), outputs=(1,))
    graph = Graph(name="g", values=values, nodes=(node,))
    return lower(graph, machine).operations[0].mappings[0].compute_cycles


def test_cycles_of_a_softmax() -> None:
    """Five operations an element, of which the exponential costs 4: 8, of 262,144 elements."""
    assert softmax_cycles(LARGE) == 262_144 * 8 // 128 == 16_384
    assert softmax_cycles(override(LARGE, {"vector.lanes": 1024})) == 2048
    assert softmax_cycles(override(LARGE, {"vector.special": 1})) == 262_144 * 5 // 128
    # By rate, here two operations a cycle.
    assert softmax_cycles(override(LARGE, {"vector.rate": "2.1GOP/s"})) == 262_144 * 4
    without = -(-262_144 * 8 * GPU.clock_hz // GPU.operations_per_s)
    assert softmax_cycles(GPU) == without


def test_lanes_follow_the_clock_and_the_cores() -> None:
    lanes, rate = ({"vector.lanes": 64}, {"vector.rate": "1TOP/s"})
    assert LARGE.vector_operations_per_s == 128 * 1_050_000_000
    assert override(LARGE, {**lanes, "clock": "1GHz"}).vector_operations_per_s == 64 * 10**9
    assert override(LARGE, {**rate, "clock": "1GHz"}).vector_operations_per_s == 10**12
    for settings in ({}, lanes, rate):
        machine = override(LARGE, settings)
        assert scale(machine, 4).vector_operations_per_s == 4 * machine.vector_operations_per_s
    assert override(override(LARGE, lanes), rate).vector == VectorUnit(rate=10**12)
    assert override(override(LARGE, rate), lanes).vector == VectorUnit(lanes=64)


@pytest.mark.parametrize("unit", [None, VectorUnit(lanes=8, special=3), VectorUnit(rate=7), INLINE])
def test_records_and_settings_keep_the_unit(unit: VectorUnit | None) -> None:
    machine = replace(GPU, vector=unit)
    assert from_settings(to_settings(machine), "x") == machine
    record = encode(machine)
    # Files of versions without the field have none either.
    assert ("vector" in record) is (unit is not None)
    assert ("inline" in record.get("vector", {})) is (unit == INLINE)
    assert decode(record, Machine, "machine") == machine


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("vector = 0", "no machine setting called 'vector'; did you mean vector.rate?"),
        ("vector.lanes = 0", "vector unit: lanes must be at least 1, is 0"),
        ("vector.special = 0", "vector unit: special must be at least 1, is 0"),
        ("vector.rate = 256", "vector.rate '256': has no unit"),
        ("vector.rate = '256GB/s'", "'GB/s' is not a unit of this quantity"),
        ("vector = {lanes = 1, rate = '1GOP/s'}", "both say its speed; leave one out"),
    ],
)
def test_wrong_settings_are_one_line(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    path.write_text(
        f'spm = "1MB"\nbandwidth = "1GB/s"\nthroughput = "1TOP/s"\nclock = "1GHz"\n{text}'
    )
    with pytest.raises(InputError) as error:
        load_machine(str(path))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, ", vector unit 128 lanes (assumed: columns of the array)"),
        ({"vector.lanes": 8, "vector.special": 3}, "8 lanes, special functions at 3 operations"),
        ({"vector.rate": "256GFLOP/s"}, ", vector unit 256 GOP/s"),
    ],
)
def test_headings_say_the_unit(settings: dict[str, Setting], words: str) -> None:
    assert describe(override(LARGE, settings)).endswith(words)
    assert "vector" not in describe(GPU)
    assert "128 lanes (assumed" in str(list_machines(["large-npu"]))


def test_special_functions_of_an_operator() -> None:
    (rule,) = operators_of("Mine", {"of_input": 3, "special": 2, "operations": 1})
    assert rule.special(((4, 8),), ((4,),), {}) == 2 * 32
    with pytest.raises(InputError, match="special = 2 of operations = 1"):
        operators_of("Mine", {"operations": 1, "special": 2})
    shape = ((10,),)
    counts = {"Adam": 20, "Sigmoid": 20, "SigmoidGradient": 0, "Gelu": 10, "Relu": 0}
    assert {k: operators.lookup(k).special(shape, shape, {}) for k in counts} == counts


@pytest.mark.parametrize("setup", [0, 5])
def test_activations_in_line_take_no_cycles(setup: int) -> None:
    """Whether their results are in place or, as set-ups cost, in bytes of their own."""
    b = GraphBuilder("activations")
    x, w = b.input("x", (4, 8)), b.weight("w", (8, 8))
    product = b.add("MatMul", [x, w], name="product")
    gate = b.add("Sigmoid", [product], name="gate")
    both = b.add("Add", [b.add("Clip", [gate], name="clip"), x], name="both")
    # Softmax reads rows twice, and the input and what "both" reads again are computed by none.
    rows = b.add("Softmax", [b.add("Relu", [x], name="of_input")], name="rows")
    graph = b.finish([b.add("Relu", [both], name="last"), rows])
    own = override(replace(LARGE, dma_setup_cycles=setup), {"vector.lanes": 1})
    plain, inline = (
        {each.name: each.mappings[0].compute_cycles for each in lower(graph, machine).operations}
        for machine in (own, override(own, {"vector.inline": True}))
    )
    activations = {"gate", "clip", "last"}
    assert {name for name in plain if plain[name] != inline[name]} == activations
    assert all(inline[name] == 0 < plain[name] for name in activations)


def test_a_value_that_is_read_again_is_no_activation() -> None:
    b = GraphBuilder("again")
    product = b.add("MatMul", [b.input("x", (4, 8)), b.weight("w", (8, 8))])
    graph = b.finish([b.add("Mul", [product, b.add("Sigmoid", [product])])])
    inline = lower(graph, override(LARGE, {"vector.lanes": 1, "vector.inline": True}))
    assert all(each.mappings[0].compute_cycles > 0 for each in inline.operations)
