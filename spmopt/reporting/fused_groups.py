"""Fused groups of a schedule in words; as a table with costs, and the reason for each end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import inf, isfinite
from typing import Self

from spmopt.analysis.fused_groups import FusedGroupFigures, FusedGroupSpan
from spmopt.core.fusion.fused_groups import BoundaryCost, FusedGroup
from spmopt.core.machine import Machine
from spmopt.core.result import Result
from spmopt.reporting.fusion_plans import tile_words
from spmopt.reporting.quantities import percent, share, si
from spmopt.reporting.results import Record, fields_by_name
from spmopt.reporting.tables import Grid, Part

_COLUMNS = ("group", "operations", "fusion", "time", "stall", "traffic")
_OTHER_END = "why it ends there"
_OTHER_FUSION = "other fusion tiles"
_NOTHING = 1e-6  # part of the objective below which a change is none
_ESTIMATED = (
    "Percentages: what the schedule would cost more (-: less) with this change alone, by estimate "
    "from bounds of fused groups; neither schedules nor bounds themselves. Where these bounds, or "
    'that over the fusion space, allow less than an estimate, "at best" is what they allow.'
)


@dataclass(frozen=True, slots=True)
class _Scale:
    """The objective of the schedule, and how much less any fusion plan may have by the bound."""

    value: float
    least: float

    @classmethod
    def of(cls, result: Result) -> Self:
        if not result.value:
            return cls(0.0, -inf)
        bound = result.fusion_bound
        least = -inf if bound is None else min(0.0, float(bound / result.value - 1))
        return cls(float(result.value), least)

    def words(self, cost: BoundaryCost) -> str:
        """Return the cost of a change, as a part of the objective of the schedule."""
        if not isfinite(cost.cost):
            return "does not fit"
        part, own = (each / self.value if self.value else 0.0 for each in (cost.cost, cost.least))
        # An estimate may promise more than bounds allow: show their limit.
        least = max(self.least, own)
        shown = max(part, least)
        if abs(shown) < _NOTHING:
            return "no change"
        return f"{'at best ' if part < least else ''}{percent(shown)}"


def fused_groups_parts(
    fused_groups: Sequence[FusedGroupFigures], machine: Machine, result: Result
) -> Iterator[Part]:
    """Yield a table of fused groups, if there are any."""
    if not fused_groups:
        return
    rows, scale = [], _Scale.of(result)
    for number, each in enumerate(fused_groups):
        rows.append(
            (
                str(number),
                _span(each),
                _tiles(each),
                si(each.cycles / machine.clock_hz, "s", fill=True),
                share(each.stall_cycles / max(1, each.cycles)),
                si(each.moved_bytes, "B", fill=True),
                _why(each, number == len(fused_groups) - 1, scale),
                _fusion(each, scale),
            )
        )
    yield ""
    tiled = any(each.fused_group.count > 1 for each in fused_groups)
    how = f"Fused groups: {len(fused_groups)}, each depth first, one fusion tile after another"
    yield f"{how if tiled else 'Layer by layer'} (fusion: fusion tiles x stripes of each)"
    yield Grid(
        columns=(*_COLUMNS, _OTHER_END, _OTHER_FUSION),
        rows=rows,
        left=("operations", _OTHER_END, _OTHER_FUSION),
        dispensable=(_OTHER_FUSION, "traffic", "stall", "group"),
    )
    yield _ESTIMATED


def fused_groups_record(fused_groups: Sequence[FusedGroupFigures]) -> list[Record]:
    """Return the same for programs; costs are in units of the objective, null: does not fit."""
    return [
        {
            **asdict(each.fused_group),
            "along": each.axes[each.fused_group.axis],
            **fields_by_name(each, "first", "last", "begin_step", "end_step"),
            **fields_by_name(each, "cycles", "stall_cycles", "moved_bytes"),
            "obstacles": [{**asdict(one), "why": why} for one, why in each.obstacles],
            "estimates": [
                {
                    "change": cost.change,
                    "fusion_plan": [asdict(part) for part in cost.fusion_plan],
                    "cost": cost.cost if isfinite(cost.cost) else None,
                }
                for cost in each.costs
            ],
        }
        for each in fused_groups
    ]


def operations_words(span: FusedGroupSpan) -> str:
    """Return the first operation of a group to the last."""
    return span.first if span.first == span.last else f"{span.first} to {span.last}"


def group_labels(span: FusedGroupSpan) -> tuple[str, str, str]:
    """Return labels of a group, the longest first: tiles with operations, tiles, numbers."""
    group, operations = span.fused_group, operations_words(span)
    tiles = tile_words(group, span.axes)
    return operations if group.count == 1 else f"{tiles}: {operations}", tiles, _number(group)


def block_name(span: FusedGroupSpan, block: int) -> str:
    """Return the name of a block: its micro-batch and stripe."""
    group = span.fused_group
    tile, stripe = divmod(block, group.stripes)
    along = span.axes[group.axis]
    noun = "micro-batch" if along == "the batch" else f"tile along {along}"
    levels = ((noun, tile, group.micro_batches), ("stripe", stripe, group.stripes))
    return ", ".join(f"{noun} {at + 1} of {count}" for noun, at, count in levels if count > 1)


def _number(group: FusedGroup) -> str:
    """Return how many fusion tiles there are, and of each how many stripes."""
    batches = str(group.micro_batches)
    return f"{batches} x {group.stripes}" if group.stripes > 1 else batches


def _tiles(each: FusedGroupFigures) -> str:
    """Return the numbers of tiles, and the axis that they are along if it is not the first."""
    axis = each.fused_group.axis
    return _number(each.fused_group) + (f" {each.axes[axis]}" if axis else "")


def _span(each: FusedGroupFigures) -> str:
    count = each.fused_group.end - each.fused_group.begin
    return operations_words(each) + (f" ({count})" if count > 1 else "")


def _why(each: FusedGroupFigures, is_last: bool, scale: _Scale) -> str:
    """Say why a fused group does not go on: an obstacle, or the cost of going on."""
    if is_last:
        return "the list ends"
    parts = [f"{tile_words(one, each.axes)}: {why}" for one, why in each.obstacles]
    merged = each.least("merged")
    if merged is not None:
        first = merged.fusion_plan[0]
        tiles = tile_words(first, each.axes)
        parts.append(f"merge with the next group, {tiles}: {scale.words(merged)}")
    moved = each.least("earlier", "later")
    if moved is not None:
        change = "extend" if moved.change == "later" else "shorten"
        parts.append(f"{change} by one operation: {scale.words(moved)}")
    return "; ".join(parts) or "not estimated in time"


def _fusion(each: FusedGroupFigures, scale: _Scale) -> str:
    """Return the costs of fewer and of more fusion tiles."""
    known = [cost for cost in each.costs if cost.change == "fusion"]
    return ", ".join(f"{_number(cost.fusion_plan[0])}: {scale.words(cost)}" for cost in known)
