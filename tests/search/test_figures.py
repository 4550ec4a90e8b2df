"""Figures of machines by hand; bounds below every schedule; cores."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from spmopt.assemble import assemble
from spmopt.core.machine import Area, SystolicArray
from spmopt.core.mappings import waiting_cycles
from spmopt.core.objective import energy_objective
from spmopt.core.problem import Problem
from spmopt.core.result import Totals
from spmopt.core.scheduler import Request
from spmopt.hardware.machines import load_machine
from spmopt.schedulers.registry import find
from spmopt.search.candidate import Candidate
from spmopt.search.cuts import Cut
from spmopt.search.figures import (
    NAMES,
    NOT_BOUNDED,
    Spent,
    figures,
    read_constraint,
    static_figures,
)
from spmopt.search.proofs import CutPool, dominate, exclude, least_of
from spmopt.search.setup import Setup
from spmopt.solving import solve
from spmopt.sweeps.cases import Network
from spmopt.verifier import require_legal
from tests.search.study import MLP, small_setup, small_space
from tests.strategies import problems

MACHINE = load_machine("small-npu", {"technology": "deepnvm-stt", "spm": "3MB"})


def test_figures_by_hand() -> None:
    machine = replace(
        MACHINE,
        dram_bytes_per_s=20 * 10**9,
        operations_per_s=2 * 10**12,
        clock_hz=10**9,
        array=SystolicArray(rows=10, columns=30),
        area=Area(engine_mm2=1.0, mac_mm2=0.01),
    )
    candidate = Candidate(machine=machine, cores=4)
    assert machine.memory is not None
    # 1200 units of four arrays are more than the 1000 that the rate asks for.
    area = machine.memory.area_mm2 + 1.0 + 12.0
    spent = Spent(time_s=0.5, energy_j=3.0, traffic_bytes=7.0)
    found = figures(NAMES, candidate, {"gbps": 0.5, "pes": 0.001}, spent)
    assert found == pytest.approx(
        {
            "time_s": 0.5,
            "energy_j": 3.0,
            "traffic_bytes": 7.0,
            "power_w": 6.0,
            "edp_js": 1.5,
            "edap_js_mm2": 1.5 * area,
            "area_mm2": area,
            "spm_mb": 3.0,
            "gbps": 20.0,
            "tflops": 2.0,
            "clock_ghz": 1.0,
            "pes": 1200.0,
            "cores": 4.0,
            "cost": 10.0 + 1.2,
        }
    )
    assert static_figures(("cost", "time_s"), candidate, {"gbps": 1.0}) == {"cost": 20.0}


def test_weights_and_batches() -> None:
    networks = (Network(name="resnet18"), Network(name="alexnet"))
    space = small_space(space={"batch": [2, 4]}, weights={"alexnet": 3})
    space = replace(space, machine=load_machine("rtx2080ti"))
    setup = Setup(networks=networks, space=space, objectives=("time_s", "energy_j"))
    spent = {
        "resnet18": Spent(time_s=1.0, energy_j=10.0, traffic_bytes=0.0),
        "alexnet": Spent(time_s=2.0, energy_j=20.0, traffic_bytes=0.0),
    }
    found = setup.figures(space.candidate({"batch": 4}), spent)
    assert found == {"time_s": (1 + 3 * 2) / 4, "energy_j": (10 + 3 * 20) / 4}


def test_cores_share_the_channel_that_computing_waits_for() -> None:
    base = replace(load_machine("small-npu"), spm_bytes=2**18, dram_bytes_per_s=10**9)
    network, waits = Network(name="alexnet", batch=1, mapper="choose"), 0
    one, four = (Candidate.of(base, {"cores": n}).problem(network) for n in (1, 4))
    for before, after in zip(one.operations, four.operations, strict=True):
        for own, mapping in zip(before.mappings, after.mappings, strict=True):
            if own.macs:
                waits += own.waiting_bytes > 0
                waiting = waiting_cycles(base, own.waiting_bytes)
                alone = -(-(own.compute_cycles - waiting) // 4)
                assert mapping.compute_cycles == waiting + alone
    assert waits


def test_cores_divide_every_operation() -> None:
    base = load_machine("small-npu")
    network = Network(name="alexnet", batch=1)
    one = Candidate.of(base, {"cores": 1}).problem(network)
    four = Candidate.of(base, {"cores": 4}).problem(network)
    products = 0
    for before, after in zip(one.operations, four.operations, strict=True):
        cycles, quarter = before.mappings[0].compute_cycles, after.mappings[0].compute_cycles
        products += before.mappings[0].macs > 0
        assert quarter == -(-cycles // 4) or abs(quarter - cycles / 4) <= 1
    assert products >= 8


@given(problem=problems(max_operations=5, duplex=True, setup=True, max_mappings=2))
@settings(max_examples=12, deadline=None)
def test_bounds_are_below_every_policy(problem: Problem) -> None:
    request = Request(objective=energy_objective(problem.machine), time_limit_s=5)
    pool = CutPool()
    certificate = solve(problem, "lp-bound", Request(time_limit_s=5)).certificate
    assert certificate is not None
    pool.add(Cut.of(problem, certificate))
    schedules = [policy_totals(problem, name, request) for name in ("stream", "belady")]
    for cuts in (None, pool):
        least = least_of(problem, cuts).spend(problem.machine)
        for totals in schedules:
            assert least.time_s <= totals.makespan_cycles / problem.machine.clock_hz
            assert least.energy_j <= float(totals.value(energy_objective(problem.machine)))
            assert least.traffic_bytes <= totals.traffic_bytes


def policy_totals(problem: Problem, name: str, request: Request) -> Totals:
    """What a policy's schedule takes."""
    residency_plan = find(name).load()(problem, request).residency_plan
    assert residency_plan is not None
    totals = require_legal(problem, assemble(problem, residency_plan)).totals
    assert totals is not None
    return totals


def test_proofs() -> None:
    names, known = ("time_s", "cost"), {3: (1.0, 5.0)}
    assert dominate(names, {"time_s": 1.0, "cost": 5.0}, known) is None  # as good: it may stay
    assert dominate(names, {"time_s": 0.9, "cost": 9.0}, known) is None
    proof = dominate(names, {"time_s": 1.1, "cost": 5.0}, known)
    assert proof is not None
    assert proof.record == {
        "bounds": {"time_s": 1.1, "cost": 5.0},
        "by": 3,
        "values": [1.0, 5.0],
    }
    assert dominate(("power_w", "cost"), {"cost": 9.0}, known) is None
    most, least = read_constraint("energy <= 2", "s"), read_constraint("energy >= 2", "s")
    assert exclude([most, least], {"energy_j": 1.0}) is None  # more can be had
    found = exclude([most], {"energy_j": 3.0})
    assert found is not None
    assert found.constraint == "energy_j <= 2"
    assert exclude([read_constraint("power_w <= 1", "s")], {"power_w": 3.0}) is None
    assert NOT_BOUNDED == ("power_w",)


def test_order_of_the_schedules_decides_whether_cuts_hold() -> None:
    assert small_setup().in_listed_order
    assert small_setup(scheduler="best-policy").in_listed_order
    assert not small_setup(scheduler="tsai").in_listed_order
    assert small_setup(scheduler="tsai:order=listed").in_listed_order


def test_a_setup_comes_back_from_its_record() -> None:
    setup = small_setup(
        small_space(constraints=["gbps <= 2"]), scheduler="residency:granularity=tensor"
    )
    assert Setup.of_record(setup.record()) == setup
    assert str(MLP) in str(setup.record())
