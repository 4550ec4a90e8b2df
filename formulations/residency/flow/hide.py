"""Transfers behind computing: loads ahead of their step, stores after theirs."""

from __future__ import annotations

import numpy as np

from formulations.residency.flow.savings import (
    SavingIntervals,
    ShiftedTransfers,
    keep_residency_plan,
    store,
)
from formulations.reuse_intervals import pages_in_steps
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.table import Ints
from spmopt.core.timeline import Access

_AHEAD = 8  # steps


class Hiding:
    """Moves transfers of required-resident operands into steps that have room and time for them.

    Such a transfer waits for the operation, or the operation for it (R6); in another step it
    does not. A step ``i`` hides ``need[i]`` bytes behind its computing; each takes up room there.
    """

    def __init__(
        self,
        intervals: SavingIntervals,
        kept_bytes: Ints,
        *,
        capacity: Ints,
        need: Ints,
        page: int,
    ) -> None:
        self._line = line = intervals.reuse.line
        self._page, self._need = page, need.tolist()
        kept = np.zeros(line.step.size, np.int64)
        kept[intervals.access] = kept_bytes
        # Bytes that remain from the step before need no load.
        beside = (line.previous >= 0) & (line.step == line.step[line.previous] + 1)
        size = line.size_bytes[line.tensor]
        waits = np.where(beside | (line.kind == Access.WRITE), 0, size - kept)
        held = pages_in_steps(line.steps, intervals.begin, intervals.end, -(-kept_bytes // page))
        self._free = (capacity - held).tolist()
        self._waits, self._stores = waits.tolist(), store(intervals, kept_bytes).tolist()
        self._begin = intervals.reuse.begin.tolist()
        # Bytes of a version may leave in a later interval; they are stored at once then.
        self._leaves = self._leaving_bytes(kept, size).tolist()
        self._first, self._previous = line.first.tolist(), line.previous.tolist()
        self._early: list[tuple[int, int, int]] = []
        self._late: list[tuple[int, int, int]] = []
        self._intervals, self._kept_bytes = intervals, kept_bytes

    def _leaving_bytes(self, kept: Ints, size: Ints) -> Ints:
        """Count bytes (a,) that leave in the interval after each access, if it has other steps."""
        line = self._line
        after = np.where(line.next >= 0, line.step[line.next], line.steps)
        stay = np.where((line.next >= 0) & line.live_after, kept[line.next], 0)
        return np.where(after > line.step + 1, size - stay, 0)

    def residency_plan(self) -> ResidencyPlan:
        """Return the residency plan after all moves."""
        for step in range(self._line.steps):
            need = self._need[step]
            if step and need:
                need = self._store_late(step, need)
            for ahead in range(step + 1, min(step + 1 + _AHEAD, self._line.steps)):
                if need <= 0 or self._free[step] <= 0:
                    break
                need = self._load_early(step, ahead, need)
        early, late = map(ShiftedTransfers.of_rows, (self._early, self._late))
        return keep_residency_plan(self._intervals, self._kept_bytes, early, late)

    def _store_late(self, step: int, need: int) -> int:
        """Move stores of the step before; bytes left to hide."""
        for access in range(self._first[step - 1], self._first[step]):
            size = self._stores[access]
            if not size or size != self._leaves[access]:
                continue
            moved = self._pages(min(size, need), size, self._free[step])
            if moved:
                self._free[step] -= -(-moved // self._page)
                self._late.append((access, step, moved))
                need -= moved
                following = int(self._line.next[access])
                if following >= 0:  # loads of the same bytes come after
                    self._begin[following] = step + 1
        return need

    def _load_early(self, step: int, ahead: int, need: int) -> int:
        """Move loads of the step ``ahead``; bytes left to hide."""
        for access in range(self._first[ahead], self._first[ahead + 1]):
            size = self._waits[access]
            if not size or self._begin[access] > step or need <= 0:
                continue
            # The bytes take room from their step until their use.
            free = min(self._free[step:ahead])
            moved = self._pages(min(size, need), size, free)
            if moved:
                pages = -(-moved // self._page)
                for between in range(step, ahead):
                    self._free[between] -= pages
                self._waits[access] -= moved
                self._early.append((access, step, moved))
                need -= moved
        return need

    def _pages(self, wanted: int, size: int, free: int) -> int:
        """Return the bytes in whole pages, or all: at least ``wanted`` if there is capacity."""
        pages = min(-(-wanted // self._page), free)
        return max(min(pages * self._page, size), 0)
