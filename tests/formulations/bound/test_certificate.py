"""Certificates: legal in exact integers, as strong as the duals, and valid at any duals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.residency.bound.duals import Multipliers, certificate
from spmopt.core.objective import MAKESPAN, objective_named
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.verifier import bound
from tests.formulations.priced import OBJECTIVES, Case, cases, random_duals
from tests.formulations.small import SMALL, small_optimum
from tests.strategies import problems
from tests.thorough import share
from tests.tiny import Op, tiny
from tests.verifier.test_bound import leave_pages_out


def of(case: Case, duals: Multipliers) -> Certificate:
    return certificate(case.problem, case.objective, case.coefficients, duals)


def test_it_proves_what_the_duals_prove(monkeypatch: pytest.MonkeyPatch) -> None:
    leave_pages_out(monkeypatch)
    for seed, case in enumerate(cases(share(150))):
        if case.problem.several_mappings:  # the verifier takes the least mapping as a whole
            continue
        duals = random_duals(case, seed)
        proved = float(bound(case.problem, of(case, duals)))
        assert case.close(case.priced(duals).value, proved, 1e-9), seed


def test_it_is_legal_in_exact_integers() -> None:
    for seed, case in enumerate(cases(share(100))):
        found, beta = of(case, random_duals(case, seed)), case.problem.machine.bytes_per_cycle
        dma = found.dram_in + found.dram_out * case.coefficients.duplex
        most = case.objective.cycle * 2**found.bits / beta
        assert all(dual <= most for dual in dma.tolist()), seed
        assert min(found.spm.min(), found.dram_in.min(), found.dram_out.min()) >= 0
        if not case.coefficients.duplex:
            np.testing.assert_array_equal(found.dram_in, found.dram_out)


@pytest.mark.parametrize("rate", [1, 3, 7, 398_706_149, 10**12])
@pytest.mark.parametrize("duplex", [False, True])
def test_full_duals_stay_legal_at_any_bandwidth(rate: int, duplex: bool) -> None:
    """The limit, rounded, is still the limit; with duplex the sum of both directions keeps it."""
    operations = [Op(reads="x", cycles=3), Op(reads="x", writes="x", cycles=3)]
    machine = {"dram_bytes_per_s": rate, "clock_hz": 10**9 + 7, "duplex": duplex}
    case = Case.of(tiny({"x": (8, "in keep")}, operations, spm=8, **machine), MAKESPAN)
    full = np.full(2, case.coefficients.byte_time)
    duals = Multipliers.legal(case.coefficients, np.zeros(2), full * 0.7, full * 0.7)
    found = of(case, duals)
    assert float(bound(case.problem, found)) == pytest.approx(case.priced(duals).value)


@pytest.mark.filterwarnings("error")
def test_legal_duals_of_slow_channels_overflow_nothing() -> None:
    """A byte takes 10^9 cycles; where nothing is charged there is nothing to scale down."""
    problem = tiny({"x": (8, "in")}, [Op(reads="x")] * 2, spm=8, clock_hz=10**9, duplex=True)
    case = Case.of(problem, MAKESPAN)
    load, store = np.array([0.0, 3e9]), np.array([0.0, 1e9])
    duals = Multipliers.legal(case.coefficients, np.zeros(2), load, store)
    np.testing.assert_allclose(duals.load, [0.0, 0.75e9])
    np.testing.assert_allclose(duals.store, [0.0, 0.25e9])


def test_long_problems_take_fewer_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """2,000 steps of 8,192 fetches would overflow 64 bits at 44 bits a dual value."""
    leave_pages_out(monkeypatch)
    read = Op(reads="x", fetches={"x": 8192})
    short = tiny({"x": (1, "in")}, [read], spm=4)
    operations = tuple(replace(short.operations[0], name=str(k)) for k in range(2000))
    case = Case.of(replace(short, operations=operations), MAKESPAN)
    full = np.full(case.intervals.steps, case.coefficients.byte_time)
    duals = Multipliers.legal(case.coefficients, full, full, full)
    found = of(case, duals)
    assert found.bits < 43
    proved = float(bound(case.problem, found))
    assert proved == pytest.approx(case.priced(duals).value, rel=1e-9)


@settings(max_examples=share(100), deadline=None)
@given(problems(**SMALL), st.sampled_from(OBJECTIVES), st.integers(0, 2**32 - 1))
def test_no_schedule_costs_less_at_any_duals(problem: Problem, name: str, seed: int) -> None:
    """Dual values at random, and those duals disturbed: each proves a bound of the optimum."""
    case = Case.of(problem, objective_named(name, problem.machine))
    best = small_optimum(problem, case.objective)
    generator = np.random.default_rng(seed)
    duals = random_duals(case, seed)
    for _ in range(4):
        assert bound(problem, of(case, duals)) <= best.value
        disturbed = (
            column * generator.lognormal(0, 1, column.size)
            for column in (duals.spm, duals.load, duals.store)
        )
        duals = Multipliers.legal(case.coefficients, *disturbed)
