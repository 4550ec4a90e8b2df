"""Rectangles of address and time: all of a schedule, or what it keeps and another does not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from spmopt.analysis.steps import Reals
from spmopt.core.table import Ints
from spmopt.report.contrast import gaps, require_comparable
from spmopt.report.occupancy import KINDS, SCRATCH, kind_numbers
from spmopt.report.schedule_view import ScheduleView
from spmopt.report.schedule_view.residencies import Residencies
from spmopt.report.schedule_view.times import expand


@dataclass(frozen=True, kw_only=True, eq=False)
class Boxes:
    """Bytes [low, high) of the scratchpad hold ``tensor`` (-1: scratch) in seconds [left, right).

    ``kind`` numbers :data:`~spmopt.report.occupancy.KINDS`; (r,) each.
    """

    tensor: Ints
    kind: Ints
    left: Reals
    right: Reals
    low: Ints
    high: Ints

    @classmethod
    def of(cls, picture: ScheduleView) -> Self:
        """Every residency of a schedule."""
        table = picture.residencies
        return cls._made(picture, table)

    @classmethod
    def kept_more(cls, picture: ScheduleView, other: ScheduleView) -> Self:
        """What ``picture`` keeps between two uses and ``other`` does not.

        Raises
        ------
        InputError
            They are not of one instance, or not in the same times.
        """
        require_comparable(other, picture)
        found, table = gaps(other, picture), picture.residencies
        found = found.take(found.bytes_saved > 0)
        at = np.argsort(picture.view.timeline.operation)[other.view.timeline.operation]
        begin, end = at[found.from_step], at[found.to_step]
        order = np.argsort(table.tensor, kind="stable")
        held = table.tensor[order]
        gap, place = expand(
            np.searchsorted(held, found.tensor), np.searchsorted(held, found.tensor, "right")
        )
        rows = table.take(order[place])
        page = picture.view.page_bytes
        first = np.maximum(rows.tensor_page, found.kept_a[gap] // page)
        last = np.minimum(rows.tensor_page + rows.pages, -(-found.kept_b[gap] // page))
        edge = np.append(picture.times.start, picture.times.cycles)
        start = np.maximum(rows.start, edge[begin[gap]])
        stop = np.minimum(rows.stop, edge[end[gap] + 1])
        meets = (rows.begin <= end[gap]) & (rows.end > begin[gap]) & (first < last) & (start < stop)
        cut = replace(
            rows,
            page=rows.page + first - rows.tensor_page,
            pages=last - first,
            start=start,
            stop=stop,
        )
        return cls._made(picture, cut.take(meets))

    @classmethod
    def _made(cls, picture: ScheduleView, table: Residencies) -> Self:
        kinds = np.append(kind_numbers(picture.instance), KINDS.index(SCRATCH))
        clock, page_bytes = picture.instance.machine.clock_hz, picture.view.page_bytes
        return cls(
            tensor=table.tensor,
            kind=kinds[table.tensor],
            left=table.start / clock,
            right=table.stop / clock,
            low=table.page * page_bytes,
            high=(table.page + table.pages) * page_bytes,
        )
