"""Searches from prices of a neighbor: as good, and as true, in fewer steps."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.residency import column_generation, subgradient
from formulations.residency.bound.prices import CostCoefficients, certificate, multipliers
from formulations.residency.fluid import enclosed
from formulations.residency.page import schedule
from spmopt.core.instance import Instance
from spmopt.core.objective import MAKESPAN
from spmopt.core.result import Certificate
from spmopt.core.scheduler import Request
from spmopt.core.timeline import relaxed_timeline
from spmopt.verifier import bound
from tests.strategies import instances, random_instance
from tests.thorough import share

TOLERANCE = 1e-3


def wider(instance: Instance) -> Instance:
    machine = instance.machine
    return replace(
        instance, machine=replace(machine, spm_bytes=machine.spm_bytes + 2 * machine.page_bytes)
    )


def coefficients(instance: Instance) -> CostCoefficients:
    return CostCoefficients(instance, relaxed_timeline(instance), MAKESPAN)


@settings(max_examples=share(15), deadline=None)
@given(instance=instances())
def test_the_optimum_is_the_same_from_any_prices(instance: Instance) -> None:
    prices, _ = enclosed(wider(instance), Request(tolerance=TOLERANCE))
    assert prices is not None
    assert bound(instance, prices) <= _enclosed(instance, None)[1]
    cold, warm = _enclosed(instance, None), _enclosed(instance, prices)
    assert cold[0] <= warm[1]
    assert warm[0] <= cold[1]


def _enclosed(instance: Instance, prices: Certificate | None) -> tuple[Fraction, Fraction]:
    found, upper = enclosed(instance, Request(tolerance=TOLERANCE, prices=prices))
    assert found is not None
    assert upper is not None
    return bound(instance, found), upper


def test_few_steps_from_given_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = random_instance(3)
    counts: list[tuple[int, bool]] = []

    def counted(*arguments: Any, **options: Any) -> object:
        counts.append((arguments[2], options["start"] is not None))
        return subgradient.ascend(*arguments, **options)

    monkeypatch.setattr(column_generation, "ascend", counted)
    prices = schedule(wider(instance), Request()).certificate
    schedule(instance, Request(prices=prices))
    first, later = counts[0], counts[-1]
    assert not first[1]
    assert later[1]
    assert later[0] < first[0] / 4


@given(st.integers(0, 30))
@settings(max_examples=10, deadline=None)
def test_prices_return_from_a_certificate(seed: int) -> None:
    instance = random_instance(seed)
    found, _ = enclosed(instance, Request(tolerance=TOLERANCE))
    assert found is not None
    own = coefficients(instance)
    prices = multipliers(found, own)
    assert prices is not None
    again = certificate(instance, MAKESPAN, own, prices)
    assert float(bound(instance, again)) == pytest.approx(float(bound(instance, found)), rel=1e-9)


def test_prices_of_other_instances_are_not_used() -> None:
    instance = random_instance(1)
    steps = len(instance.operations)
    zero = np.zeros(steps + 1, np.int64)
    other = Certificate(objective=MAKESPAN, bits=3, spm=zero, dram_in=zero, dram_out=zero)
    assert multipliers(other, coefficients(instance)) is None
    zero = zero[1:]
    turned = Certificate(
        objective=MAKESPAN,
        bits=3,
        spm=zero,
        dram_in=zero,
        dram_out=zero,
        order=np.arange(steps)[::-1].copy(),
    )
    assert multipliers(turned, coefficients(instance)) is None
