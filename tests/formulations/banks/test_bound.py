"""No dual values prove more than the optimum of a problem: random ones, and good ones spoiled."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from formulations.residency.banks.duals import BankMultipliers, certificate
from formulations.residency.banks.facts import BankCoefficients
from formulations.residency.banks.relaxation import relax
from spmopt.core.machine import Bank
from spmopt.core.objective import MAKESPAN, objective_named
from spmopt.core.scheduler import Request
from spmopt.core.timeline import fitting_timeline, relax_timeline
from spmopt.verifier import bound
from tests.banked import banked, with_these
from tests.checked import need
from tests.formulations.banks.cases import campaign_case
from tests.formulations.banks.references import references
from tests.thorough import share, some
from tests.tiny import Op, tiny


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


def test_no_duals_prove_more_than_the_optimum() -> None:
    positive = 0
    for seed in some(range(300), 8):
        known = references()[seed]
        if known.optimum is None:
            continue
        problem, objective = campaign_case(seed)
        request = Request(objective=objective, threads=1)
        facts = BankCoefficients(problem, relax_timeline(problem), objective, relaxed=True)
        relaxed = need(relax(problem, request, facts, fitting_timeline(problem)))
        generator = np.random.default_rng(seed)
        for much in (0.0, 0.01, 0.1, 1.0):
            duals = spoiled(facts, relaxed.duals, generator, much)
            proved = bound(problem, certificate(problem, objective, facts, duals))
            assert proved <= known.optimum, (seed, much)
            positive += proved > 0
    assert positive >= share(600, 8)


@pytest.mark.parametrize("seed", some(range(15), 2))
def test_duals_prove_the_value_of_the_relaxation(seed: int) -> None:
    """By strong duality, of one mapping; with several the verifier knows more than the rows."""
    ports, name = seed % 2 == 0, ("time", "energy", "traffic")[seed % 3]
    problem = banked(seed, banks=2 + seed % 2, ports=ports, duplex=True, max_operations=7)
    objective = objective_named(name, problem.machine)
    facts = BankCoefficients(problem, relax_timeline(problem), objective, relaxed=True)
    request = Request(objective=objective, threads=1)
    relaxed = need(relax(problem, request, facts, fitting_timeline(problem)))
    proved = float(bound(problem, certificate(problem, objective, facts, relaxed.duals)))
    assert proved == pytest.approx(relaxed.value, rel=1e-6, abs=1e-20)


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
    facts = BankCoefficients(slow, relax_timeline(slow), MAKESPAN, relaxed=True)
    request = Request(objective=MAKESPAN, threads=1)
    duals = need(relax(slow, request, facts, fitting_timeline(slow))).duals
    proof = certificate(slow, MAKESPAN, facts, duals)
    # A page can be in the fast bank, so that the other 4 bytes take that long, twice.
    best = 2 * 4 * times
    assert best * (1 - 1e-4) <= float(bound(slow, proof)) <= best
