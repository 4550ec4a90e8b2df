"""The front that proofs leave is the one that exhaustive search finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from results.shared.exact_front import (
    ExactFront,
    MachineSolution,
    by_page,
    find_front,
)
from results.shared.front_bounds import MachineOption
from spmopt.core.errors import ScheduleError
from spmopt.core.objective import MAKESPAN
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.scheduler import Request
from spmopt.search.cuts import Cut, free_duals
from spmopt.verifier import bound
from tests.brute_force import optimum
from tests.results.front_check import complaints
from tests.strategies import random_problem
from tests.thorough import share, some
from tests.tiny import Op, tiny

REQUEST = Request(threads=1)


def grid(
    problem: Problem, sizes: list[int], rates: list[int], cost: Callable[[int, int], float]
) -> list[MachineOption]:
    return [
        MachineOption(
            machine=replace(problem.machine, spm_bytes=size, dram_bytes_per_s=rate),
            cost=cost(size, rate),
            lowered=problem,
        )
        for size, rate in product(sizes, rates)
    ]


def faster(option: MachineOption) -> MachineOption:
    """With an engine of half the cycles and a channel that takes the same time, for more."""
    lowered = option.lowered
    operations = tuple(
        replace(
            op,
            mappings=tuple(replace(m, compute_cycles=m.compute_cycles // 2) for m in op.mappings),
        )
        for op in lowered.operations
    )
    machine = replace(option.machine, clock_hz=2 * option.machine.clock_hz)
    halved = replace(lowered, operations=operations)
    return MachineOption(machine=machine, cost=option.cost + 3, lowered=halved)


def nondominated(costs: list[float], times: list[Fraction]) -> set[int]:
    def better(a: int, b: int) -> bool:
        one, other = (costs[a], times[a]), (costs[b], times[b])
        return one != other and one[0] <= other[0] and one[1] <= other[1]

    every = range(len(costs))
    return {k for k in every if not any(better(other, k) for other in every)}


def statuses(front: ExactFront) -> tuple[set[int], set[int]]:
    """Members, and those that may be."""
    return set(front.members), set(front.members) | set(front.undecided)


def test_it_is_that_of_the_brute_force() -> None:
    decided = pruned = 0
    for seed in some(range(12)):
        problem = random_problem(
            seed, max_operations=5, max_tensors=3, page_bytes=2, duplex=True, setup=True
        )
        machine, generator = problem.machine, np.random.default_rng(seed)
        sizes = [machine.spm_bytes + extra * machine.page_bytes for extra in (0, 1, 3)]
        # Few different costs, so that there are equal ones.
        costs = generator.integers(1, 8, (3, 3)).cumsum(axis=0).ravel().tolist()
        rates = [1, 2, 4]
        costs_of = dict(zip(product(sizes, rates), costs, strict=True))
        options = grid(problem, sizes, rates, lambda *place, of=costs_of: of[place])
        options += [faster(option) for option in options[:3]]
        try:
            found = [optimum(option.problem, MAKESPAN) for option in options]
        except ValueError:
            continue  # too large for the brute force
        clocks = [option.machine.clock_hz for option in options]
        times = [each.value / f for each, f in zip(found, clocks, strict=True) if each is not None]
        true = nondominated([option.cost for option in options], times)
        front = find_front(options, by_page(REQUEST), request=REQUEST)
        members, possible = statuses(front)
        assert members <= true <= possible, seed
        assert complaints(front) == ()
        assert (front.open, front.infeasible) == ({}, ())
        decided += members == true == possible
        pruned += bool(front.excluded)
    assert decided > share(4)
    assert pruned > share(4)


class Exact:
    """A solver of a problem that needs no scratchpad: its time is the longer of two."""

    def __init__(self, slack: float = 0.0, shrinks: bool = True) -> None:
        self.slack, self.shrinks = slack, shrinks
        self.near: list[Certificate | None] = []

    def __call__(
        self, problem: Problem, tolerance: float, near: Certificate | None
    ) -> MachineSolution | None:
        self.near.append(near)
        cuts = [Cut.of(problem, free) for free in free_duals(problem)]
        duals = [cut.duals(problem.machine) for cut in cuts]
        best, certificate = max(((bound(problem, p), p) for p in duals), key=lambda each: each[0])
        slack = self.slack * (tolerance / REQUEST.tolerance if self.shrinks else 1.0)
        cycles = -(-best.numerator // best.denominator) + round(slack)
        return MachineSolution(cycles=cycles, bound=best, certificate=certificate)


def stream(cycles: int, size: int = 800) -> Problem:
    """Read so many bytes while computing."""
    return tiny({"x": (size, "in")}, [Op(reads="x", cycles=cycles)], spm=64)


def machines(problem: Problem, *rates: int, costs: list[float]) -> list[MachineOption]:
    base = problem.machine
    return [
        MachineOption(machine=replace(base, dram_bytes_per_s=rate), cost=cost, lowered=problem)
        for rate, cost in zip(rates, costs, strict=True)
    ]


def test_more_bandwidth_than_is_used_is_excluded() -> None:
    """800 bytes, 100 cycles: from 8 bytes a cycle on only computing counts."""
    options = machines(stream(100), 1, 2, 4, 8, 16, 32, costs=[1, 2, 3, 4, 5, 6])
    front = find_front(options, Exact(), request=REQUEST)
    assert front.members == (0, 1, 2, 3)
    assert sorted(front.excluded) == [4, 5]
    assert all(proof.by == 3 and proof.least == 100 for proof in front.excluded.values())
    assert (front.solves, front.beyond) == (4, 0)
    assert complaints(front) == ()


def test_equal_machines_are_on_it_together() -> None:
    options = machines(stream(100), 4, 4, 8, 16, costs=[1, 1, 2, 2])
    front = find_front(options, Exact(), request=REQUEST)
    assert front.members == (0, 1, 2, 3)
    assert front.excluded == {}
    assert complaints(front) == ()


def test_of_equal_cost_only_the_slower_is_excluded() -> None:
    options = machines(stream(100), 4, 8, costs=[1, 1])
    front = find_front(options, Exact(), request=REQUEST)
    assert (front.members, sorted(front.excluded)) == ((1,), [0])


def test_a_pair_that_overlaps_is_solved_more_closely() -> None:
    """Times of 200 and 199, first known to within 4 cycles, then to within less than one."""
    slow, fast = stream(200), stream(199)
    options = [
        MachineOption(machine=slow.machine, cost=1, lowered=stream(200, 4)),
        MachineOption(machine=fast.machine, cost=2, lowered=stream(199, 4)),
    ]
    front = find_front(options, Exact(slack=4), request=REQUEST)
    assert front.members == (0, 1)
    assert (front.solves, front.beyond) == (4, 2)
    assert complaints(front) == ()
    stuck = find_front(options, Exact(slack=4, shrinks=False), request=REQUEST)
    assert stuck.members == (0,)
    assert stuck.undecided == (1,)
    assert stuck.solves == 6
    assert complaints(stuck) == ()


def test_a_stopped_search_claims_nothing_of_what_it_left() -> None:
    options = machines(stream(1), *range(1, 21), costs=[float(k) for k in range(1, 21)])
    solver = Exact()
    request = replace(REQUEST, stop=lambda: len(solver.near) >= 3)
    front = find_front(options, solver, request=request)
    assert front.solves == 3
    assert len(front.open) + len(front.excluded) == 17
    assert complaints(front) == ()
    # Machines of lower cost that were not looked at could be as fast, by what is known.
    assert set(front.members) <= set(range(20)) - set(front.open)


def test_machines_on_which_nothing_fits_are_set_apart() -> None:
    problem = tiny({"x": (8, "in")}, [Op(reads="x", required_resident="x", cycles=3)], spm=16)
    options = grid(problem, [4, 8, 12], [1], lambda size, rate: size + rate)
    front = find_front(options, by_page(REQUEST), request=REQUEST)
    assert front.infeasible == (0,)
    assert front.members == (1,)
    assert complaints(front) == ()


def too_high(
    problem: Problem, tolerance: float, near: Certificate | None
) -> MachineSolution | None:
    found = Exact()(problem, tolerance, near)
    return None if found is None else replace(found, cycles=found.cycles - 1)


def test_a_bound_above_a_schedule_is_an_error() -> None:
    with pytest.raises(ScheduleError, match="one of them is wrong"):
        find_front(machines(stream(5), 1, costs=[1]), too_high, request=REQUEST)


def test_what_the_check_finds() -> None:
    options = machines(stream(100), 1, 2, 4, 8, 16, 32, costs=[1, 2, 3, 4, 5, 6])
    front = find_front(options, Exact(), request=REQUEST)
    proof, solved = front.excluded[4], front.solved[3]

    def said(**fields: Any) -> str:
        return "; ".join(complaints(replace(front, **fields)))

    slower = {**front.excluded, 4: replace(proof, by=2)}
    assert "machine 4: excluded, but machine 2 does not" in said(excluded=slower)
    more = replace(proof, least=Fraction(101))
    assert "machine 4: its cut proves less" in said(excluded={**front.excluded, 4: more})
    below = replace(solved, time=Fraction(99))
    assert "machine 3: its cut is above its schedule" in said(solved={**front.solved, 3: below})
    assert "machine 3: not on the front" in said(members=(0, 1, 2))
    assert "one of them only" in said(open={5: proof})
    assert "machine 5: said to be infeasible" in said(infeasible=(5,), excluded={4: proof})
    dearer = [replace(each, cost=0.5) if k == 5 else each for k, each in enumerate(options)]
    assert "machine 5: excluded, but machine 3 does not" in said(options=dearer)
