"""Rectangles of address and time: all of a schedule, or what it keeps and another does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from spmopt.analysis.steps import Reals
from spmopt.core.table import Ints
from spmopt.reporting.contrast import kept_more
from spmopt.reporting.occupancy import KINDS, SCRATCH, kind_numbers
from spmopt.reporting.schedule_view import ScheduleView
from spmopt.reporting.schedule_view.residencies import Residencies


@dataclass(frozen=True, kw_only=True, eq=False)
class Boxes:
    """Bytes [low, high) of the scratchpad hold ``tensor`` (-1: scratch) in seconds [left, right).

    ``kind`` numbers :data:`~spmopt.reporting.occupancy.KINDS`; (r,) each.
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
        return cls._made(picture, kept_more(picture, other))

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
