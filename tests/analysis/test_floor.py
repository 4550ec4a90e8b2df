"""The floor: by hand, and below every bound and schedule."""

from __future__ import annotations

import pytest

from spmopt.analysis.floor import Floor
from spmopt.analysis.steps import compute_peak
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.objective import MAKESPAN, TRAFFIC
from spmopt.graph.build import GraphBuilder
from spmopt.graph.lower import lower
from spmopt.graph.tileable import tileable
from spmopt.hardware.machines import load_machine
from spmopt.io.files import decode_problem, encode_problem
from spmopt.verifier.any_order import any_order_bound
from tests.strategies import random_problem
from tests.thorough import some


@pytest.mark.parametrize("duplex", [False, True])
def test_a_product_by_hand(*, duplex: bool) -> None:
    """90 rows take two folds of the 45 rows; at full rates all multipliers are busy."""
    own = load_machine("small-npu", {"duplex": duplex})
    b = GraphBuilder("product")
    y = b.add("MatMul", [b.input("x", (90, 100)), b.weight("w", (100, 10))])
    problem = lower(b.finish([y]), own)
    found = Floor.of(problem)
    assert found.compute_cycles == pytest.approx(90 * 100 * 10 / 45**2)
    assert problem.operations[0].mappings[0].compute_cycles > 4 * found.compute_cycles
    sides = (4 * (9000 + 1000), 4 * 900)
    assert (found.dram_in_bytes, found.dram_out_bytes) == sides
    moved = max(sides) if duplex else sum(sides)
    assert found.cycles == found.moving_cycles == pytest.approx(moved / 22)


def test_work_that_is_no_product_runs_beside() -> None:
    """Both units at once: the slower one decides, and neither counts twice."""
    b = GraphBuilder("beside")
    y = b.add("MatMul", [b.input("x", (64, 64)), b.weight("w", (64, 64))])
    problem = lower(b.finish([b.add("Softmax", [y])]), load_machine("large-npu"))
    product, softmax = (each.mappings[0] for each in problem.operations)
    assert softmax.macs == 0
    full = product.macs / 128**2
    assert Floor.of(problem).compute_cycles == max(full, softmax.compute_cycles)


@pytest.mark.parametrize("mapper", ["ideal", "choose"])
def test_products_take_the_rate_of_their_element_type(mapper: str) -> None:
    """In a file and in fusion tiles too; the roof takes the types that a problem has."""
    machine = load_machine("gap9")
    assert machine.rate("fp32") < machine.rate("int8") == machine.fastest
    for element_type in ("fp32", "int8"):
        b = GraphBuilder("product", element_type=element_type)
        graph = b.finish([b.add("MatMul", [b.input("x", (8, 100)), b.weight("w", (100, 10))])])
        problem = lower(graph, machine, mapper=mapper)
        assert problem.operations[0].element_type == element_type
        full = 2 * 8 * 100 * 10 * machine.clock_hz / machine.rate(element_type)
        tiles, _ = tileable(graph, machine, mapper=mapper).problem((FusedGroup(begin=0, end=1),))
        for each in (problem, tiles, decode_problem(encode_problem(problem))):
            assert Floor.of(each).compute_cycles == pytest.approx(full)
            assert compute_peak(each) == machine.rate(element_type)


@pytest.mark.parametrize("seed", some(range(200)))
def test_no_bound_is_below_it(seed: int) -> None:
    problem = random_problem(seed, max_mappings=2)
    found = Floor.of(problem)
    assert found.cycles <= any_order_bound(problem, MAKESPAN) * (1 + 1e-12)
    assert found.traffic_bytes <= any_order_bound(problem, TRAFFIC)
