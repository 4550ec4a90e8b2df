"""Command times in exact integers, step times against R6, plans against the verifier."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from spmopt.assemble import (
    assemble,
    residency_plan_value,
    transfer_cycles,
)
from spmopt.core.machine import Machine
from spmopt.core.objective import MAKESPAN, objective_named
from spmopt.core.problem import Problem
from spmopt.core.result import Totals
from spmopt.core.schedule import ResidencyPlan
from spmopt.verifier import require_legal
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
