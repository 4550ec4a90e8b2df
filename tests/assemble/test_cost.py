"""Command times in exact integers, step times against R6, plans against the verifier."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from spmopt.assemble import (
    assemble,
    derive_commands,
    residency_plan_value,
    transfer_cycles,
)
from spmopt.core.machine import Machine
from spmopt.core.objective import MAKESPAN, objective_named
from spmopt.core.problem import Problem
from spmopt.core.result import Totals
from spmopt.core.schedule import ResidencyPlan
from spmopt.verifier import require_legal
from tests.assemble.small import arrays, make_problem, residency_plan
from tests.assemble.step_cycles import step_cycles
from tests.formulations.priced import OBJECTIVES
from tests.thorough import some
from tests.tiny import Op
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
        # Loads 2 (required-resident) + 3, stream in 4, stream out 5, stores 1 + 6
        # (required-resident result).
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
    problem = make_problem(
        {
            "weight": (2, "in"),
            "own": (3, "in"),
            "streamed": (4, "in"),
            "out": (5, "keep"),
            "stored": (1, "keep"),
            "sums": (6, "keep"),
        },
        [
            Op(
                reads="weight own streamed",
                writes="out stored sums",
                required_resident="weight sums",
                cycles=cycles,
            )
        ],
        duplex=duplex,
    )
    chosen = residency_plan(
        problem,
        [("weight", 0, 1, 2), ("own", 0, 1, 3), ("stored", 0, 1, 1), ("sums", 0, 1, 6)],
        [(0, "stored", 1), (0, "sums", 6)],
    )
    steps = arrays(problem, chosen)
    commands = derive_commands(steps, chosen)
    assert step_cycles(problem.machine, steps, commands).tolist() == [expected]


def test_every_command_pays_the_setup_and_passes_share_one() -> None:
    problem = make_problem(
        {"x": (4, "in"), "y": (5, "in")}, [Op(reads="x y", fetches={"x": 3})], dma_setup_cycles=10
    )
    chosen = residency_plan(problem)
    steps = arrays(problem, chosen)
    commands = derive_commands(steps, chosen)
    assert step_cycles(problem.machine, steps, commands).tolist() == [10 + 12 + 10 + 5]


FEATURES: dict[str, Any] = {
    "max_operations": 8,
    "max_tensors": 6,
    "max_mappings": 2,
    "duplex": True,
    "setup": True,
}


def totals(problem: Problem, residency_plan: ResidencyPlan) -> Totals:
    found = require_legal(problem, assemble(problem, residency_plan)).totals
    assert found is not None
    return found


@pytest.mark.parametrize("free_order", [False, True])
def test_random_plans_cost_what_the_verifier_says(free_order: bool) -> None:
    for seed in some(range(120)):
        problem, residency_plan = random_case(seed, free_order, **FEATURES)
        exact = totals(problem, residency_plan)
        for name in OBJECTIVES:
            objective = objective_named(name, problem.machine)
            assert residency_plan_value(problem, residency_plan, objective) == exact.value(
                objective
            ), (seed, name)


def test_fluid_time_has_no_set_up_and_no_whole_cycles() -> None:
    """It is that of a clock 12 times as fast without set-up, which makes all times whole."""
    for seed in range(80):
        problem, residency_plan = random_case(seed, **FEATURES)
        finer = replace(
            problem,
            machine=replace(
                problem.machine, clock_hz=12 * problem.machine.clock_hz, dma_setup_cycles=0
            ),
            operations=tuple(
                replace(
                    op,
                    mappings=tuple(
                        replace(mapping, compute_cycles=12 * mapping.compute_cycles)
                        for mapping in op.mappings
                    ),
                )
                for op in problem.operations
            ),
        )
        value = residency_plan_value(problem, residency_plan, MAKESPAN, fluid=True)
        assert value == Fraction(totals(finer, residency_plan).makespan_cycles, 12), seed
