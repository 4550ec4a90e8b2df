"""The program in bytes: against the plain model, its own dual, and itself over fewer cells."""

import numpy as np
import pytest

from formulations.residency.banks.cells import ChosenCells, Field
from formulations.residency.banks.duals import BankMultipliers, certificate
from formulations.residency.banks.facts import BankCoefficients
from formulations.residency.banks.network import BankNetwork
from formulations.residency.banks.paths import Paths, promising
from formulations.residency.banks.program import BankProgram
from formulations.solver.highs import solve
from formulations.solver.program import SolverResult
from spmopt.core.objective import Objective, objective_named
from spmopt.core.problem import Problem
from spmopt.core.table import Bools
from spmopt.core.timeline import relax_timeline
from spmopt.verifier import bound
from tests.banked import alone, banked
from tests.formulations.plain.model import solve_plain
from tests.strategies import random_problem
from tests.thorough import some

OBJECTIVES = ("time", "traffic", "energy")
NEAR = 1e-6


def facts_of(problem: Problem, objective: Objective) -> BankCoefficients:
    return BankCoefficients(problem, relax_timeline(problem), objective, relaxed=True)


def solved(
    facts: BankCoefficients, field: Field, chosen: Bools | None = None
) -> tuple[BankProgram, SolverResult]:
    every = np.ones(len(field.cells), bool)
    built = BankProgram(BankNetwork(facts, ChosenCells(field, every if chosen is None else chosen)))
    answer = solve(built.program, options={"solver": "simplex", "presolve": "off"})
    return built, answer


def proved(
    problem: Problem, objective: Objective, facts: BankCoefficients, duals: BankMultipliers
) -> float:
    return float(bound(problem, certificate(problem, objective, facts, duals)))


@pytest.mark.parametrize("name", OBJECTIVES)
def test_one_bank_is_a_uniform_scratchpad(name: str) -> None:
    for seed in some(range(24)):
        uniform, one = alone(random_problem(seed, duplex=True))
        objective = objective_named(name, one.machine)
        facts = facts_of(one, objective)
        built, answer = solved(facts, Field(facts.line))
        plain = solve_plain(uniform, objective_named(name, uniform.machine)).value
        assert built.value(answer) == pytest.approx(plain, rel=NEAR, abs=1e-18), seed


@pytest.mark.parametrize("ports", [False, True])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_its_duals_prove_its_value(name: str, ports: bool) -> None:
    """By strong duality, though the verifier's bound knows no program and no cells."""
    for seed in some(range(24)):
        problem = banked(seed, banks=2 + seed % 2, ports=ports, duplex=True)
        objective = objective_named(name, problem.machine)
        facts = facts_of(problem, objective)
        built, answer = solved(facts, Field(facts.line))
        duals = built.multipliers(answer)
        value = built.value(answer)
        assert proved(problem, objective, facts, duals) == pytest.approx(value, rel=NEAR), seed


@pytest.mark.parametrize("seed", some(range(15), 2))
def test_any_duals_prove_the_same_here_and_there(seed: int) -> None:
    """Paths in floating point, and in the verifier's integers, which are no larger."""
    problem = banked(seed, ports=seed % 2 == 0, duplex=True, max_fetches=2)
    objective = objective_named(OBJECTIVES[seed % 3], problem.machine)
    facts = facts_of(problem, objective)
    generator = np.random.default_rng(seed)
    unit = facts.byte_dual
    shape = (facts.bank_count, facts.line.steps)
    duals = BankMultipliers.legal(
        facts,
        hold=unit * generator.random(shape),
        load=unit * generator.random(shape[1]),
        store=unit * generator.random(shape[1]),
        port=unit * generator.random(shape) * facts.banks_with_port[:, None],
    )
    exact = proved(problem, objective, facts, duals)
    found = Paths(facts, duals).bound
    size = abs(found) + float(duals.hold.sum(axis=1) @ facts.capacity_bytes)
    assert exact <= found + 1e-9 * size
    assert exact == pytest.approx(found, abs=1e-9 * size)


@pytest.mark.parametrize("seed", some(range(12), 2))
def test_fewer_cells_cost_no_less_and_promising_ones_make_up_for_it(seed: int) -> None:
    problem = banked(seed, max_operations=7, max_tensors=5)
    objective = objective_named("time", problem.machine)
    facts = facts_of(problem, objective)
    field = Field(facts.line)
    built, answer = solved(facts, field)
    least = built.value(answer)
    chosen = field.near(0)
    values = []
    for _ in range(6):
        built, answer = solved(facts, field, chosen)
        values.append(built.value(answer))
        priced = Paths(facts, built.multipliers(answer))
        assert priced.bound <= least * (1 + NEAR)
        chosen = chosen | promising(field, priced, chosen, facts.byte_dual)
    assert min(values) >= least * (1 - NEAR)
    assert values == sorted(values, reverse=True) or max(np.diff(values)) <= NEAR * least
    assert values[-1] == pytest.approx(least, rel=NEAR)
