"""Errors planted into the schedule of a training step that is computed on real numbers."""

import numpy as np
import pytest

import spmopt
from spmopt.execution.commands import Program, machine_program
from spmopt.execution.comparison import Comparison, compare
from spmopt.execution.computations import (
    Computation,
    by_bytes,
    by_graph,
    tileable_graph_for,
)
from spmopt.execution.executor import execute
from tests.execution.planted import PLANTS, Plant
from tests.graph.networks import convolution
from tests.solving.fakes import bounds_only, install
from tests.thorough import share

EACH = share(17, 3)
"""Of each kind: more than 100 in all."""


@pytest.fixture(scope="module")
def case() -> tuple[Program, Computation]:
    """A training step on 3 KiB, which keep less than half of its tensors."""
    with pytest.MonkeyPatch.context() as patch:
        install(patch, lp_bound=bounds_only)
        workload = spmopt.load(convolution(), training=True, optimizer="momentum")
        problem = spmopt.lower(workload, spmopt.machine(spm="3KiB", page="64B"))
        schedule = spmopt.solve(problem, "belady-size:granularity=page").schedule
    tileable = tileable_graph_for(problem, None)
    assert tileable is not None
    return machine_program(problem, schedule), by_graph(tileable, None, problem, "normal", 0)


def outcome(program: Program, computed: Computation) -> Comparison:
    found = execute(program, computed.contents, computed.kernel)
    return compare(program, found, computed.expected, dtypes=computed.dtypes)


def is_found(wrong: Program, computed: Computation) -> bool:
    found = outcome(wrong, computed)
    return found.wrong_operation is not None or bool(found.differences)


def test_the_schedule_moves_enough(case: tuple[Program, Computation]) -> None:
    program, computed = case
    assert outcome(program, computed).same
    assert len(program.commands) > 80
    assert len(program.releases) > 20


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)
def test_planted_errors_are_found(case: tuple[Program, Computation], plant: Plant) -> None:
    """By numbers, unless those in a wrong place are the right ones: then by hashes of bytes.

    The gradient of ReLU leaves nearly all numbers as that of max-pooling has them.
    """
    program, computed = case
    operations = np.arange(len(program.problem.operations))
    hashed, by_chance = by_bytes(program.problem, operations, 0), 0
    assert not is_found(program, hashed)
    for seed in range(EACH):
        wrong = plant(program, np.random.default_rng(seed))
        assert wrong is not None
        if not is_found(wrong, computed):
            by_chance += 1
            assert is_found(wrong, hashed), seed
    assert by_chance <= EACH / 6
