"""Segments of a schedule in pieces as a table: what each takes, and why it ends where it does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Self

from spmopt.analysis.segments import SegmentFigures
from spmopt.core.machine import Machine
from spmopt.core.pieces.segments import BorderCost, Segment
from spmopt.core.result import Result
from spmopt.reporting.covers import tile_words
from spmopt.reporting.quantities import percent, share, si
from spmopt.reporting.tables import Grid, Part

Record = dict[str, object]
_COLUMNS = ("segment", "operations", "pieces", "time", "stall", "traffic")
_OTHER_END = "why it ends there"
_OTHER_PIECES = "other pieces"
_NOTHING = 1e-6
"""Part of the objective below which a change is none."""
_ESTIMATED = (
    "Percentages: what the schedule would cost more (-: less) with this change alone, by estimate "
    "from bounds of segments; neither schedules nor bounds themselves. An estimate below the bound "
    "over all covers is shown as what that bound leaves."
)


@dataclass(frozen=True, slots=True)
class _Scale:
    """The objective of the schedule, and how much less any cover may have by the bound."""

    value: float
    least: float

    @classmethod
    def of(cls, result: Result) -> Self:
        if not result.value:
            return cls(0.0, -inf)
        bound = result.cover_bound
        least = -inf if bound is None else min(0.0, float(bound / result.value - 1))
        return cls(float(result.value), least)

    def words(self, cost: BorderCost) -> str:
        """Return what a change costs, as a part of the objective of the schedule."""
        if not isfinite(cost.cost):
            return "does not fit"
        part = cost.cost / self.value if self.value else 0.0
        shown = max(part, self.least)
        if abs(shown) < _NOTHING:
            return "no change"
        return f"{'at best ' if part < self.least else ''}{percent(shown)}"


def segments_parts(
    segments: Sequence[SegmentFigures], machine: Machine, result: Result
) -> Iterator[Part]:
    """Yield a table of segments, if there are any."""
    if not segments:
        return
    rows, scale = [], _Scale.of(result)
    for number, each in enumerate(segments):
        rows.append(
            (
                str(number),
                _span(each),
                _number(each.segment),
                si(each.cycles / machine.clock_hz, "s", fill=True),
                share(each.stall_cycles / max(1, each.cycles)),
                si(each.moved_bytes, "B", fill=True),
                _why(each, number == len(segments) - 1, scale),
                _pieces(each, scale),
            )
        )
    yield ""
    yield f"Segments: {len(segments)}, each computed depth first, one piece after another"
    yield Grid(
        columns=(*_COLUMNS, _OTHER_END, _OTHER_PIECES),
        rows=rows,
        left=("operations", _OTHER_END, _OTHER_PIECES),
        dispensable=(_OTHER_PIECES, "traffic", "stall", "segment"),
    )
    yield _ESTIMATED


def segments_record(segments: Sequence[SegmentFigures]) -> list[Record]:
    """Return the same for programs; costs are in units of the objective, null: does not fit."""
    return [
        {
            "begin": each.segment.begin,
            "end": each.segment.end,
            "pieces": each.segment.pieces,
            "bands": each.segment.bands,
            "first": each.first,
            "last": each.last,
            "steps": [each.begin_step, each.end_step],
            "cycles": each.cycles,
            "stall_cycles": each.stall_cycles,
            "traffic_bytes": each.moved_bytes,
            "obstacles": [
                {"pieces": one.pieces, "bands": one.bands, "why": why}
                for one, why in each.obstacles
            ],
            "estimates": [
                {
                    "change": cost.change,
                    "pieces": [part.pieces for part in cost.cover],
                    "bands": [part.bands for part in cost.cover],
                    "ends": [part.end for part in cost.cover],
                    "cost": cost.cost if isfinite(cost.cost) else None,
                }
                for cost in each.costs
            ],
        }
        for each in segments
    ]


def _number(segment: Segment) -> str:
    """Return how many pieces there are, and of each how many bands."""
    return f"{segment.pieces} x {segment.bands}" if segment.bands > 1 else str(segment.pieces)


def _span(each: SegmentFigures) -> str:
    count = each.segment.end - each.segment.begin
    if count == 1:
        return each.first
    return f"{each.first} to {each.last} ({count})"


def _why(each: SegmentFigures, is_last: bool, scale: _Scale) -> str:
    """Say what keeps a segment from going on: an obstacle, or what it would cost."""
    if is_last:
        return "the list ends"
    parts = [f"{tile_words(one.pieces, one.bands)}: {why}" for one, why in each.obstacles]
    merged = each.least("merged")
    if merged is not None:
        first = merged.cover[0]
        tiles = tile_words(first.pieces, first.bands)
        parts.append(f"merge with the next group, {tiles}: {scale.words(merged)}")
    moved = each.least("earlier", "later")
    if moved is not None:
        change = "extend" if moved.change == "later" else "shorten"
        parts.append(f"{change} by one operation: {scale.words(moved)}")
    return "; ".join(parts) or "not estimated in time"


def _pieces(each: SegmentFigures, scale: _Scale) -> str:
    """Say what fewer and more pieces would cost."""
    known = [cost for cost in each.costs if cost.change == "pieces"]
    return ", ".join(f"{_number(cost.cover[0])}: {scale.words(cost)}" for cost in known)
