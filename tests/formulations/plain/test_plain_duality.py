"""The linear program's optimum is the Lagrangian bound at its duals, in exact rationals.

The duals of a simplex vertex are rational with small denominators, and so is the vertex. Both are
read off the solver's floating-point numbers, then judged without it: the vertex meets every
constraint exactly, the verifier's bound (formulations/PROBLEM.md, section 5) is evaluated at the
duals in integers, and the two values are the same number.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import lcm

import numpy as np
import pytest

from formulations.solver import highs
from formulations.solver.program import Floats, Program
from spmopt.core.objective import WEIGHTS, Objective, objective_named
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.verifier.bound import bound
from tests.checked import need
from tests.formulations.plain.model import PlainModel, plain_model, solve_plain
from tests.strategies import random_problem
from tests.thorough import some

OBJECTIVES = ("traffic", "time", "energy")


def rational(values: Floats) -> list[Fraction]:
    """Nearest fractions with small denominators; refuses what is none."""
    found = [Fraction(value).limit_denominator(5000) for value in values.tolist()]
    np.testing.assert_allclose([float(f) for f in found], values, rtol=1e-9, atol=1e-9)
    return found


def exact_value(model: PlainModel, primal: list[Fraction]) -> Fraction:
    """The objective of a solution that meets every constraint exactly."""
    program: Program = model.program
    sides = [program.lower, program.upper, program.row_lower, program.row_upper]
    lower, upper, row_lower, row_upper = (exact_sides(side) for side in sides)
    matrix = program.matrix
    assert matrix.by_rows
    for value, low, high in zip(primal, lower, upper, strict=True):
        assert low is None or value >= low
        assert high is None or value <= high
    for row, (low, high) in enumerate(zip(row_lower, row_upper, strict=True)):
        entries = slice(int(matrix.start[row]), int(matrix.start[row + 1]))
        products = zip(matrix.index[entries].tolist(), matrix.value[entries].tolist(), strict=True)
        activity = sum((Fraction(v) * primal[column] for column, v in products), Fraction(0))
        assert low is None or activity >= low
        assert high is None or activity <= high
    cost = rational(program.cost)
    total = sum((c * x for c, x in zip(cost, primal, strict=True)), Fraction(0))
    return total * model.byte_value * model.byte_unit + model.constant


def exact_sides(values: Floats) -> list[Fraction | None]:
    """Sides are sums of bytes and of bytes per cycle times cycles: small fractions, or none."""
    return [Fraction(v).limit_denominator(5000) if np.isfinite(v) else None for v in values]


def exact_duals(
    problem: Problem, objective: Objective, model: PlainModel
) -> tuple[Certificate, int]:
    """Return the rounded duals in integers, and by how much these and the weights are multiplied.

    So often that no quotient of the bound is rounded.
    """
    answer, unit = solve_plain(problem, objective), model.byte_value
    spm, dram_in, dram_out = (
        [max(Fraction(0), dual) * unit for dual in rational(need(column) / float(unit))]
        for column in (answer.spm_dual, answer.dram_in_dual, answer.dram_out_dual)
    )
    weights = {name: getattr(objective, name) for name in WEIGHTS}
    rate = problem.machine.bytes_per_cycle
    every = (*spm, *dram_in, *dram_out, *weights.values())
    factor = lcm(*(each.denominator for each in every)) * rate.numerator * rate.denominator
    scaled = replace(objective, **{name: own * factor for name, own in weights.items()})
    columns = [
        np.array([int(dual * factor) for dual in column]) for column in (spm, dram_in, dram_out)
    ]
    return Certificate(
        objective=scaled, bits=0, spm=columns[0], dram_in=columns[1], dram_out=columns[2]
    ), factor


@pytest.mark.parametrize("objective_name", OBJECTIVES)
@pytest.mark.parametrize("duplex", [False, True])
def test_optimum_is_the_bound_at_its_duals_exactly(objective_name: str, duplex: bool) -> None:
    for seed in some(range(60)):
        problem = random_problem(
            seed, max_operations=7, max_tensors=5, max_mappings=2, duplex=duplex
        )
        objective = objective_named(objective_name, problem.machine)
        model = plain_model(problem, objective)
        primal = need(highs.solve(model.program, options={"solver": "simplex"}).primal)
        certificate, factor = exact_duals(problem, objective, model)
        assert bound(problem, certificate) == factor * exact_value(model, rational(primal)), seed
