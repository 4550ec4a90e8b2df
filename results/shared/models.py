"""Two models of one relaxation: priced columns, and plain (tensor, step) variables."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from formulations.residency.column_generation import ColumnGeneration
from formulations.solver import highs
from results.shared.bench import Case, Figures, peak_mb, timed
from spmopt.core.errors import ScheduleError
from spmopt.core.objective import MAKESPAN
from spmopt.core.scheduler import Request
from spmopt.verifier import bound
from tests.formulations.plain.model import plain_model, read_answer

_SIMPLEX: Mapping[str, highs.Option] = {"solver": "simplex"}
_POINT: Mapping[str, highs.Option] = {"run_crossover": "off", "ipm_optimality_tolerance": 1e-4}
_PDLP: Mapping[str, highs.Option] = {"run_crossover": "off", "pdlp_optimality_tolerance": 1e-4}
SETTINGS: Mapping[str, Mapping[str, highs.Option]] = {
    "simplex": _SIMPLEX,
    "simplex, no presolve": {**_SIMPLEX, "presolve": "off"},
    "ipx": {"solver": "ipx", **_POINT},
    "ipx, no presolve": {"solver": "ipx", **_POINT, "presolve": "off"},
    "hipo": {"solver": "hipo", **_POINT},
    "hipo, no presolve": {"solver": "hipo", **_POINT, "presolve": "off"},
    "pdlp": {"solver": "pdlp", **_PDLP},
}
"""Ways to solve the plain model with HiGHS; the dual method is its default simplex."""


def spent(building: Figures, solving: Figures) -> Figures:
    """Add up seconds of both, and keep each."""
    both = {name: building[name] + solving[name] for name in building}
    return {"build_s": building["wall_s"], "solve_s": solving["wall_s"], **both}


def priced(case: Case, limit_s: float) -> Figures:
    """Solve priced columns to a relative gap of 0.01 % between solution and bound.

    ``gap`` holds the solution's value, which is of the relaxation and no schedule, against the
    exact bound at the dual values.

    Raises
    ------
    ScheduleError
        No solution within the limit.
    """
    problem = case.problem()
    request = Request(tolerance=1e-4, time_limit_s=limit_s, threads=2)
    search, building = timed(lambda: ColumnGeneration(problem, request, fluid=True))
    _, solving = timed(lambda: search.run(request.tolerance))
    peak, certificate = peak_mb(), search.certificate
    if certificate is None or search.value is None:
        raise ScheduleError(f"priced model: no solution within {limit_s:g} s")
    least = bound(problem, certificate)
    return {
        "operations": len(problem.operations),
        **spent(building, solving),
        "peak_mb": peak,
        "programs": len(search.log) - 1,
        "columns": search.log[-1],
        "gap": float(Fraction(search.value) / least - 1),
        "bound": float(least),
        "value": float(search.value),
    }


def plain(case: Case, setting: str, limit_s: float) -> Figures:
    """Solve plain variables in one of the ways of :data:`SETTINGS`."""
    problem, way = case.problem(), SETTINGS[setting]
    model, building = timed(lambda: plain_model(problem, MAKESPAN))
    answer, solving = timed(
        lambda: highs.solve(model.program, options=way, time_limit_s=limit_s, threads=2)
    )
    value = read_answer(model, answer).value
    return {
        "operations": len(problem.operations),
        **spent(building, solving),
        "peak_mb": peak_mb(),
        "columns": model.columns.count,
        "ending": str(answer.status),
        "value": value,
        "value_ms": None if value is None else 1000 * value / problem.machine.clock_hz,
    }
