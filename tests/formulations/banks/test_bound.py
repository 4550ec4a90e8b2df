"""No dual values prove more than the optimum of a problem: random ones, and good ones spoiled."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from formulations.residency.banks.duals import BankMultipliers, certificate
from formulations.residency.banks.facts import BankCoefficients
from formulations.residency.banks.relaxation import Relaxation
from spmopt.core.machine import Bank
from spmopt.core.objective import MAKESPAN
from spmopt.core.scheduler import Request
from spmopt.core.timeline import fitting_timeline
from spmopt.verifier import bound
from tests.banked import with_these
from tests.formulations.banks.campaign import references
from tests.formulations.banks.cases import campaign_case
from tests.tiny import Op, tiny

TENTHS = 10


def spoiled(
    facts: BankCoefficients, duals: BankMultipliers, generator: np.random.Generator, much: float
) -> BankMultipliers:
    """Dual values with random ones added, made legal again."""

    def change(dual: np.ndarray, unit: float) -> np.ndarray:
        return dual * generator.uniform(1 - much, 1 + much, dual.shape) + much * unit * (
            generator.random(dual.shape) * (generator.random(dual.shape) < 0.5)
        )

    return BankMultipliers.legal(
        facts,
        hold=change(duals.hold, facts.byte_dual),
        load=change(duals.load, facts.byte_time),
        store=change(duals.store, facts.byte_time),
        port=change(duals.port, facts.byte_time),
    )


@pytest.mark.parametrize("tenth", range(TENTHS))
def test_no_duals_prove_more_than_the_optimum(tenth: int) -> None:
    positive = 0
    for seed in range(tenth, 300, TENTHS):
        known = references()[seed]
        if known.optimum is None:
            continue
        problem, objective = campaign_case(seed)
        request = Request(objective=objective, threads=1)
        relaxation = Relaxation(problem, request, fitting_timeline(problem))
        relaxation.run(request)
        generator = np.random.default_rng(seed)
        for much in (0.0, 0.01, 0.1, 1.0):
            duals = spoiled(relaxation.facts, relaxation.duals, generator, much)
            proved = bound(problem, certificate(problem, objective, relaxation.facts, duals))
            assert proved <= known.optimum, (seed, much)
            positive += proved > 0
    assert positive >= 60


@pytest.mark.parametrize("times", [2, 100, 10_000])
def test_a_page_of_the_fast_bank_has_the_price_of_a_slow_port(times: int) -> None:
    # A byte a cycle from DRAM; bank 0, and what streams through it, is read ``times`` slower.
    problem = tiny({"a": (8, "in")}, [Op(reads="a")] * 2, spm=8)
    banks = (Bank(spm_bytes=4, read_bytes_per_s=1), Bank(spm_bytes=4))
    machine = replace(problem.machine, dram_bytes_per_s=times, clock_hz=times)
    operations = tuple(
        replace(operation, mappings=(replace(operation.mappings[0], spm_read_bytes=8),))
        for operation in problem.operations
    )
    slow = replace(problem, machine=with_these(machine, banks), operations=operations)
    relaxation = Relaxation(slow, Request(objective=MAKESPAN, threads=1), fitting_timeline(slow))
    relaxation.run(Request(objective=MAKESPAN, threads=1))
    proof = certificate(slow, MAKESPAN, relaxation.facts, relaxation.duals)
    # A page can be in the fast bank, so that the other 4 bytes take that long, twice.
    best = 2 * 4 * times
    assert best * (1 - 1e-4) <= float(bound(slow, proof)) <= best
