"""Schedules of banks that forget: legal, and between the bound and every other legal schedule."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from spmopt.core.errors import InputError
from spmopt.core.objective import objective_named
from spmopt.core.problem import Problem
from spmopt.core.scheduler import Request
from spmopt.solving import solve
from tests.banked import banked
from tests.checked import need
from tests.formulations.banks.brute_force import optimum
from tests.formulations.banks.test_optimum import TINY
from tests.thorough import share, some
from tests.verifier.test_retention import forgetting


def case(seed: int, objective: str, *, ports: bool) -> tuple[Problem, Problem]:
    """Banks of which the cheapest forgets within the time of the whole schedule; and as before."""
    plain = banked(seed, ports=ports, **TINY)
    goal = objective_named(objective, plain.machine)
    totals = need(solve(plain, "banks", Request(objective=goal, threads=1)).totals)
    limit = int(np.random.default_rng(seed).integers(1, max(2, totals.makespan_cycles)))
    banks = plain.machine.banks
    duals = [bank.read_pj_per_byte + bank.write_pj_per_byte for bank in banks]
    cheapest = int(np.argmin(duals))
    limits = [limit if bank == cheapest else None for bank in range(len(banks))]
    return forgetting(plain, *limits), plain


@pytest.mark.parametrize(("name", "ports"), [("energy", False), ("time", True)])
def test_bound_optimum_and_schedule_are_in_this_order(name: str, ports: bool) -> None:
    """``unknown`` is honest: what is required-resident may need a bank that forgets."""
    hit = tried = dearer = 0
    for seed in some(range(24), 6):
        problem, plain = case(seed, name, ports=ports)
        if len(problem.machine.banks) < 2:
            continue
        objective = objective_named(name, problem.machine)
        best, free = optimum(problem, objective), optimum(plain, objective)
        found = solve(problem, "banks", Request(objective=objective, threads=1))
        if best is None:
            assert found.status == "unknown"
            continue
        assert need(found.bound) <= best.value, seed
        dearer += need(free).value < best.value
        if found.value is None:
            assert found.status == "unknown"
            continue
        assert best.value <= found.value, seed
        tried, hit = tried + 1, hit + (found.value == best.value)
    assert tried >= share(9, 6)
    assert hit >= 0.6 * tried
    assert dearer > 0 or name == "time"


def test_policies_do_not_know_it() -> None:
    problem, _ = case(1, "energy", ports=False)
    objective = objective_named("energy", problem.machine)
    with pytest.raises(InputError, match=r"belady: knows no retention; use banks, lp-bound$"):
        solve(problem, "belady", Request(objective=objective))


def test_what_lasts_for_ever_changes_nothing() -> None:
    for seed in some(range(6), 3):
        plain = banked(seed, **TINY)
        objective = objective_named("energy", plain.machine)
        request = Request(objective=objective, threads=1)
        long = forgetting(plain, *[10**9] * len(plain.machine.banks))
        assert solve(long, "banks", request).value == solve(plain, "banks", request).value
        assert replace(long, machine=plain.machine) == plain
