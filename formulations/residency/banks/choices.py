"""Choices of one tensor in a step, page by page: banks of its pages, loads and stores.

For tensors of few pages. A *layout* is the bank of each resident page; a *state* is a layout and
the bytes, from the first on, that DRAM lacks.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from formulations.residency.banks.duals import BankMultipliers
from formulations.residency.banks.facts import BankCoefficients
from formulations.solver.program import Floats
from spmopt.assemble.cost import transfer_cycles
from spmopt.core.machine import Machine
from spmopt.core.shares import STREAM_BANK
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access

_LAYOUTS = 64
_CHOICES = 400_000
"""Layouts of a tensor, and choices of it in a step, that are tried at most, about."""
_GRAINS = (4, 3, 2, 1)
"""A page is cut into so many parts, where it can be and time has a dual value: units of stores."""


class Layouts:
    """Ways in which the pages of a tensor may lie in banks.

    Attributes
    ----------
    banks
        Of each layout, those of its pages.
    resident : (l,)
        Bytes.
    count, held : (l, b)
        Pages and bytes in each bank.
    below : (l, y, b)
        Bytes in each bank of those up to a level.
    levels : (y,)
        Bytes at which stores may begin and end.
    moved_out, moved_in : (l, l, b)
        Bytes of pages of both layouts that leave and enter a bank from one to the other.
    """

    def __init__(self, size: int, machine: Machine, *, by_page: bool) -> None:
        page, banks = machine.page_bytes, len(machine.banks)
        pages = -(-size // page)
        self.banks = _layouts(pages, banks)
        grains = [1] if by_page else [each for each in _GRAINS if page % each == 0]
        is_small = [
            each for each in grains if (len(self.banks) * pages * each) ** 2 <= 2 * _CHOICES
        ]
        self.part = part = page // (is_small or [1])[0]
        self.levels = np.minimum(np.arange(-(-size // part) + 1) * part, size)
        table = np.full((len(self.banks), pages), -1)
        for number, chosen in enumerate(self.banks):
            table[number, : len(chosen)] = chosen
        own = np.minimum(page, size - np.arange(pages) * page)
        here = table[:, :, None] == np.arange(banks)
        self.count: Ints = here.sum(axis=1)
        self.held: Ints = (here * own[:, None]).sum(axis=1)
        self.resident: Ints = self.held.sum(axis=1)
        covered = np.clip(self.levels[:, None] - np.arange(pages) * page, 0, own)
        self.below: Ints = np.einsum("lpb,yp->lyb", here.astype(np.int64), covered)
        # Only pages resident in both layouts move between banks.
        differ = (table[:, None] != table[None]) & (table[:, None] >= 0) & (table[None] >= 0)
        self.moved_out: Ints = np.einsum("klp,kpb->klb", differ * own, here.astype(np.int64))
        self.moved_in: Ints = np.einsum("klp,lpb->klb", differ * own, here.astype(np.int64))

    def level(self, size_bytes: Ints) -> Ints:
        """Return the number of a level."""
        level: Ints = -(-size_bytes // self.part)
        return level


def _layouts(pages: int, banks: int) -> list[tuple[int, ...]]:
    """List all layouts, or where they are many those of two runs of pages, or of two halves."""
    if sum(banks**resident for resident in range(pages + 1)) <= _LAYOUTS:
        return [
            chosen
            for resident in range(pages + 1)
            for chosen in product(range(banks), repeat=resident)
        ]
    runs = _runs(pages, banks, halves=False)
    return runs if len(runs) <= _LAYOUTS else _runs(pages, banks, halves=True)


def _runs(pages: int, banks: int, *, halves: bool) -> list[tuple[int, ...]]:
    """List layouts of one or two runs; ``halves``: of the same length, but for a page."""
    found: dict[tuple[int, ...], None] = {(): None}
    for resident in range(1, pages + 1):
        cuts = [resident, -(-resident // 2)] if halves else range(1, resident + 1)
        for one, other, cut in product(range(banks), range(banks), cuts):
            found.setdefault((one,) * cut + (other,) * (resident - cut))
    return list(found)


@dataclass(frozen=True, kw_only=True, eq=False)
class Choices:
    """Of one tensor in one step and mapping, from each of some states; sorted by these.

    Attributes
    ----------
    old : (c,)
        Place among the old states.
    new, layout, store : (c,)
        State after the step; layout in it; bytes stored.
    pages, busy : (c, b)
        Pages in use, and cycles of each bank's port.
    cost, inward, outward, before, after : (c,)
        Objective units without time; cycles of the DMA, all and those that the operation waits for.
    dual value : (c,) Its share of a step's cost at given dual values: no more than its part.
    """

    old: Ints
    new: Ints
    layout: Ints
    store: Ints
    pages: Ints
    busy: Floats
    cost: Floats
    inward: Ints
    outward: Ints
    before: Ints
    after: Ints
    dual: Floats

    def take(self, which: Ints) -> Choices:
        """Return some of them."""
        return Choices(**{name: column[which] for name, column in vars(self).items()})


class TensorChoices:
    """All choices of one tensor, step by step.

    ``facts``: of the first mappings of all operations, the second ones, ..
    """

    def __init__(
        self, machine: Machine, facts: list[BankCoefficients], duals: BankMultipliers, tensor: int
    ) -> None:
        line = facts[0].line
        self._machine, self._facts, self._duals, self._tensor = machine, facts, duals, tensor
        self._size = int(line.size_bytes[tensor])
        self.layouts = Layouts(self._size, machine, by_page=facts[0].byte_time == 0)
        self._accesses = {int(line.step[a]): int(a) for a in np.flatnonzero(line.tensor == tensor)}
        live = bool(line.live_before[tensor])
        self._live = [live]
        for step in range(line.steps):
            if step in self._accesses:
                live = bool(line.live_after[self._accesses[step]])
            self._live.append(live)
        self._keep = bool(line.keep[tensor])

    @property
    def start(self) -> int:
        """The state before the first step."""
        lacks = self._live[0] and not self._facts[0].line.in_dram[self._tensor]
        return self.layouts.levels.size - 1 if lacks else 0

    def of(self, step: int, mapping: int, old: Ints) -> Choices:
        """Return the choices in a step from the states ``old``."""
        here = _Here(self._facts[mapping], step, self._accesses.get(step, -1))
        way = self._ways(here, *np.divmod(old, self.layouts.levels.size))
        # Of contents of no further use their place matters if the next step overwrites them.
        matters = self._live[step + 1] or step + 1 in self._accesses
        new = way.now * self.layouts.levels.size + way.left
        return self._dual_columns(here, way, new if matters else np.zeros_like(new))

    def _ways(self, here: _Here, before: Ints, missing: Ints) -> _Ways:
        """Return all layouts that may follow, and all stores that may go with each."""
        layouts = self.layouts
        rows, now = np.nonzero(self._legal(here, before, missing))
        unsaved = layouts.level(layouts.resident[now]) if here.writes else missing[rows]
        live = self._live[here.step + 1]
        can = np.full(rows.size, live)
        if not here.writes:  # stored bytes are resident (R5)
            can &= layouts.resident[now] >= layouts.levels[unsaved]
        # From one level to any below it: so many stores are possible, none included.
        often = np.where(can, unsaved + 1, 1)
        again = np.repeat(np.arange(rows.size), often)
        place = np.arange(again.size) - np.repeat(np.cumsum(often) - often, often)
        unsaved = unsaved[again] if live else np.zeros_like(again)
        left = np.where(can[again], place, unsaved)
        if self._keep and here.step + 1 == here.facts.line.steps:  # R7
            again, unsaved, left = again[left == 0], unsaved[left == 0], left[left == 0]
        return _Ways(rows[again], before[rows[again]], now[again], unsaved, left)

    def _legal(self, here: _Here, before: Ints, missing: Ints) -> Bools:
        """Return (old, l) where a layout may follow a state (R2, R3, R5)."""
        resident = self.layouts.resident
        legal = np.ones((before.size, resident.size), bool)
        if here.access < 0 and not self._live[here.step]:
            legal &= resident == 0
        if here.required_resident:
            legal &= resident == self._size
        held, lacks = resident[before][:, None], self.layouts.levels[missing][:, None]
        if here.kind != Access.WRITE:
            # R2, R5: a load brings bytes from DRAM, so that the prefix before it must hold all that
            # DRAM lacks.
            legal &= (resident <= held) | (held >= lacks)
        if self._live[here.step]:
            legal &= resident >= lacks
        return legal

    def _dual_columns(self, here: _Here, way: _Ways, new: Ints) -> Choices:
        """Count bytes moved by each choice, and their costs."""
        layouts, duals, facts, step = self.layouts, self._duals, here.facts, here.step
        held, resident = layouts.resident[way.before], layouts.resident[way.now]
        load = np.maximum(resident - held, 0) * (here.kind != Access.WRITE)
        store = layouts.levels[way.unsaved] - layouts.levels[way.left]
        stream_in, stream_out = here.streams(self._size - resident)
        read, write = self._bank_bytes(here, way, stream_in, stream_out)
        inward, outward = load + stream_in, store + stream_out
        cost = facts.in_byte * inward + facts.out_byte * outward
        cost = cost + read @ facts.read_byte + write @ facts.write_byte
        # What the operation waits for takes channel, ports and computation: its whole time.
        firm, result = here.required_resident, here.required_resident and here.writes
        pages = layouts.count[way.now]
        dual = cost + read @ (duals.port[:, step] * facts.read_ratio)
        dual += write @ (duals.port[:, step] * facts.write_ratio)
        dual += (facts.byte_time if firm else duals.load[step]) * load
        dual += (facts.byte_time if result else duals.store[step]) * store
        dual += duals.load[step] * stream_in + duals.store[step] * stream_out
        dual += pages @ (duals.hold[:, step] * facts.page_bytes)
        busy = read * facts.read_ratio + write * facts.write_ratio
        return Choices(
            old=way.rows,
            new=new,
            layout=way.now,
            store=store,
            pages=pages,
            busy=busy / facts.cycle_bytes,
            cost=cost,
            inward=self._cycles(load) + self._cycles(stream_in),
            outward=self._cycles(store) + self._cycles(stream_out),
            before=self._cycles(load) * firm,
            after=self._cycles(store) * result,
            dual=dual,
        )

    def _bank_bytes(
        self, here: _Here, way: _Ways, stream_in: Ints, stream_out: Ints
    ) -> tuple[Floats, Floats]:
        """Return (c, b) bytes that each bank reads and writes."""
        layouts = self.layouts
        stored = layouts.below[way.now, way.unsaved] - layouts.below[way.now, way.left]
        read = layouts.moved_out[way.before, way.now].astype(np.float64)
        read += stored
        write: Floats = layouts.moved_in[way.before, way.now].astype(np.float64)
        if here.kind != Access.WRITE:
            held, resident = layouts.resident[way.before], layouts.resident[way.now]
            found = layouts.level(np.minimum(held, resident))
            write += layouts.held[way.now] - layouts.below[way.now, found]
        if here.access >= 0:
            own = layouts.held[way.now].astype(np.float64)
            own[:, STREAM_BANK] += self._size - layouts.resident[way.now]
            read += here.facts.own_read[here.access] * own
            write += here.facts.own_write[here.access] * own
        read[:, STREAM_BANK] += stream_out
        write[:, STREAM_BANK] += stream_in
        return read, write

    def _cycles(self, size_bytes: Ints) -> Ints:
        cycles: Ints = np.where(size_bytes > 0, transfer_cycles(self._machine, size_bytes), 0)
        return cycles


@dataclass(frozen=True)
class _Here:
    """A step in a mapping, and the operation's use of the tensor; ``access`` -1: nothing."""

    facts: BankCoefficients
    step: int
    access: int

    @property
    def kind(self) -> int:
        """An :class:`Access`, or -1."""
        return int(self.facts.line.kind[self.access]) if self.access >= 0 else -1

    @property
    def writes(self) -> bool:
        """Whether the operation writes the tensor."""
        return self.kind in (Access.WRITE, Access.UPDATE)

    @property
    def required_resident(self) -> bool:
        """Whether the tensor is resident in full."""
        return self.access >= 0 and bool(self.facts.line.required_resident[self.access])

    def streams(self, away: Ints) -> tuple[Ints, Ints]:
        """Return the bytes streamed in and out, of so many that are not resident."""
        if self.access < 0:
            return np.zeros_like(away), np.zeros_like(away)
        return away * self.facts.stream_in[self.access], away * self.facts.stream_out[self.access]


class _Ways(NamedTuple):
    """Place of the old state, its layout, the new layout, levels unsaved before and after stores.

    One a choice (c,).
    """

    rows: Ints
    before: Ints
    now: Ints
    unsaved: Ints
    left: Ints
