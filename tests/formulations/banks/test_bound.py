"""No prices prove more than the optimum of an instance: random ones, and good ones spoiled."""

from __future__ import annotations

import numpy as np
import pytest

from formulations.residency.banks.facts import BankCoefficients
from formulations.residency.banks.prices import BankMultipliers, certificate
from formulations.residency.banks.relaxation import Relaxation
from spmopt.core.scheduler import Request
from spmopt.core.timeline import fitting_timeline
from spmopt.verifier import bound
from tests.formulations.banks.campaign import references
from tests.formulations.banks.cases import campaign_case

TENTHS = 10


def spoiled(
    facts: BankCoefficients, prices: BankMultipliers, generator: np.random.Generator, much: float
) -> BankMultipliers:
    """Prices with random ones added, made legal again."""

    def change(price: np.ndarray, unit: float) -> np.ndarray:
        return price * generator.uniform(1 - much, 1 + much, price.shape) + much * unit * (
            generator.random(price.shape) * (generator.random(price.shape) < 0.5)
        )

    return BankMultipliers.legal(
        facts,
        hold=change(prices.hold, facts.byte_price),
        load=change(prices.load, facts.byte_time),
        store=change(prices.store, facts.byte_time),
        port=change(prices.port, facts.byte_time),
    )


@pytest.mark.parametrize("tenth", range(TENTHS))
def test_no_prices_prove_more_than_the_optimum(tenth: int) -> None:
    positive = 0
    for seed in range(tenth, 300, TENTHS):
        known = references()[seed]
        if known.optimum is None:
            continue
        instance, objective = campaign_case(seed)
        request = Request(objective=objective, threads=1)
        relaxation = Relaxation(instance, request, fitting_timeline(instance))
        relaxation.run(request)
        generator = np.random.default_rng(seed)
        for much in (0.0, 0.01, 0.1, 1.0):
            prices = spoiled(relaxation.facts, relaxation.prices, generator, much)
            proved = bound(instance, certificate(instance, objective, relaxation.facts, prices))
            assert proved <= known.optimum, (seed, much)
            positive += proved > 0
    assert positive >= 60
