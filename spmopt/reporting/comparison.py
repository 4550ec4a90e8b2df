"""A comparison of results: a table, and what it says of the optimum."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from spmopt.core.instance import Instance
from spmopt.core.machine import Machine
from spmopt.core.modes import unfit
from spmopt.core.objective import excess_phrase
from spmopt.core.result import UNFINISHED, Result, Status
from spmopt.metrics import in_unit, metrics
from spmopt.reporting.covers import (
    BEST,
    GIVEN,
    LISTED,
    OVER_COVERS,
    cover_words,
    family_words,
    over_covers,
    place,
    places,
)
from spmopt.reporting.headings import heading, order_notes, remarks, spoken, standing
from spmopt.reporting.quantities import percent, seconds, si
from spmopt.reporting.results import conflict_rows
from spmopt.reporting.tables import Grid, Part
from spmopt.schedulers.registry import Kind, kind_of

COLUMNS = (
    "scheduler",
    "time",
    "traffic",
    "energy",
    "vs best",
    "gap to bound",
    "class gap",
    "status",
    "seconds",
)
"""The class gap is there where a schedule has a bound of its class; "~" marks a solver's own."""
_NONE, _CLASS, _GAP = "-", "class gap", "gap to bound"
_OWN_GAP, _COVER_GAP = "gap, own list", "gap, all covers"
"""In place of the gap to the bound, where schedules of covers are compared."""
STATUS_STYLES = {"optimal": "green", "infeasible": "red", "failed": "red"}
_LISTED, _GIVEN = " in the listed order", " of the list as given"
_COLUMN_OF_UNIT = {"cycles": "time", "bytes": "traffic", "joules": "energy"}


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A heading, one row of texts a result, and remarks below.

    ``columns`` are those of :data:`COLUMNS` that say something, with the time that was minimized:
    of the replay if that was.
    ``dispensable`` names columns in the order in which a narrow terminal does without them.
    """

    heading: str
    rows: tuple[tuple[str, ...], ...]
    remarks: tuple[str, ...]
    dispensable: tuple[str, ...] = ()
    columns: tuple[str, ...] = COLUMNS

    def parts(self) -> Iterator[Part]:
        """Yield what is printed, from top to bottom."""
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
    instance: Instance, results: Sequence[Result], not_run: Sequence[str] = ()
) -> Comparison:
    """Return the comparison of ``results``, all of one instance and objective.

    ``not_run`` names schedulers that were asked for, but that an interrupt left out.
    """
    best = min((result.value for result in results if result.value is not None), default=None)
    where = places(results)
    rows = list(_placed([_row(instance.machine, result, best) for result in results], where))
    rows += [{"scheduler": name, "status": "not run"} for name in not_run]
    infeasible = any(result.status is Status.INFEASIBLE for result in results)
    minimized = spoken(results[0].objective)
    time = "replay" if results[0].objective.replayed else "time"
    others = tuple(name for name in ("energy", "traffic", time) if name != minimized)
    shown = [name for name in COLUMNS if name != _CLASS or any(_CLASS in row for row in rows)]
    if where:
        at = shown.index(_GAP)
        shown[at : at + 1] = [_OWN_GAP, _COVER_GAP]
    return Comparison(
        heading=heading(instance, results[0]),
        columns=tuple(time if name == "time" else name for name in shown),
        rows=tuple(tuple(row.get(name, row.get("", _NONE)) for name in shown) for row in rows),
        dispensable=(_CLASS, "seconds", *others, "vs best", "status"),
        remarks=(
            *_notes(results),
            *(conflict_rows(unfit(instance)) if infeasible else ()),
            *order_notes(instance, results),
            *verdict(instance.machine, results),
            *cover_verdict(instance.machine, results),
        ),
    )


def _placed(rows: Sequence[dict[str, str]], where: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield rows below what they are of; a heading has the text of all other columns in ``""``."""
    above = ""
    for row, of in zip(rows, where or [""] * len(rows), strict=True):
        if of != above:
            yield {"scheduler": of, "": ""}
        above = of
        yield {**row, "scheduler": f"  {row['scheduler']}"} if of else row


def _notes(results: Sequence[Result]) -> list[str]:
    """Return remarks of optimizers, why there is no schedule, and which bounds are unfinished."""
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


def verdict(machine: Machine, results: Sequence[Result], subject: str = "belady") -> list[str]:
    """Return a line on the optimum, one on ``subject``, one on the best policy if it is another.

    Schedules in another order than the instance's have another optimum and are left out; where
    there are any, the lines say that they are about the listed order.
    """
    known = [
        result
        for result in results
        if result.value is not None and result.bound is not None and result.order is None
        if result.pieces is None
    ]
    if not known:
        return []
    best = min(known, key=lambda result: result.value or Fraction(0))
    where = _LISTED if any(result.order is not None for result in results) else ""
    where, of = (_GIVEN, _GIVEN) if places(results) else (where, "")
    lines = [_optimum(machine, best, where)]
    tested = next((result for result in known if result.scheduler == subject), None)
    if tested is not None:
        lines.append(_cost(tested, best, tested.scheduler.capitalize(), of))
    policies = [result for result in known if kind_of(result.scheduler) is Kind.POLICY]
    if len(policies) > 1:
        nearest = min(policies, key=lambda result: result.value or Fraction(0))
        if tested is None or nearest.value != tested.value:
            rule = f"The best greedy rule{'' if of else where}, {nearest.scheduler},"
            lines.append(_cost(nearest, best, rule, of))
    return lines


def cover_verdict(
    machine: Machine, results: Sequence[Result], subject: str = "belady"
) -> list[str]:
    """Return lines on the best cover, and on what the others cost against all covers."""
    known = [
        over_covers(result)
        for result in results
        if result.value is not None and result.cover_bound is not None and result.order is None
    ]
    pieces = next((each.pieces for each in known if place(each) == BEST), None)
    if pieces is None:
        return []
    best = min(known, key=lambda result: result.value or Fraction(0))
    lines = [
        family_words(pieces),
        _optimum(machine, best, OVER_COVERS),
        f"The {BEST} has {cover_words(pieces)}.",
    ]
    for where in (LISTED, GIVEN, BEST):
        of_it = [each for each in known if place(each) == where]
        nearest = min(of_it, key=lambda result: result.value or Fraction(0), default=None)
        if nearest is not None and where != BEST:
            what = f"The {where} ({nearest.scheduler})"
            lines.append(_cost(nearest, best, what, OVER_COVERS))
        tested = next((each for each in of_it if each.scheduler == subject), None)
        if tested is not None:
            lines.append(_cost(tested, best, f"{subject.capitalize()} on the {where}", OVER_COVERS))
    return lines


def _optimum(machine: Machine, best: Result, where: str) -> str:
    value, bound = best.value or Fraction(0), best.best_bound or Fraction(0)
    shown = si(*in_unit(best.objective, machine, value))
    if value == bound:
        return f"The optimum{where} is {shown} ({best.scheduler}), proven."
    if best.enumerated:
        return f"The optimum{where} is {shown} ({best.scheduler}), by enumeration."
    apart = "" if best.gap is None else percent(best.gap).removeprefix("+")
    if best.status is Status.OPTIMAL and apart:
        return f"The optimum{where} is {shown} ({best.scheduler}), proven to within {apart}."
    least = si(*in_unit(best.objective, machine, bound))
    span = f"The optimum{where} lies between {least} (bound) and {shown} ({best.scheduler})"
    return f"{span}, {apart} apart." if apart else f"{span}."


def _cost(tested: Result, best: Result, name: str, where: str = "") -> str:
    value = tested.value or Fraction(0)
    bound = (best.value if best.enumerated else tested.best_bound) or Fraction(0)
    if tested.status is Status.OPTIMAL:
        return f"{name} is optimal{where or ' here'}."
    least = float(value / best.value - 1) if best.value else 0.0
    most = float(value / bound - 1) if bound > 0 else None
    low = percent(least).removeprefix("+")
    high = None if most is None else percent(most).removeprefix("+")
    if high is not None and value == best.value:
        span = f"at most {high}"
    elif high is None:
        span = f"at least {low}"
    else:
        span = low if low == high else f"{low.removesuffix(' %')} to {high}"
    cost = excess_phrase(tested.objective)
    return f"{name} {cost.format(span)} the optimum{where}."


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
    if result.cover_gap is not None:
        found[_COVER_GAP] = percent(result.cover_gap, fill=True)
    if result.class_bound is not None and result.class_gap is not None:
        claimed = "" if result.class_bound.certified else "~"
        found[_CLASS] = f"{claimed}{percent(result.class_gap, fill=True)}"
    return {**found, "status": standing(result), "seconds": seconds(result.solve_s)}
