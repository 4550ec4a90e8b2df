"""Requirements on every policy, on any problem.

Each check takes a policy (a callable, a name or a record), and raises :class:`AssertionError` with
the problem at which it fails.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache
from importlib.resources import files
from typing import cast

from spmopt.assemble import assemble
from spmopt.core.errors import InfeasibleError, InputError, ScheduleError
from spmopt.core.machine import Machine
from spmopt.core.objective import MAKESPAN, REPLAY, TRAFFIC, Objective, energy_objective
from spmopt.core.operation import REQUIRED_RESIDENT, STREAMED, Operation, OpMapping
from spmopt.core.order import other_order
from spmopt.core.problem import Problem, Tensor, TensorKind
from spmopt.core.result import Totals
from spmopt.core.schedule import ResidencyPlan, Schedule
from spmopt.core.scheduler import Policy, Request
from spmopt.io.files import decode_problem
from spmopt.schedulers.registry import SchedulerEntry, find
from spmopt.solving import solve
from spmopt.testing.instances import random_problem
from spmopt.verifier import require_legal

Checked = str | SchedulerEntry | Policy
_MIXED = Objective(
    name="mixed", unit="", cycle=Fraction(2), dram_in_byte=Fraction(1, 3), dram_out_byte=Fraction(1)
)


def check_policy(policy: Checked) -> None:
    """Run every check.

    Parameters
    ----------
    policy
        A callable (:data:`spmopt.core.scheduler.Policy`), or the name or the record of one.

    Raises
    ------
    AssertionError
        The first thing that is wrong, with the problem that shows it.
    """
    for check in CHECKS:
        check(policy)


def check_legal(policy: Checked) -> None:
    """Require schedules that the verifier finds legal, on problems with all that there is."""
    for problem in random_problems(60):
        _, totals = _legal(policy, problem, Request())
        assert totals.replay_cycles <= totals.makespan_cycles, problem


def check_objectives(policy: Checked) -> None:
    """Require a legal schedule for any objective."""
    for problem in random_problems(20):
        for objective in (TRAFFIC, REPLAY, _MIXED, energy_objective(problem.machine)):
            _legal(policy, problem, Request(objective=objective))


def check_bound(policy: Checked) -> None:
    """Require that no certified bound is above a schedule of its order; loose ones are enough."""
    for problem in random_problems(2):
        for objective in (MAKESPAN, _MIXED):
            try:
                found = solve(problem, policy, Request(objective=objective, tolerance=0.1))
            # As an assertion, so that test runners show the problem with the failure.
            except (InputError, ScheduleError) as error:
                raise AssertionError(f"{problem}: {error}") from error
            assert found.verified, f"{problem}: no schedule"
            assert found.bound is not None, f"{problem}: no bound"


def check_deterministic(policy: Checked) -> None:
    """Require the same schedule of the same problem."""
    for problem in random_problems(12):
        (first, _), (second, _) = (_legal(policy, problem, Request()) for _ in range(2))
        assert first.steps == second.steps, f"{problem}: two runs take different steps"
        assert first.commands == second.commands, f"{problem}: two runs move different bytes"


def check_optimum(policy: Checked) -> None:
    """Require that no schedule of tiny problems is better than the best of all legal ones."""
    for known in _look_up():
        for objective, least in ((MAKESPAN, known.makespan), (TRAFFIC, known.traffic)):
            schedule, totals = _legal(policy, known.problem, Request(objective=objective))
            # Only the listed order was enumerated.
            if other_order(schedule.steps.operation) is None:  # else it has another optimum
                value = totals.value(objective)
                assert value >= least, f"{known.problem}: {value} is less than the optimum {least}"


def check_edges(policy: Checked) -> None:
    """Require legal schedules where the scratchpad just suffices, or holds everything at once."""
    for problem in (*_edges(), *map(_roomy, random_problems(6))):
        _legal(policy, problem, Request())


def check_infeasible(policy: Checked) -> None:
    """Require that an operation which fits in no mapping is said to be infeasible."""
    problem = _edge([OpMapping(compute_cycles=1, operands=(REQUIRED_RESIDENT,), scratch_bytes=9)])
    # 9 bytes of scratch and a resident tensor of 12 cannot fit 8, in whole pages of 4.
    small = replace(problem, machine=replace(problem.machine, spm_bytes=8))
    try:
        find(policy).load()(small, Request())
    except InfeasibleError:
        return
    raise AssertionError(f"{small}: nothing fits, yet there is no InfeasibleError")


def check_stopped(policy: Checked) -> None:
    """Require a legal schedule even where no time is left."""
    for problem in random_problems(6):
        _legal(policy, problem, Request(stop=lambda: True, time_limit_s=0.0))


CHECKS: tuple[Callable[[Checked], None], ...] = (
    check_legal,
    check_objectives,
    check_bound,
    check_deterministic,
    check_optimum,
    check_edges,
    check_infeasible,
    check_stopped,
)
"""All checks, as tests to parametrize over."""


def random_problems(count: int) -> Iterator[Problem]:
    """Return the problems with everything that the format knows, one channel and duplex."""
    return map(_problem, range(count))


@lru_cache(128)
def _problem(seed: int) -> Problem:
    return random_problem(
        seed,
        max_operations=20,
        max_tensors=9,
        max_operands=4,
        max_tensor_pages=1 + seed % 8,
        max_compute_cycles=(12, 90)[seed % 2],
        max_mappings=2,
        duplex=seed % 3 == 0,
        setup=seed % 4 < 2,
    )


@dataclass(frozen=True, kw_only=True)
class KnownOptimum:
    """A tiny problem, and the optimum of all its legal schedules in the listed order."""

    problem: Problem
    makespan: Fraction
    traffic: Fraction


@cache
def _look_up() -> tuple[KnownOptimum, ...]:
    """Read ``optima.json``, found by trying every schedule."""
    text = files("spmopt.testing").joinpath("optima.json").read_text(encoding="utf-8")
    return tuple(
        KnownOptimum(
            problem=decode_problem(entry["problem"]),
            makespan=Fraction(entry["makespan"]),
            traffic=Fraction(entry["traffic"]),
        )
        for entry in json.loads(text)
    )


def _legal(policy: Checked, problem: Problem, request: Request) -> tuple[Schedule, Totals]:
    """Schedule and verify, without a bound: a legal schedule, and its totals."""
    try:
        found = find(policy).load()(problem, request)
        assert found.schedule is not None or found.residency_plan is not None, (
            f"{problem}: no residency plan"
        )
        schedule = found.schedule or assemble(problem, cast("ResidencyPlan", found.residency_plan))
        totals = require_legal(problem, schedule).totals
    except (InfeasibleError, InputError, ScheduleError) as error:
        raise AssertionError(f"{problem}: {error}") from error
    assert totals is not None, problem
    return schedule, totals


def _edges() -> Iterator[Problem]:
    """Problems of one operation.

    Nothing to hold, scratch alone, exact fits, a choice of mappings.
    """
    plain = OpMapping(compute_cycles=3, operands=(STREAMED,))
    pinned = replace(plain, operands=(REQUIRED_RESIDENT,))
    # Larger than the scratchpad: a policy must choose the other mapping.
    large = replace(plain, scratch_bytes=64)
    yield _edge([plain])
    yield _edge([pinned])
    yield _edge([replace(plain, scratch_bytes=16)])
    yield _edge([replace(pinned, scratch_bytes=4)])
    yield _edge([large, plain])
    # A step without computing: ratios by its cycles would divide by 0.
    yield _edge([replace(plain, compute_cycles=0)])
    idle = _edge([plain])
    # No operation uses it, yet it must stay in DRAM to the end.
    unused = Tensor(name="unused", size_bytes=4, kind=TensorKind.WEIGHT, in_dram=True, keep=True)
    yield replace(idle, tensors=(*idle.tensors, unused))
    yield replace(idle, machine=replace(idle.machine, spm_bytes=4))
    again = replace(idle.operations[0], name="again", predecessors=(0,))
    yield replace(idle, operations=(*idle.operations, again))
    # An operation without operands has no accesses, so that the timeline is empty.
    nothing = Operation(
        name="nothing", reads=(), writes=(), mappings=(OpMapping(compute_cycles=1, operands=()),)
    )
    yield replace(idle, operations=(nothing,))


def _edge(mappings: list[OpMapping]) -> Problem:
    """Return one operation that updates 12 bytes in a scratchpad of 16."""
    machine = Machine(
        name="edge",
        spm_bytes=16,
        dram_bytes_per_s=1,
        clock_hz=1,
        operations_per_s=1,
        page_bytes=4,
    )
    tensor = Tensor(name="t", size_bytes=12, kind=TensorKind.WEIGHT, in_dram=True, keep=True)
    update = Operation(name="update", reads=(0,), writes=(0,), mappings=tuple(mappings))
    return Problem(name="edge", machine=machine, tensors=(tensor,), operations=(update,))


def _roomy(problem: Problem) -> Problem:
    """Return ``problem`` with room for every tensor and scratch at once."""
    size = 1024 * problem.machine.page_bytes
    return replace(problem, machine=replace(problem.machine, spm_bytes=size))
