"""The linear program's optimum is the Lagrangian bound at its duals, in exact rationals.

The duals of a simplex vertex are rational with small denominators, and so is the vertex. Both are
read off the solver's floating-point numbers, then judged without it: the vertex meets every
constraint exactly, the bound of formulations/PROBLEM.md, section 5, is evaluated at the duals with
fractions, and the two values are the same number.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from formulations.solver import highs
from formulations.solver.program import Floats, Program
from spmopt.core.objective import Objective, objective_named
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.timeline import Access, Timeline, relax_timeline
from spmopt.verifier.bound import bound
from tests.formulations.plain.model import PlainModel, plain_model, solve_plain
from tests.strategies import random_problem
from tests.thorough import some

OBJECTIVES = ("traffic", "time", "energy")
N, R, D, U = range(4)
Arcs = dict[tuple[int, int], Fraction]


@dataclass(frozen=True, kw_only=True)
class Duals:
    """Per step: a byte held, and a byte's DMA time in and out, in objective units."""

    spm: list[Fraction]
    dram_in: list[Fraction]
    dram_out: list[Fraction]


def lagrangian(problem: Problem, objective: Objective, duals: Duals) -> Fraction:
    """``LB`` of PROBLEM.md, section 5, with pages of scratch and of the SPM rounded."""
    line, machine = relax_timeline(problem), problem.machine
    total = (
        objective.spm_read_byte * int(line.spm_read_bytes.sum())
        + objective.spm_write_byte * int(line.spm_write_bytes.sum())
        + objective.mac * int(line.macs.sum())
    )
    for step, compute in enumerate(line.compute_cycles.tolist()):
        pages = machine.spm_pages - -(-int(line.scratch_bytes[step]) // machine.page_bytes)
        time_dual = duals.dram_in[step]
        if machine.duplex:
            time_dual += duals.dram_out[step]
        rho = objective.cycle - machine.bytes_per_cycle * time_dual
        assert rho >= 0
        total += rho * compute - duals.spm[step] * machine.page_bytes * pages
    for tensor, size in enumerate(line.size_bytes.tolist()):
        total += size * shortest_path(problem, line, objective, duals, tensor)
    return total


def shortest_path(
    problem: Problem, line: Timeline, objective: Objective, duals: Duals, tensor: int
) -> Fraction:
    """``DP_t``: cheapest path of one byte through the states N, R, D, U."""
    cost = {N if line.in_dram[tensor] else U: Fraction(0)}
    of_step = {int(line.step[a]): a for a in np.flatnonzero(line.tensor == tensor).tolist()}
    live = bool(line.live_before[tensor])
    full = objective.cycle / problem.machine.bytes_per_cycle
    for step in range(line.steps):
        access = of_step.get(step)
        fixed = access is not None and bool(line.required_resident[access])
        is_result = access is not None and line.kind[access] != Access.READ
        k_in = objective.dram_in_byte + (full if fixed else duals.dram_in[step])
        k_out = objective.dram_out_byte + (full if fixed and is_result else duals.dram_out[step])
        hold = duals.spm[step]
        if access is None:
            arcs = untouched(hold, k_in, k_out) if live else {(s, U): Fraction(0) for s in range(4)}
        else:
            live = bool(line.live_after[access])
            arcs = touched(line, access, hold, k_in, k_out)
        after: dict[int, Fraction] = {}
        for (source, target), dual in arcs.items():
            if source in cost:
                after[target] = min(after.get(target, cost[source] + dual), cost[source] + dual)
        cost = after
    ends = (N, R) if line.keep[tensor] else (N, R, D, U)
    return min(cost[state] for state in ends if state in cost)


def untouched(hold: Fraction, k_in: Fraction, k_out: Fraction) -> Arcs:
    """First row of the table, contents live."""
    zero = Fraction(0)
    return {
        (N, N): zero,
        (N, R): k_in + hold,
        (R, N): zero,
        (R, R): hold,
        (D, D): hold,
        (D, R): hold + k_out,
    }


def touched(line: Timeline, access: int, hold: Fraction, k_in: Fraction, k_out: Fraction) -> Arcs:
    """The other rows of the table."""
    kind, fetches = int(line.kind[access]), int(line.fetches[access])
    fixed, live = bool(line.required_resident[access]), bool(line.live_after[access])
    arcs: Arcs = {}
    if kind == Access.READ:
        arcs = {(N, R): k_in + hold, (R, R): hold, (D, D): hold, (D, R): hold + k_out}
        if not fixed:
            arcs |= {(N, N): fetches * k_in, (R, N): fetches * k_in}
    elif kind == Access.WRITE and live:
        for state in range(4):
            arcs |= {(state, D): hold, (state, R): hold + k_out}
            if not fixed:
                arcs[state, N] = fetches * k_out + (fetches - 1) * k_in
    elif kind == Access.WRITE:
        arcs = {(state, U): hold if fixed else Fraction(0) for state in range(4)}
    elif live:
        arcs = {(N, D): k_in + hold, (N, R): k_in + k_out + hold}
        arcs |= {(R, D): hold, (D, D): hold, (R, R): hold + k_out, (D, R): hold + k_out}
        if not fixed:
            arcs |= {(N, N): fetches * (k_in + k_out), (R, N): fetches * (k_in + k_out)}
    else:
        streamed = fetches * k_in
        arcs = {(N, U): k_in + hold, (R, U): hold, (D, U): hold}
        if not fixed:
            arcs |= {(N, U): min(k_in + hold, streamed), (R, U): min(hold, streamed)}
    return arcs


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


def rational_duals(problem: Problem, objective: Objective, model: PlainModel) -> Duals:
    """Rounded duals."""
    answer = solve_plain(problem, objective)
    unit = model.byte_value
    assert answer.spm_dual is not None
    assert answer.dram_in_dual is not None
    assert answer.dram_out_dual is not None
    spm, dram_in, dram_out = (
        [max(Fraction(0), dual) * unit for dual in rational(column / float(unit))]
        for column in (answer.spm_dual, answer.dram_in_dual, answer.dram_out_dual)
    )
    return Duals(spm=spm, dram_in=dram_in, dram_out=dram_out)


@pytest.mark.parametrize("objective_name", OBJECTIVES)
@pytest.mark.parametrize("duplex", [False, True])
def test_optimum_is_the_bound_at_its_duals_exactly(objective_name: str, duplex: bool) -> None:
    for seed in some(range(60)):
        problem = random_problem(
            seed, max_operations=7, max_tensors=5, max_mappings=2, duplex=duplex
        )
        objective = objective_named(objective_name, problem.machine)
        model = plain_model(problem, objective)
        primal = highs.solve(model.program, options={"solver": "simplex"}).primal
        assert primal is not None
        value = exact_value(model, rational(primal))
        duals = rational_duals(problem, objective, model)
        assert lagrangian(problem, objective, duals) == value, seed


@pytest.mark.parametrize("objective_name", OBJECTIVES)
def test_the_verified_bound_is_this_one(objective_name: str) -> None:
    """At any dual values; rounding costs the integers at most one part in 2**40 of a dual value."""
    for seed in range(100):
        problem = random_problem(seed, max_operations=7, max_tensors=5, duplex=True)
        objective = objective_named(objective_name, problem.machine)
        bits = 80 if objective_name == "energy" else 40
        duals = random_duals(seed, problem, objective, bits)
        spm, dram_in, dram_out = (
            np.array([int(dual * 2**bits) for dual in column], np.int64)
            for column in (duals.spm, duals.dram_in, duals.dram_out)
        )
        certificate = Certificate(
            objective=objective, bits=bits, spm=spm, dram_in=dram_in, dram_out=dram_out
        )
        exact = lagrangian(problem, objective, duals)
        proved = bound(problem, certificate)
        assert exact - Fraction(1000, 2**bits) <= proved <= exact, seed


def random_duals(seed: int, problem: Problem, objective: Objective, bits: int) -> Duals:
    """Legal dual values, multiples of ``2**-bits``."""
    generator = np.random.default_rng(seed)
    machine, steps = problem.machine, len(problem.operations)
    unit = plain_model(problem, objective).byte_value
    most = objective.cycle / machine.bytes_per_cycle / (2 if machine.duplex else 1)

    def column(largest: Fraction) -> list[Fraction]:
        parts = generator.integers(0, 9, steps).tolist()
        return [Fraction(int(largest * part / 8 * 2**bits), 2**bits) for part in parts]

    spm, dram_in, dram_out = column(unit), column(most), column(most)
    return Duals(spm=spm, dram_in=dram_in, dram_out=dram_out if machine.duplex else dram_in)
