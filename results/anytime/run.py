"""What is known at every moment: the gap of the incumbent, and what a short limit gives."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from time import monotonic

from results.scale.run import gnmt
from results.shared.bench import TINY, Bench, BenchLine, Case, Figures
from spmopt.core.objective import MAKESPAN
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.scheduler import Incumbent, Request
from spmopt.solving import solve

MOMENTS = (1, 3, 10, 30)
SHORT_S = 3.0
THREADS = 2
News = list[tuple[float, float]]
"""Seconds since the start, and the gap then."""


def watched(problem: Problem, limit_s: float) -> tuple[Result, News, float]:
    """Solve within a limit; the result, the gap whenever it fell, and seconds till the end."""
    found: News = []
    value, least, begun = float("inf"), 0.0, monotonic()

    def note(news: Incumbent) -> None:
        nonlocal value, least
        value = value if news.value is None else min(value, float(news.value))
        if news.bound is not None and not news.of_class:
            least = max(least, float(news.bound))
        if least > 0 and value < float("inf"):
            found.append((monotonic() - begun, value / least - 1))

    request = Request(
        objective=MAKESPAN,
        tolerance=1e-4,
        time_limit_s=limit_s,
        threads=THREADS,
        on_incumbent=note,
    )
    result = solve(problem, "residency", request)
    return result, found, monotonic() - begun


def gap_at(news: Sequence[tuple[float, float]], moment_s: float) -> float | None:
    """Return the gap known at a moment; None before there was a schedule and a bound."""
    return min((gap for seconds, gap in news if seconds <= moment_s), default=None)


def anytime(case: Case, limit_s: float) -> Figures:
    """Measure the gap at each moment, and what a limit of :data:`SHORT_S` gives."""
    problem = case.problem()
    result, news, end_s = watched(problem, limit_s)
    short, _, short_s = watched(problem, SHORT_S)
    return {
        "operations": len(problem.operations),
        **{f"at_{moment}": gap_at(news, moment) for moment in MOMENTS},
        "end_s": end_s,
        "gap": result.gap,
        "limit_s": short_s,
        "limit_gap": short.gap,
    }


BENCH = Bench(
    file=__file__,
    lines=[
        BenchLine(
            (case.title, case.spm),
            {"": partial(anytime, case, 60.0)},
            {"at_1": "≤ 0.12", "at_3": "≤ 0.08", "at_10": "≤ 0.005", "at_30": "≤ 0.0008"}
            if case == gnmt(50)
            else {},
        )
        for case in (
            gnmt(50),
            gnmt(50, "128MB"),
            Case("transformer", "64MB", {"layers": 96}),
            gnmt(200),
        )
    ],
    quick=partial(anytime, TINY, 5.0),
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
