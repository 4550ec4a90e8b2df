"""Assignment of values, one after the other: residency, prefetches and evictions of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spmopt.core.machine import Machine
from spmopt.core.schedule import Residency, ResidencyPlan, Stores
from spmopt.core.table import Ints
from spmopt.core.timeline import Access, Timeline
from spmopt.policies.gaps import join
from spmopt.policies.msa.costs import by_boundedness, costs
from spmopt.policies.msa.intervals import Intervals
from spmopt.policies.msa.ledger import Ledger

_NEVER = -1


@dataclass(slots=True, kw_only=True)
class _Value:
    """Place of a value while its uses are walked.

    ``since``: first step of its residency interval, or -1. ``written``: last write that DRAM lacks,
    or -1; ``pinned`` if that result was required-resident. ``valid_from``: first step that may load
    the value from DRAM. ``last``: its last access.
    """

    tensor: int
    pages: int
    valid_from: int = 0
    last: int = _NEVER
    since: int = _NEVER
    written: int = _NEVER
    pinned: bool = False

    @property
    def on_chip(self) -> bool:
        return self.since != _NEVER


class Assignment:
    """Places values, each in the room and the DMA time that those before it left."""

    def __init__(
        self, machine: Machine, timeline: Timeline, *, idle_only: bool, load_late: bool
    ) -> None:
        cost = costs(machine, timeline)
        whole_copy = float(machine.spm_pages * machine.page_bytes / machine.bytes_per_cycle)
        self._intervals = Intervals(cost.elapsed, whole_copy)
        self._ledger = Ledger(machine, timeline, cost, idle_only=idle_only)
        self._idle_only, self._load_late = idle_only, load_late
        self._machine, self._line, self._cost = machine, timeline, cost
        self._rows: list[tuple[int, int, int, int]] = []
        self._stores: list[tuple[int, int, int]] = []

    def residency_plan(self) -> ResidencyPlan:
        """Plan that assigns every value its place."""
        for chain in by_boundedness(self._line, self._cost.benefit):
            self._place(chain)
        return ResidencyPlan(
            steps=self._line.chosen,
            residency=join(Residency.of_rows(sorted(self._rows))),
            stores=Stores.of_rows(sorted(self._stores)),
        )

    def _place(self, chain: list[int]) -> None:
        """Decide where a value of these accesses is between its uses."""
        tensor = self._line.tensor[chain[0]]
        value = _Value(tensor=tensor, pages=self._machine.pages(self._line.size_bytes[tensor]))
        # Reserved for required-resident operands at the start; given back here.
        for access in chain:  # the walk takes this room again
            if self._line.required_resident[access]:
                step = self._line.step[access]
                self._ledger.take(step, step + 1, -value.pages)
        for access, following in zip(chain, [*chain[1:], None], strict=True):
            # The next use is too far, or there is no room until then.
            if value.on_chip and not self._remains(value, self._line.step[access]):
                self._leave(value, self._line.step[access], live=True)
            if not value.on_chip:
                self._enter(value, access, following)
            self._use(value, access)
        if value.on_chip:
            self._leave(value, self._line.steps, live=self._line.live_after[chain[-1]])

    def _remains(self, value: _Value, use: int) -> bool:
        """No copy: keep the value from its last access to ``use``, if that is possible."""
        begin = value.last + 1
        if not self._intervals.may_wait(begin, use):
            return False
        if not self._ledger.fits(begin, use + 1, value.pages):
            return False
        self._ledger.take(begin, use + 1, value.pages)
        return True

    def _enter(self, value: _Value, access: int, following: int | None) -> None:
        """Put the value on chip for an access, if that is possible."""
        step, kind = self._line.step[access], self._line.kind[access]
        use = None if following is None else self._line.step[following]
        if kind == Access.WRITE:
            entered = self._begins(value, step, use)
        else:
            entered = self._prefetch(value, access)
            if not entered and self._load_late and self._begins(value, step, use):
                entered = True
                if self._idle_only and not self._line.required_resident[access]:
                    ledger = self._ledger
                    ledger.free_time(ledger.inward, step, -self._cost.copy[value.tensor])
        if not entered and self._line.required_resident[access]:
            self._ledger.take(step, step + 1, value.pages)
            entered = True
        if entered:
            value.since = step

    def _begins(self, value: _Value, step: int, use: int | None) -> bool:
        """Begin a residency interval at an access, if it can last until the next one, ``use``."""
        if use is None or not self._intervals.may_wait(step + 1, use):
            return False
        if not self._ledger.fits(step, use + 1, value.pages):
            return False
        self._ledger.take(step, step + 1, value.pages)
        return True

    def _prefetch(self, value: _Value, access: int) -> bool:
        """Copy the value from DRAM in a window before its use, if there is one."""
        ledger, step, copy = self._ledger, self._line.step[access], self._cost.copy[value.tensor]
        begin = max(value.last + 1, value.valid_from)
        window = self._intervals.prefetch(begin, step, copy, self._cost.saved[access])
        if window is None or not ledger.fits(step, step + 1, value.pages):
            return False
        room = ledger.room_from(window.earliest, step, value.pages)
        latest = ledger.latest_copy(ledger.inward, window.earliest, step, value.pages)
        start = window.within(room, latest)
        if start is None:
            return False
        steps, moved = ledger.copy(ledger.inward, start, step, value.pages)
        ledger.take(start, step + 1, value.pages)
        size, begins = self._bytes(value, moved).tolist(), steps.tolist()
        ends = [*begins[1:], step]
        self._rows += [(value.tensor, *row) for row in zip(begins, ends, size, strict=True)]
        return True

    def _use(self, value: _Value, access: int) -> None:
        """Update the value after an access, and give back DMA time that it does not need."""
        step, ledger = self._line.step[access], self._ledger
        if value.on_chip:
            if self._idle_only and not self._line.required_resident[access]:
                ledger.free_time(ledger.inward, step, self._cost.own_in[access])
                ledger.free_time(ledger.outward, step, self._cost.own_out[access])
            if self._line.kind[access] != Access.READ:
                value.written, value.pinned = step, self._line.required_resident[access]
        elif self._line.kind[access] != Access.READ:
            value.valid_from = step + 1
        value.last = step

    def _leave(self, value: _Value, limit: int, *, live: bool) -> None:
        """End the residency interval; DRAM has the contents before ``limit`` if ``live``."""
        end = value.last + 1
        if live and value.written != _NEVER:
            end = self._evict(value, limit)
            value.valid_from = end
        self._rows.append((value.tensor, value.since, end, self._line.size_bytes[value.tensor]))
        value.since = value.written = _NEVER

    def _evict(self, value: _Value, limit: int) -> int:
        """Copy the value to DRAM after its last use, else after its last write; when it ends."""
        ledger, channel, begin = self._ledger, self._ledger.outward, value.last + 1
        limit = self._intervals.eviction_end(begin, limit, self._cost.copy[value.tensor])
        limit = ledger.room_until(begin, limit, value.pages)
        # Row by row with the write, unless that needs the result in one piece.
        for start in (begin, value.written + value.pinned):
            if ledger.latest_copy(channel, start, limit, value.pages) >= start:
                steps, moved = ledger.copy(channel, start, limit, value.pages)
                end = max(begin, int(steps[-1]) + 1)
                ledger.take(begin, end, value.pages)
                pieces = np.diff(self._bytes(value, moved), prepend=0).tolist()
                stored = zip(steps.tolist(), pieces, strict=True)
                self._stores += [(step, value.tensor, size) for step, size in stored]
                return end
        self._stores.append((value.written, value.tensor, self._line.size_bytes[value.tensor]))
        if not value.pinned:
            ledger.free_time(channel, value.written, -self._cost.copy[value.tensor])
        return begin

    def _bytes(self, value: _Value, pages: Ints) -> Ints:
        """Bytes in the first ``pages``."""
        found: Ints = np.minimum(
            pages * self._machine.page_bytes, self._line.size_bytes[value.tensor]
        )
        return found
