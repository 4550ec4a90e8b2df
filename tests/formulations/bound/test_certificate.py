"""Certificates: legal in exact integers, as strong as the prices, and valid at any prices."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.residency.bound.prices import Multipliers, certificate
from spmopt.core.instance import Instance
from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective, objective_named
from spmopt.core.result import Certificate
from spmopt.verifier import bound
from tests.formulations.priced import OBJECTIVES, Case, cases, random_prices
from tests.formulations.small import SMALL, small_optimum
from tests.strategies import instances, random_instance
from tests.tiny import Op, tiny


def of(case: Case, prices: Multipliers) -> Certificate:
    return certificate(case.instance, case.objective, case.coefficients, prices)


def test_it_proves_what_the_prices_prove() -> None:
    for seed, case in enumerate(cases(150)):
        prices = random_prices(case, seed)
        proved = float(bound(case.instance, of(case, prices)))
        assert case.close(case.priced(prices).value, proved, 1e-9), seed


def test_it_is_legal_in_exact_integers() -> None:
    for seed, case in enumerate(cases(100)):
        found, beta = of(case, random_prices(case, seed)), case.instance.machine.bytes_per_cycle
        dma = found.dram_in + found.dram_out * case.coefficients.duplex
        most = case.objective.cycle * 2**found.bits / beta
        assert all(price <= most for price in dma.tolist()), seed
        assert min(found.spm.min(), found.dram_in.min(), found.dram_out.min()) >= 0
        if not case.coefficients.duplex:
            np.testing.assert_array_equal(found.dram_in, found.dram_out)


@pytest.mark.parametrize("rate", [1, 3, 7, 398_706_149, 10**12])
@pytest.mark.parametrize("duplex", [False, True])
def test_full_prices_stay_legal_at_any_bandwidth(rate: int, duplex: bool) -> None:
    """The limit, rounded, is still the limit; with duplex the sum of both directions keeps it."""
    operations = [Op(reads="x", cycles=3), Op(reads="x", writes="x", cycles=3)]
    machine = {"dram_bytes_per_s": rate, "clock_hz": 10**9 + 7, "duplex": duplex}
    case = Case.of(tiny({"x": (8, "in keep")}, operations, spm=8, **machine), MAKESPAN)
    full = np.full(2, case.coefficients.byte_time)
    prices = Multipliers.legal(case.coefficients, np.zeros(2), full * 0.7, full * 0.7)
    found = of(case, prices)
    assert float(bound(case.instance, found)) == pytest.approx(case.priced(prices).value)


@pytest.mark.parametrize("cycle", [Fraction(1, 3), Fraction(10**9), Fraction(1, 10**30)])
def test_bits_follow_the_size_of_prices(cycle: Fraction) -> None:
    objective = Objective(name="time", unit="", cycle=cycle)
    case = Case.of(random_instance(5), objective)
    prices = random_prices(case, 1)
    found = of(case, prices)
    largest = case.coefficients.byte_time * 2**found.bits
    assert 2**43 <= largest < 2**44
    exact = float(bound(case.instance, found))
    assert exact == pytest.approx(case.priced(prices).value, rel=1e-9)


def test_an_objective_without_weights_proves_zero() -> None:
    free = Objective(name="nothing", unit="")
    case = Case.of(random_instance(5), free)
    found = of(case, random_prices(case, 1))
    assert found.bits == 0
    assert bound(case.instance, found) == 0


def test_the_price_of_a_full_step_may_be_anything() -> None:
    """Its dual is unbounded: stationary operands fill the step. 64 bits hold it all the same."""
    fixed = Op(reads="x", stationary="x")
    operations = [Op(reads="y"), fixed, Op(reads="y")]
    case = Case.of(tiny({"x": (8, "in"), "y": (8, "in")}, operations, spm=8), TRAFFIC)
    spm, nothing = np.array([0.0, 1.0, 0.0]), np.zeros(3)
    for price in (1.0, 1e6, 1e30, 1e300):
        prices = Multipliers.legal(case.coefficients, price * spm, nothing, nothing)
        assert bound(case.instance, of(case, prices)) == 24


def test_long_instances_take_fewer_bits() -> None:
    """2,000 steps of 8,192 passes would overflow 64 bits at 44 bits a price."""
    read = Op(reads="x", passes={"x": 8192})
    short = tiny({"x": (1, "in")}, [read], spm=4)
    operations = tuple(replace(short.operations[0], name=str(k)) for k in range(2000))
    case = Case.of(replace(short, operations=operations), MAKESPAN)
    full = np.full(case.intervals.steps, case.coefficients.byte_time)
    prices = Multipliers.legal(case.coefficients, full, full, full)
    found = of(case, prices)
    assert found.bits < 43
    proved = float(bound(case.instance, found))
    assert proved == pytest.approx(case.priced(prices).value, rel=1e-9)


@settings(max_examples=100, deadline=None)
@given(instances(**SMALL), st.sampled_from(OBJECTIVES), st.integers(0, 2**32 - 1))
def test_no_schedule_costs_less_at_any_prices(instance: Instance, name: str, seed: int) -> None:
    """Prices at random, and those prices disturbed: each proves a bound of the optimum."""
    case = Case.of(instance, objective_named(name, instance.machine))
    best = small_optimum(instance, case.objective)
    generator = np.random.default_rng(seed)
    prices = random_prices(case, seed)
    for _ in range(4):
        assert bound(instance, of(case, prices)) <= best.value
        disturbed = (
            column * generator.lognormal(0, 1, column.size)
            for column in (prices.spm, prices.load, prices.store)
        )
        prices = Multipliers.legal(case.coefficients, *disturbed)
