"""State of running schedulers: the best so far and the bound, row by row, as plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from operator import gt, lt
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from spmopt.reporting.quantities import percent, seconds

if TYPE_CHECKING:  # it would load numpy
    from spmopt.core.scheduler import Incumbent

CLAIMED = "~ as the search claims it: verified, and evaluated exactly, at the end"
OF_CLASS = "* of the scheduler's own class of schedules only"
OF_FUSION_PLANS = "^ whatever is fused; bounds without it are layer by layer"
_NONE = ""
Number = Fraction | float
Show = Callable[[Number], str]
"""A value of the objective as people read it."""


@dataclass(slots=True, kw_only=True)
class _Row:
    """One scheduler that was asked for."""

    began_s: float
    ended_s: float | None = None
    value: Number | None = None
    verified: bool = False
    other_order: bool = False
    other_class: bool = False
    class_bound: Number | None = None
    of_fusion_plans: bool = False
    fusion_bound: Number | None = None


@dataclass(slots=True)
class Live:
    """How the searches of one comparison stand; news come from any thread.

    ``show`` formats values; the bound is one for all that run the operations as listed. Who
    chooses a fusion plan has a bound of its own.
    """

    show: Show = str
    clock: Callable[[], float] = monotonic
    columns: tuple[str, ...] = ("scheduler", "incumbent", "bound", "gap", "seconds")
    dispensable: tuple[str, ...] = ("seconds", "bound")
    _rows: dict[str, _Row] = field(default_factory=dict)
    _bound: Number | None = None
    _certified: bool = False
    _lock: Lock = field(default_factory=Lock)

    def add(self, news: Incumbent) -> None:
        """Take news in: better values, and certain values in place of claims."""
        with self._lock:
            row = self._row(news.scheduler)
            value, bound = news.value, news.bound
            row.of_fusion_plans |= news.of_fusion_plans
            if value is not None and _counts((value, news.verified), (row.value, row.verified), lt):
                row.value, row.verified = value, news.verified
                row.other_order, row.other_class = news.other_order, news.other_class
            if bound is not None and news.of_class:
                # Several solvers report in any order: keep the best.
                row.class_bound = max(bound, row.class_bound or bound)
            elif bound is not None and news.of_fusion_plans:
                row.fusion_bound = max(bound, row.fusion_bound or bound)
            elif bound is not None and _counts(
                (bound, news.certified), (self._bound, self._certified), gt
            ):
                self._bound, self._certified = bound, news.certified

    def _row(self, scheduler: str) -> _Row:
        if scheduler not in self._rows:
            now = self.clock()
            for row in self._rows.values():
                # Schedulers run one after the other: a new row ends the one before.
                row.ended_s = row.ended_s or now
            self._rows[scheduler] = _Row(began_s=now)
        return self._rows[scheduler]

    def rows(self) -> list[tuple[str, ...]]:
        """Return texts of ``columns``, a row for each scheduler begun."""
        with self._lock:
            return [(name, *self._cells(row)) for name, row in self._rows.items()]

    def notes(self) -> list[str]:
        """Return the meanings of the marks in the rows."""
        text = "".join("".join(row[1:]) for row in self.rows())
        return [note for note in (CLAIMED, OF_CLASS, OF_FUSION_PLANS) if note[0] in text]

    @property
    def has_schedule(self) -> bool:
        """Whether any schedule was found."""
        with self._lock:
            return any(row.value is not None for row in self._rows.values())

    def _cells(self, row: _Row) -> tuple[str, ...]:
        spent = seconds((row.ended_s or self.clock()) - row.began_s)
        value = _NONE
        if row.value is not None:
            value = _mark(self.show(row.value), claimed=not row.verified)
        bound, mark, certified = self._bound_of(row)
        if bound is None:
            return (value, _NONE, _NONE, spent)
        claimed = not certified
        gap = _NONE
        if row.value is not None and bound > 0:
            # A claimed bound may exceed the value by rounding; a negative gap would alarm.
            over = max(0.0, float(row.value) / float(bound) - 1)
            gap = _mark(percent(over, fill=True), claimed=claimed or not row.verified)
        return (value, _mark(self.show(bound), claimed=claimed) + mark, gap, spent)

    def _bound_of(self, row: _Row) -> tuple[Number | None, str, bool]:
        """Return the bound that a row is held against, its mark, and whether it is certain."""
        if row.of_fusion_plans:
            return row.fusion_bound, OF_FUSION_PLANS[0], False
        if self._is_of_class(row):
            return row.class_bound, OF_CLASS[0], False
        return None if row.other_order else self._bound, "", self._certified

    def _is_of_class(self, row: _Row) -> bool:
        """The bound of a class is shown where it says more, until the other one is certain."""
        known = row.class_bound
        if known is None or self._certified or row.other_class:
            return False
        return self._bound is None or known > self._bound


def _counts(
    new: tuple[Number, bool], old: tuple[Number | None, bool], better: Callable[..., bool]
) -> bool:
    """Return whether news replace the known value: better, or certain in place of a claim."""
    value, certain = new
    known, was_certain = old
    return known is None or better(value, known) or (certain and not was_certain)


def _mark(text: str, *, claimed: bool) -> str:
    return f"~{text}" if claimed else text
