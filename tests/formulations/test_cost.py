"""What a plan costs: the verifier's totals, on plans that no optimiser would make."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from formulations.residency.cost import dma_cycles, plan_value
from spmopt.assemble import assemble
from spmopt.core.instance import Instance
from spmopt.core.objective import MAKESPAN, objective_named
from spmopt.core.result import Totals
from spmopt.core.schedule import Plan
from spmopt.verify import require_legal
from tests.formulations.priced import OBJECTIVES
from tests.strategies import random_instance
from tests.verify.random_plans import random_case

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
    for seed in range(120):
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


def test_a_command_takes_its_set_up_and_whole_cycles() -> None:
    instance = random_instance(0)
    machine = replace(
        instance.machine, dram_bytes_per_s=3, clock_hz=2, dma_setup_cycles=7, duplex=False
    )
    instance = replace(instance, machine=machine)
    sizes = np.array([0, 1, 3, 4, 2**62], np.int64)
    expected = [0, 7 + 1, 7 + 2, 7 + 3, 7 + -(-(2**63) // 3)]
    assert dma_cycles(instance, sizes).tolist() == expected
