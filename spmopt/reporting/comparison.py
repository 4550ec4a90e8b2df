"""A comparison of results: a table, and sentences on the optimum."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from spmopt.core.machine import Machine
from spmopt.core.problem import Problem
from spmopt.core.result import UNFINISHED, Result, Status, is_optimal
from spmopt.hardware.machines import has_default_energies
from spmopt.metrics import in_unit, metrics
from spmopt.reporting.fusion_plans import (
    BEST,
    GIVEN,
    LISTED,
    fusion_plan_words,
    over_fusion_plans,
    place,
    places,
    space_words,
    with_bounds_of_one_plan,
)
from spmopt.reporting.headings import ASYNC_TIME, heading, name_of, problem_notes, remarks, standing
from spmopt.reporting.quantities import percent, seconds, si
from spmopt.reporting.results import DEFAULTS, floor_figure
from spmopt.reporting.tables import Grid, Part
from spmopt.schedulers.registry import Kind, kind_of

_NONE, _CLASS, _GAP, _OWN_GAP = "-", "gap (class)", "gap", "gap, this fusion"
COLUMNS = ("scheduler", "time", "traffic", _GAP, "status")
WIDE_COLUMNS = (
    *("scheduler", "time", "traffic", "energy", "vs best", _OWN_GAP, _GAP, _CLASS),
    *("status", "seconds"),
)
"""``gap`` is to the bound over the fusion space, where there is one; the class gap to a bound of a
narrower class of schedules, with "~" where a solver claims it."""
STATUS_STYLES = {"optimal": "green", "infeasible": "red", "failed": "red"}
_ROUNDING = 1e-9  # relative gap below which a bound counts as met
_COLUMN_OF_UNIT = {"cycles": "time", "bytes": "traffic", "joules": "energy"}


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A heading, one row of texts a result, and remarks below.

    ``dispensable`` names columns in the order in which a narrow terminal does without them.
    """

    heading: str
    rows: tuple[tuple[str, ...], ...]
    remarks: tuple[str, ...]
    dispensable: tuple[str, ...] = ()
    columns: tuple[str, ...] = COLUMNS

    def parts(self) -> Iterator[Part]:
        """Yield heading, table and remarks."""
        yield self.heading
        yield ""
        yield Grid(
            columns=self.columns,
            rows=self.rows,
            left=("scheduler", "status"),
            words=(),
            dispensable=self.dispensable,
            styles=STATUS_STYLES | dict.fromkeys((LISTED, BEST, GIVEN), "bold"),
            ruled=True,
        )
        yield ""
        yield from self.remarks


def compare_view(
    problem: Problem,
    results: Sequence[Result],
    not_run: Sequence[str] = (),
    *,
    wide: bool = False,
) -> Comparison:
    """Return the comparison of ``results``, all of one problem and objective.

    Parameters
    ----------
    not_run
        Schedulers that were asked for, but that an interrupt left out.
    wide
        Show all figures, and all sentences.
    """
    results = _with_bounds_of_both(with_bounds_of_one_plan(results))
    # Exact fractions: equal values of two schedulers are both "best".
    best = min((result.value for result in results if result.value is not None), default=None)
    where, machine = places(results), problem.machine
    rows = list(_place([_row(machine, result, best) for result in results], where))
    rows += [{"scheduler": name, "status": "not run"} for name in not_run]
    objective = results[0].objective
    minimized, time = name_of(objective), ASYNC_TIME if objective.replayed else "time"
    shown = [name for name in WIDE_COLUMNS if wide or name in (*COLUMNS, minimized)]
    unused = {_CLASS: not any(_CLASS in row for row in rows), _OWN_GAP: not where}
    shown = [name for name in shown if not unused.get(name)]
    is_default = "energy" in shown and has_default_energies(machine)
    others = tuple(name for name in ("energy", "traffic", time) if name != minimized)
    return Comparison(
        heading=heading(problem, results[0]),
        columns=tuple(time if name == "time" else name for name in shown),
        rows=tuple(tuple(row.get(name, row.get("", _NONE)) for name in shown) for row in rows),
        dispensable=(_CLASS, _OWN_GAP, "seconds", *others, "vs best", "status"),
        remarks=(
            *_notes(results),
            *_floor(problem, results),
            *([f"{DEFAULTS.capitalize()}."] if is_default else []),
            *problem_notes(problem, results),
            *verdict(machine, results, wide=wide),
            *fusion_plan_verdict(machine, results, wide=wide),
        ),
    )


def _with_bounds_of_both(results: Sequence[Result]) -> list[Result]:
    """Return results, those of another problem with a bound that holds for the others as well."""
    others = [each for each in results if each.instead is None and each.order is None]
    # Rows are held against the bound over the fusion space where there is one.
    known = [each.fusion_bound or each.bound for each in others]
    of_others = min((bound for bound in known if bound is not None), default=None)
    return [
        each
        if each.instead is None or each.bound is None or of_others is None
        else replace(each, fusion_bound=min(each.bound, of_others))
        for each in results
    ]


def _floor(problem: Problem, results: Sequence[Result]) -> Iterator[str]:
    """State the floor, and how far above it the best schedule is."""
    known = [(result.value, at) for at, result in enumerate(results) if result.value is not None]
    if known:
        found = floor_figure(problem, results[min(known)[1]])
        note = found.note.replace("this schedule", "the best schedule")
        yield f"Floor, whatever is fused, tiled or kept: {found.text} ({note})."


def _place(rows: Sequence[dict[str, str]], where: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield rows below headings of their blocks, whose other columns are the text at ``""``."""
    above = ""
    for row, block in zip(rows, where or [""] * len(rows), strict=True):
        if block != above:
            yield {"scheduler": block, "": ""}
        above = block
        yield {**row, "scheduler": f"  {row['scheduler']}"} if block else row


def _notes(results: Sequence[Result]) -> list[str]:
    """Return remarks of optimizers, reasons for missing schedules, and unfinished bounds."""
    speakers: dict[str, list[str]] = {}
    for result in results:
        name = result.scheduler
        without = result.status in (Status.INFEASIBLE, Status.FAILED)
        speaks = without or kind_of(name) is Kind.FORMULATION
        for note in remarks(result):
            if speaks or note in UNFINISHED:
                speakers.setdefault(note, []).append(name)
    if len(results) > 1 and all(result.status is Status.INFEASIBLE for result in results):
        return [f"infeasible: {note}" for note in speakers]
    bounded = [result.scheduler for result in results if result.bound is not None]
    return [
        f"{note[0].upper()}{note[1:]}."
        if note in UNFINISHED and names == bounded
        else f"{', '.join(names)}: {note}"
        for note, names in speakers.items()
    ]


def verdict(
    machine: Machine, results: Sequence[Result], subject: str = "belady", *, wide: bool = False
) -> list[str]:
    """Return sentences on the optimum, and on the distance of ``subject`` and the best heuristic.

    Schedules in another order than the problem's, or of another problem, have another optimum and
    are left out; the sentences then name the given order. Beside fusion plans the heuristics are
    left to the wide table.
    """
    known = [
        result
        for result in results
        if result.value is not None and result.bound is not None and result.order is None
        if result.fused is None and result.instead is None
    ]
    if not known:
        return []
    best = min(known, key=_value)
    is_fused = bool(places(results))
    other_orders = any(result.order is not None for result in results)
    where = "Layer by layer" if is_fused else "Given order" if other_orders else ""
    lines = [_optimum(machine, best, where)]
    if is_fused and not wide:
        return lines
    optimum = "layer-by-layer optimum" if is_fused else "optimum"
    tested = next((result for result in known if result.scheduler == subject), None)
    if tested is not None:
        lines.append(_distance(tested, best, subject.capitalize(), optimum))
    policies = [result for result in known if kind_of(result.scheduler) is Kind.POLICY]
    nearest = min(policies, key=_value, default=None)
    if len(policies) > 1 and nearest and (tested is None or nearest.value != tested.value):
        lines.append(_distance(nearest, best, f"Best heuristic, {nearest.scheduler}", optimum))
    return lines


def fusion_plan_verdict(
    machine: Machine, results: Sequence[Result], subject: str = "belady", *, wide: bool = False
) -> list[str]:
    """Return sentences on the best fusion plan, and on the distance of others to the optimum."""
    known = [
        over_fusion_plans(result)
        for result in results
        if result.value is not None and result.fusion_bound is not None and result.order is None
        if result.instead is None
    ]
    fused = next((each for each in known if place(each) == BEST), None)
    if fused is None or fused.fused is None:
        return []
    best = min(known, key=_value)
    lines = [_optimum(machine, best, "With fusion")]
    for where in (LISTED, GIVEN, BEST):
        block = [each for each in known if place(each) == where]
        shown = {}
        if block and (where == GIVEN or (wide and where == LISTED)):
            nearest = min(block, key=_value)
            shown[f"{where.capitalize()} ({nearest.scheduler})"] = nearest
        if wide or where != BEST:
            tested = [each for each in block if each.scheduler == subject]
            shown |= {f"{subject.capitalize()}, {where}": each for each in tested[:1]}
        lines += [_distance(each, best, name, "fused optimum") for name, each in shown.items()]
    best_plan = [f"Best fusion plan: {fusion_plan_words(fused.fused)}."] if wide else []
    return [*lines, *best_plan, space_words(fused.fused, fused.fusion_certificate)]


def _value(result: Result) -> Fraction:
    return result.value or Fraction(0)


def _optimum(machine: Machine, best: Result, where: str) -> str:
    value, bound = _value(best), best.best_bound or Fraction(0)
    shown = si(*in_unit(best.objective, machine, value))
    head = f"{where}: optimum" if where else "Optimum:"
    # Duals are rounded to integers, so that a tight bound may miss the optimum by less than this.
    if value == bound or (best.gap is not None and best.gap < _ROUNDING):
        return f"{head} {shown} ({best.scheduler}), proved."
    known = best.class_bound
    if known is not None and best.is_best_of_class and not where:
        least = si(*in_unit(best.objective, machine, bound))
        return (
            f"Optimum for {known.holds_for}: {shown} ({best.scheduler}), by {known.proved_by}; "
            f"any schedule: at least {least}."
        )
    over = percent(best.gap or 0.0, of="the bound").removeprefix("+")
    gap = "" if best.gap is None else f" (gap {over})"
    if best.status is Status.OPTIMAL and gap:
        return f"{head} {shown}{gap}."
    least = si(*in_unit(best.objective, machine, bound))
    number, _, unit = least.partition(" ")
    least = number if shown.endswith(f" {unit}") else least
    return f"{head} between {least} and {shown}{gap}."


def _distance(tested: Result, best: Result, name: str, optimum: str) -> str:
    """Return how far a schedule is above the optimum: at least, and at most."""
    bound = tested.best_bound or Fraction(0)
    if tested.status is Status.OPTIMAL:
        return f"{name}: {optimum}."

    def above(least: Fraction, *, up: bool = False) -> str:
        part = float(_value(tested) / least - 1) if least else 0.0
        return percent(part, by="above", of=f"the {optimum}", up=up).removeprefix("+")

    low, high = above(_value(best)), above(bound, up=True)
    # Against a bound of 0 no ratio has a meaning.
    if bound <= 0:
        return f"{name}: at least {low}."
    number, _, unit = low.partition(" ")
    # The unit is said once where both have it.
    span = low if low == high else f"{number if high.endswith(unit) else low} to {high}"
    if tested.value == best.value:
        span = f"at most {high}"
    return f"{name}: {span}."


def _row(machine: Machine, result: Result, best: Fraction | None) -> dict[str, str]:
    """Return texts by the names of columns; those that are left out are unknown."""
    found = {"scheduler": result.scheduler}
    if result.totals is not None:
        figures, replayed = metrics(machine, result.totals), result.objective.replayed
        found["time"] = si(figures.replay_s if replayed else figures.time_s, "s", fill=True)
        found["traffic"] = si(result.totals.traffic_bytes, "B", fill=True)
        found["energy"] = si(figures.energy_j, "J", fill=True)
    elif result.bound is not None and result.status is not Status.INFEASIBLE:
        least = si(*in_unit(result.objective, machine, result.best_bound or Fraction(0)), fill=True)
        found[_COLUMN_OF_UNIT.get(result.objective.unit, "time")] = f"≥ {least}"
    if result.value is not None and best is not None:
        is_best = result.value == best
        found["vs best"] = "best" if is_best else percent(float(result.value / best - 1), fill=True)
    if result.gap is not None:
        found[_GAP] = found[_OWN_GAP] = percent(result.gap, fill=True)
    if result.fusion_gap is not None:
        found[_GAP] = percent(result.fusion_gap, fill=True)
    if result.class_bound is not None and result.class_gap is not None:
        claimed = "" if result.class_bound.certified else "~"
        found[_CLASS] = f"{claimed}{percent(result.class_gap, fill=True)}"
    status, tolerance = standing(result), result.tolerance or 0.0
    if result.status is Status.OPTIMAL and not is_optimal(result.fusion_gap or 0.0, tolerance):
        # The gap in the row is to the best of all fusion plans.
        status = f"{status} for this fusion"
    return {**found, "status": status, "seconds": seconds(result.solve_s)}
