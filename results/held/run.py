"""What the defaults give a user within seconds, on drawn networks of which half is held out.

``--half seen`` (the default) and ``--half unseen`` print; ``--half both`` records.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from statistics import median
from time import monotonic

import spmopt
from results.held.draw import CASES, FAMILIES, HALVES, Draw, drawn
from results.shared.bench import Bench, BenchLine, Figures, timed
from results.shared.page import markdown
from spmopt.core.errors import ScheduleError

LIMITS_S, NEAR, BOTH = (2, 10), (0.01, 0.05), "both"
HEADS = ["half", "family", "cases", "limit s", "median gap %", "worst gap %"]
HEADS += ["within 1 %", "within 5 %", "no bound", "failed", "median s over", "most s over"]


def measure(case: Draw, limit_s: float) -> Figures:
    """Schedule a case by default, over all fusion plans, as the command line does.

    ``gap`` is to the bound over the fusion space, ``own_gap`` to the best that is known: where
    there is none over the fusion space, to that of all schedules of the same plan. ``first_s``:
    wall seconds to the first schedule; ``over_s``: those beyond the limit; ``layered_ms``: the
    best schedule layer by layer that the same search has found.

    Raises
    ------
    ScheduleError
        There is no schedule.
    """
    problem, firsts, began = case.problem(), list[float](), monotonic()

    def hear(news: spmopt.Incumbent) -> None:
        if news.value is not None:
            firsts.append(monotonic() - began)

    heard = spmopt.Callbacks(on_incumbent=hear)
    run = partial(spmopt.solve, problem, fusion="all", time_limit=limit_s, callbacks=heard)
    found, taken = timed(run)
    result = found.result
    if result.value is None:
        raise ScheduleError(f"{found.status}: no schedule")
    layered = [float(each.value) for each in result.beside if each.value and not each.fused]
    ms = problem.machine.clock_hz / 1e3
    return {
        "operations": len(problem.operations),
        "fused_groups": 0 if result.fused is None else len(result.fused.fusion_plan),
        "ms": float(result.value) / ms,
        "layered_ms": min(layered) / ms if layered else None,
        "gap": result.fusion_gap,
        "own_gap": result.gap,
        "status": found.status,
        "end": str(result.end),
        "verified": result.verified,
        "first_s": min(firsts, default=None),
        "over_s": max(0.0, taken["wall_s"] - limit_s),
        **taken,
    }


def compare(figures: Figures) -> Figures:
    """Return how much shorter the longer search's schedule is; below 0 it is worse."""
    short, long = (figures[f"{limit} s.ms"] for limit in LIMITS_S)
    return {"gain": 1 - long / short}


def note(found: Mapping[str, Figures]) -> str:
    """Summarize by half and family."""
    lines = []
    for half, family in product(HALVES, (*FAMILIES, "")):
        words = {half, family or half}
        some = [each for name, each in found.items() if words <= {*name.split()}]
        lines += [_summary(half, family, some, limit) for limit in LIMITS_S if some]
    return markdown(HEADS, lines, left=2)


def _summary(half: str, family: str, some: Sequence[Figures], limit: int) -> list[str]:
    known = [each for each in some if f"{limit} s.ms" in each]
    gaps, overs = ([each[f"{limit} s.{name}"] for each in known] for name in ("gap", "over_s"))
    certified = [gap for gap in gaps if gap is not None]
    marks = [f"{100 * of(certified):.3g}" if certified else "-" for of in (median, max)]
    # Without a bound nothing is known to be near to it.
    marks += [f"{sum(gap <= most for gap in certified)} of {len(some)}" for most in NEAR]
    marks += [f"{len(known) - len(certified)}", f"{len(some) - len(known)}"]
    marks += [f"{of(overs):.2f}" if overs else "-" for of in (median, max)]
    return [half, family or "all", f"{len(some)}", f"{limit}", *marks]


def line(case: Draw) -> BenchLine:
    """Return the line of a case: both limits."""
    step, batch = "training" if case.training else "forward", f"batch {case.batch}"
    head = case.half, f"{case.number}", case.family, case.machine, step, case.element_type, batch
    return BenchLine(head, {f"{limit} s": partial(measure, case, limit) for limit in LIMITS_S})


BENCH = Bench(
    file=__file__,
    lines=[line(drawn(half, number)) for half in HALVES for number in range(CASES)],
    quick=partial(measure, drawn(HALVES[0], 7), LIMITS_S[0]),
    derive=compare,
    note=note,
    options=f" --half {BOTH}",
)


def main(arguments: Sequence[str]) -> int:
    """Measure a half and print it, or both and record them."""
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--half", choices=(*HALVES, BOTH), default=HALVES[0])
    given, others = parser.parse_known_args(arguments)
    if given.half == BOTH or {"--one", "--page", "--quick"} & {*others}:
        return BENCH.main(others)
    lines = [each for each in BENCH.lines if each.cells[0] == given.half]
    half = replace(BENCH, lines=lines, options=f" --half {given.half}")
    # Only a folder of its own may take the rows of one half.
    return half.main(others if "--output" in others else ["--only", given.half, *others])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
