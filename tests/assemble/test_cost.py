"""Command times in exact integers, step times against R6, plans against the verifier."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from spmopt.assemble import assemble, derive_commands, plan_value, step_cycles, transfer_cycles
from spmopt.core.instance import Instance
from spmopt.core.machine import Machine
from spmopt.core.objective import MAKESPAN, objective_named
from spmopt.core.result import Totals
from spmopt.core.schedule import Plan
from spmopt.verifier import require_legal
from tests.assemble.small import Op, arrays, data, made, plan, problem
from tests.formulations.priced import OBJECTIVES
from tests.thorough import some
from tests.verifier.random_plans import random_case

MACHINE = Machine(
    name="m", spm_bytes=4096, dram_bytes_per_s=3, clock_hz=2, operations_per_s=1, dma_setup_cycles=5
)


def test_transfer_cycles_round_up_and_add_the_setup() -> None:
    cycles = transfer_cycles(MACHINE, np.array([1, 3, 4, 0]))
    assert cycles.tolist() == [5 + 1, 5 + 2, 5 + 3, 5]


def test_transfer_cycles_are_exact_beyond_64_bits() -> None:
    machine = replace(MACHINE, dram_bytes_per_s=999_999_999_989, clock_hz=10**9)
    size = 2 * 10**11
    assert size * machine.clock_hz > 2**63
    expected = 5 - (-size * 10**9 // 999_999_999_989)
    assert transfer_cycles(machine, np.array([size])).tolist() == [expected]


@pytest.mark.parametrize(
    ("cycles", "duplex", "expected"),
    [
        # Loads 2 (stationary) + 3, stream in 4, stream out 5, stores 1 + 6 (stationary result).
        (0, False, 21),
        (10, False, 21),
        (20, False, 2 + 20 + 6),
        # Inwards 9 + 6 after, outwards 2 before + 12, serial 8 + compute.
        (0, True, 15),
        (7, True, 15),
        (9, True, 17),
    ],
)
def test_step_time(cycles: int, duplex: bool, expected: int) -> None:
    instance = problem(
        {
            "weight": data(2),
            "own": data(3),
            "streamed": data(4),
            "out": made(5, keep=True),
            "stored": made(1, keep=True),
            "sums": made(6, keep=True),
        },
        [
            Op(
                reads=["weight", "own", "streamed"],
                writes=["out", "stored", "sums"],
                stationary=["weight", "sums"],
                cycles=cycles,
            )
        ],
        duplex=duplex,
    )
    chosen = plan(
        instance,
        [("weight", 0, 1, 2), ("own", 0, 1, 3), ("stored", 0, 1, 1), ("sums", 0, 1, 6)],
        [(0, "stored", 1), (0, "sums", 6)],
    )
    steps = arrays(instance, chosen)
    commands = derive_commands(steps, chosen)
    assert step_cycles(instance.machine, steps, commands).tolist() == [expected]


def test_every_command_pays_the_setup_and_passes_share_one() -> None:
    instance = problem(
        {"x": data(4), "y": data(5)}, [Op(reads=["x", "y"], passes={"x": 3})], setup=10
    )
    chosen = plan(instance)
    steps = arrays(instance, chosen)
    commands = derive_commands(steps, chosen)
    assert step_cycles(instance.machine, steps, commands).tolist() == [10 + 12 + 10 + 5]


FEATURES: dict[str, Any] = {
    "max_operations": 8,
    "max_tensors": 6,
    "max_modes": 2,
    "duplex": True,
    "setup": True,
}


def totals(instance: Instance, plan: Plan) -> Totals:
    found = require_legal(instance, assemble(instance, plan)).totals
    assert found is not None
    return found


@pytest.mark.parametrize("free_order", [False, True])
def test_random_plans_cost_what_the_verifier_says(free_order: bool) -> None:
    for seed in some(range(120)):
        instance, plan = random_case(seed, free_order, **FEATURES)
        exact = totals(instance, plan)
        for name in OBJECTIVES:
            objective = objective_named(name, instance.machine)
            assert plan_value(instance, plan, objective) == exact.value(objective), (seed, name)


def test_fluid_time_has_no_set_up_and_no_whole_cycles() -> None:
    """It is that of a clock 12 times as fast without set-up, which makes all times whole."""
    for seed in range(80):
        instance, plan = random_case(seed, **FEATURES)
        finer = replace(
            instance,
            machine=replace(
                instance.machine, clock_hz=12 * instance.machine.clock_hz, dma_setup_cycles=0
            ),
            operations=tuple(
                replace(
                    op,
                    modes=tuple(
                        replace(mode, compute_cycles=12 * mode.compute_cycles) for mode in op.modes
                    ),
                )
                for op in instance.operations
            ),
        )
        value = plan_value(instance, plan, MAKESPAN, fluid=True)
        assert value == Fraction(totals(finer, plan).makespan_cycles, 12), seed
