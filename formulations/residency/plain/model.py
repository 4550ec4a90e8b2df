"""Residency in a fixed order as one program: a family of rows for each law of the problem.

The rows are those of PROBLEM.md, sections 2 and 3. Unless ``exact``, times are not rounded to
whole cycles, so that the optimum is a lower bound in its class. Without ``pages`` and ``setups``
it is the linear relaxation, whose duals are those of section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from formulations.residency.plain.cells import Cells, Gaps
from formulations.residency.plain.columns import (
    Families,
    PlainColumns,
    Window,
    at,
    ceil_pages,
)
from formulations.reuse_intervals import steps_of
from formulations.solver.program import Floats, Program
from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline


class PlainModel(PlainColumns):
    """The program of a timeline, or of a window of it: columns, and rows by law.

    Attributes
    ----------
    program
        Bytes are in units of ``unit`` bytes, costs in units of ``value`` a byte.
    law_rows
        Rows of each family by its name.
    time_rows, capacity_rows, channel_rows
        Row of each step (n,); the channel has two with ``duplex``, and none where time is free.
    room_rows
        Row of each mapping to choose (c,).
    """

    def __init__(
        self,
        problem: Problem,
        line: Timeline,
        objective: Objective,
        *,
        families: Families,
        window: Window | None = None,
        cells: Cells | None = None,
    ) -> None:
        super().__init__(problem, line, objective, families=families, window=window, cells=cells)
        self.time_rows: list[Ints] = []
        self.channel_rows: list[Ints] = []
        self.room_rows: Ints = np.empty(0, np.int64)
        self.law_rows: dict[str, range] = {}
        for add_rows in self._laws():
            begin = self._build.row_count
            add_rows()
            self.law_rows[add_rows.__name__] = range(begin, self._build.row_count)
        self.program: Program = self._build.program(by_rows=True, offset=self._offset())

    def _laws(self) -> list[Callable[[], None]]:
        """Return the families that hold here."""
        laws = [self.growth, self.cleaning, self.no_lost_write, self.capacity]
        laws += [self.one_mapping, self.room_of_mapping] if len(self.choices) else []
        laws += [self.whole_pages] if self.families.pages else []
        laws += [self.keep_or_drop] if self.keeps else []
        laws += [self.channel, self.serial] if self.has_time else []
        laws += [self.commands] if self.counts_commands else []
        return laws + ([self.whole_cycles] if self.has_time and self.families.exact else [])

    # Rows: the laws.

    def growth(self) -> None:
        """(P1) ``r(i) <= r(i-1) + load(i)``, unless ``i`` overwrites the tensor unread (R2).

        That loaded bytes are valid in DRAM, ``r(i-1) >= D(i-1)``, needs no row: the row of
        ``no_lost_write`` says so of the step before, or that of ``cleaning`` where it writes.
        """
        cells, add = self.cells, self._build.add
        row = self._build.rows(~cells.blind & self.inside, upper=0.0)
        add(row, self.resident, 1.0)
        add(row, at(self.resident, cells.previous), -1.0)
        add(row, self.load, -1.0)

    def cleaning(self) -> None:
        """(P2) ``D(i) = D(i-1) - store(i)``, and ``r(i) - store(i)`` where ``i`` writes (R5)."""
        cells, add = self.cells, self._build.add
        row = self._build.rows(cells.dirty & self.inside, lower=0.0, upper=0.0)
        add(row, self.dirty, 1.0)
        add(row, self.store, 1.0)
        add(row, np.where(cells.written, self.resident, at(self.dirty, cells.previous)), -1.0)

    def no_lost_write(self) -> None:
        """(P3) ``r(i) >= D(i-1)`` while the contents are needed: DRAM has others (R5)."""
        before = at(self.dirty, self.cells.previous)
        row = self._build.rows((before >= 0) & self.inside, lower=0.0)
        self._build.add(row, self.resident, 1.0)
        self._build.add(row, before, -1.0)

    def capacity(self) -> None:
        """(P4) Resident tensors and the operation's scratch fit the scratchpad, in pages (R1)."""
        page, choices = self.machine.page_bytes, self.choices
        scratch = self.line.scratch_bytes[self.begin : self.end].copy()
        scratch[choices.step - self.begin] = 0
        room = self.machine.spm_pages - ceil_pages(scratch, page)
        self.capacity_rows = self._build.rows(self.steps, upper=page * room / self.unit)
        scale = page / self.unit
        if self.families.pages:
            for column, pages in (self.pages, 1), (self.full, self.most_pages):
                self._fill(column, scale * pages)
        else:
            self._fill(self.resident, 1.0)
        if len(choices):
            row = self.capacity_rows[choices.step - self.begin]
            self._build.add(row, self.chosen, scale * ceil_pages(choices.scratch_bytes, page))

    def _fill(self, column: Ints, pages: ArrayLike) -> None:
        """Take room in all steps of each cell."""
        cell, step = steps_of(self.cells.step, self.cells.end)
        inside = self.inside[cell]
        cell, step = cell[inside], step[inside]
        room = np.broadcast_to(pages, column.shape)[cell]
        self._build.add(self.capacity_rows[step - self.begin], column[cell], room)

    def one_mapping(self) -> None:
        """A step runs one mapping; the parts of a cell add up, and are of that mapping alone."""
        build, parts, split = self._build, self.parts, ~self.parts.single
        steps = np.zeros(self.line.steps, bool)
        steps[self.choices.step] = True
        row = build.rows(steps, lower=1.0, upper=1.0)
        build.add(row[self.choices.step], self.chosen, 1.0)
        size = self.size[parts.cell] / self.unit
        several = np.zeros(len(self.cells), bool)
        several[parts.cell[split]] = True
        pairs = (
            (self.resident, self.part_resident),
            (self.load, self.part_load),
            (self.store, self.part_store),
        )
        for whole, part in pairs:
            row = build.rows(several & (whole >= 0), lower=0.0, upper=0.0)
            build.add(row, whole, -1.0)
            build.add(np.where(split, row[parts.cell], -1), part, 1.0)
            # All of it where the mapping needs all of it on chip.
            needs = parts.required & (part is self.part_resident)
            row = build.rows(split & (part >= 0), lower=np.where(needs, 0.0, -np.inf), upper=0.0)
            build.add(row, part, 1.0)
            build.add(row, self.part_chosen, -size)

    def room_of_mapping(self) -> None:
        """Operands fit beside the scratch of the mapping that they are resident in (R1).

        Of whole mappings capacity says so; parts of two would fill the room of either.
        """
        page, choices, parts = self.machine.page_bytes, self.choices, self.parts
        self.room_rows = self._build.rows(len(choices), upper=0.0)
        room = self.machine.spm_pages - ceil_pages(choices.scratch_bytes, page)
        self._build.add(self.room_rows, self.chosen, -room * page / self.unit)
        self._build.add(at(self.room_rows, parts.choice), self.part_resident, 1.0)

    def whole_pages(self) -> None:
        """(P7) ``r = g q + s z``, (P8) ``q <= (pages - 1) (1 - z)``: some pages, or all."""
        add = self._build.add
        row = self._build.rows(self.full >= 0, lower=0.0, upper=0.0)
        add(row, self.resident, 1.0)
        add(row, self.pages, -self.machine.page_bytes / self.unit)
        add(row, self.full, -self.size / self.unit)
        row = self._build.rows(self.pages >= 0, upper=self.most_pages - 1.0)
        add(row, self.pages, 1.0)
        add(row, self.full, self.most_pages - 1.0)

    def keep_or_drop(self) -> None:
        """A tensor is kept through a gap, or all of it is loaded and none of it left dirty.

        (W1) Kept, it is resident at both uses, and (W2) in all steps between. (W3) Else the loads
        are all of it: bytes that are loaded and were never away leave no more room than if they
        had been. (W4) None is dirty before the next use.
        """
        build, gaps, kept, place = self._build, self.gaps, self.kept, self.place
        size = self.line.size_bytes[self.every.tensor[gaps.last]] / self.unit
        here = at(kept, gaps.inside[self.index])
        row = build.rows(here >= 0, upper=0.0)
        build.add(row, here, self.size / self.unit)
        build.add(row, self.resident, -1.0)
        for use in place[gaps.first], place[gaps.last]:
            row = build.rows((kept >= 0) & (use >= 0), upper=0.0)
            build.add(row, kept, 1.0)
            build.add(row, at(self.full, use), -1.0)
        loaded, used = self._outside(gaps)
        row = build.rows(kept >= 0, lower=used * size - loaded)
        for number in gaps.inside, gaps.ended:
            build.add(at(row, number[self.index]), self.load, 1.0)
        build.add(row, kept, size)
        build.add(row, at(self.full, place[gaps.last]), -size)
        dirty = at(self.dirty, place[gaps.last - 1])
        row = build.rows((kept >= 0) & (dirty >= 0), upper=0.0)
        build.add(row, dirty, 1.0)
        build.add(row, kept, -size)

    def _outside(self, gaps: Gaps) -> tuple[Floats, Bools]:
        """Return what gaps load outside of a window, and whether they end there, resident."""
        count, every = gaps.first.size, self.every
        if self.window is None:
            return np.zeros(count), np.zeros(count, bool)
        outside, resident = self.place[:-1] < 0, self.window.around.resident
        before = np.where(every.previous >= 0, resident[every.previous], 0)
        number = np.where(gaps.inside >= 0, gaps.inside, gaps.ended)
        some = outside & (number >= 0)
        loads = np.maximum(resident - before, 0)
        loaded: Floats = np.bincount(number[some], loads[some], count) / self.unit
        return loaded, outside[gaps.last] & (resident[gaps.last] > 0)

    def channel(self) -> None:
        """(P5) A step lasts as long as its transfers (R6); of each direction with ``duplex``.

        Stores of results that must be on chip come after computing, loads of such operands before:
        each delays the other direction too (R10).
        """
        loads, stores, streams_in, streams_out = self._uses
        first, last = self._serial
        if self.machine.duplex:
            self._lasts([loads, streams_in, stores.only(last)])
            self._lasts([loads.only(first), stores, streams_out])
        else:
            self._lasts([loads, stores, streams_in, streams_out])
        self.channel_rows = list(self.time_rows)

    def serial(self) -> None:
        """(P6) A step lasts as long as loads before, computing, and stores after it (R6)."""
        loads, stores, _, _ = self._uses
        first, last = self._serial
        rate = float(self.machine.bytes_per_cycle)
        compute: Floats = self.line.compute_cycles[self.begin : self.end].astype(np.float64) * rate
        compute[self.choices.step - self.begin] = 0.0
        rows = self._lasts([loads.only(first), stores.only(last)], compute)
        of_choice = self.choices.compute_cycles * rate / self.unit
        self._build.add(rows[self.choices.step - self.begin], self.chosen, -of_choice)

    def commands(self) -> None:
        """A load or store of some bytes is a command, and a stream unless all is resident."""
        build, parts = self._build, self.parts
        size = self.size[parts.cell] / self.unit
        pairs = (self.load_command, self.part_load), (self.store_command, self.part_store)
        for command, moved in pairs:
            row = build.rows(command >= 0, upper=0.0)
            build.add(row, moved, 1.0)
            build.add(row, command, -size)
        row = build.rows(self.stream_command >= 0, lower=0.0)
        build.add(row, self.stream_command, 1.0)
        build.add(row, self.part_chosen, -1.0)
        build.add(row, self.full[parts.cell], 1.0)

    def whole_cycles(self) -> None:
        """A command takes whole cycles: as many as its bytes and its set-up, or more."""
        rate = float(self.machine.bytes_per_cycle) / self.unit
        for use, cycles in zip(self.moves, self.cycles, strict=True):
            row = self._build.rows(cycles >= 0, lower=use.constant / self.unit)
            self._build.add(row, cycles, rate)
            self._add_use(row, use)

    @cached_property
    def _serial(self) -> tuple[Bools, Bools]:
        """(q,) Parts whose loads computing waits for, and whose stores wait for it."""
        return self.parts.required, self.parts.required & self.cells.written[self.parts.cell]

    @cached_property
    def moves(self) -> tuple[Use, Use, Use, Use]:
        """Bytes and set-ups of loads, of stores, and of streams in and out."""
        setup = float(self.machine.dma_setup_cycles * self.machine.bytes_per_cycle)
        setup = setup if self.counts_commands else 0.0
        parts = self.parts
        every, nothing = np.ones(parts.cell.size), np.zeros(parts.cell.size)
        size, ratio = self.size[parts.cell], self.ratio[parts.cell]

        def stream(times: Ints) -> Use:
            command: Floats = (setup * (times > 0)).astype(np.float64)
            fetches = times * ratio
            terms: dict[str, Floats] = {
                "part_resident": -fetches,
                "part_chosen": fetches * size.astype(np.float64) / self.unit,
                "part_full": -command / self.unit,
                "stream_command": command / self.unit,
            }
            return Use(terms, np.where(parts.single, fetches * size + command, 0.0))

        command = setup / self.unit * every
        return (
            Use({"part_load": ratio, "load_command": command}, nothing),
            Use({"part_store": ratio, "store_command": command}, nothing),
            stream(parts.fetches_in),
            stream(parts.fetches_out),
        )

    @property
    def cycles(self) -> tuple[Ints, Ints, Ints, Ints]:
        """(q,) Columns of whole cycles of the same."""
        return self.load_cycles, self.store_cycles, self.in_cycles, self.out_cycles

    @cached_property
    def _uses(self) -> tuple[Use, ...]:
        """Time of the channel for each of them, in bytes that it could move."""
        if not self.families.exact:
            return self.moves
        nothing = np.zeros(self.parts.cell.size)
        rate = nothing + float(self.machine.bytes_per_cycle) / self.unit
        names = ("load_cycles", "store_cycles", "in_cycles", "out_cycles")
        return tuple(Use({name: rate}, nothing) for name in names)

    def _lasts(self, uses: Sequence[Use], fixed: Floats | float = 0.0) -> Ints:
        """Add ``time >= uses + fixed`` for every step, ``fixed`` (n,) in bytes; the rows."""
        use = sum(uses[1:], start=uses[0])
        inside = self.inside[self.parts.cell]
        step = self.cells.step[self.parts.cell[inside]] - self.begin
        least = np.bincount(step, use.constant[inside], self.steps) + fixed
        rows = self._build.rows(self.steps, lower=least / self.unit)
        self.time_rows.append(rows)
        self._build.add(rows, self.time, 1.0)
        self._add_use(self.by_step(rows)[self.parts.cell], use)
        return rows

    def _add_use(self, row: Ints, use: Use) -> None:
        for name, share in use.terms.items():
            if name != "part_chosen":
                self._build.add(row, getattr(self, name), -share)
        if len(self.choices) and "part_chosen" in use.terms:
            # Parts of several tensors share a mapping's column.
            there = (row >= 0) & (self.part_chosen >= 0)
            pairs, place = np.unique(
                np.stack((row[there], self.part_chosen[there])), axis=1, return_inverse=True
            )
            total = np.bincount(place.ravel(), use.terms["part_chosen"][there], pairs.shape[1])
            self._build.add(pairs[0], pairs[1], -total)


@dataclass(frozen=True, eq=False)
class Use:
    """Time of the channel, in bytes that it could move: columns times shares, and a constant.

    Attributes
    ----------
    terms
        By name of columns (q,): time that a unit of each takes (q,), in units.
    constant : (q,)
        In bytes.
    """

    terms: Mapping[str, Floats]
    constant: Floats

    def only(self, parts: Bools) -> Use:
        """Return the use by some parts (q,) alone."""
        terms = {name: share * parts for name, share in self.terms.items()}
        return Use(terms, self.constant * parts)

    def __add__(self, other: Use) -> Use:
        terms = dict(self.terms)
        for name, share in other.terms.items():
            terms[name] = terms[name] + share if name in terms else share
        return Use(terms, self.constant + other.constant)
