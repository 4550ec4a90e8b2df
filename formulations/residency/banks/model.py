"""The plain model in a scratchpad of several banks: its cells split by bank."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from formulations.residency.banks.facts import BankCoefficients
from formulations.residency.banks.pieces import ChosenCells, Pieces, Stripes
from formulations.residency.plain.columns import Amounts, Families, Window
from formulations.residency.plain.model import PlainModel
from formulations.solver.program import Floats, Program
from spmopt.core.objective import Objective
from spmopt.core.operands import ranges
from spmopt.core.problem import Problem
from spmopt.core.shares import STREAM_BANK
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline


class _Touch(NamedTuple):
    """Bytes that a bank reads and writes per unit of some columns, in their steps."""

    bank: int
    column: Ints
    step: Ints
    read: Floats | float
    write: Floats | float


class BankModel(PlainModel):
    """The program of a timeline in banks (README of this folder).

    Attributes
    ----------
    chosen_cells, pieces
        Of the program.
    resident_in, load_in, dirty_in, store_in : (b, t)
        Columns by bank and piece, in bytes; -1 where there is none.
    came, went, came_dirty, went_dirty : (b, t)
        Bytes that move into each bank, and out of it, as the step opens.
    pages_in : (b, t)
        Whole pages of each bank, with ``families.pages``.
    capacity_rows : (b, n)
    port_rows : (b, n)
        -1 of banks whose port no step waits for.
    """

    def __init__(
        self,
        problem: Problem,
        line: Timeline,
        objective: Objective,
        facts: Sequence[BankCoefficients],
        *,
        families: Families,
        chosen: ChosenCells,
        stripes: Stripes,
        given: Amounts | None = None,
    ) -> None:
        """Build it.

        Parameters
        ----------
        facts
            Those of ``line``, then those of each mapping to choose.
        given
            Bytes of the chosen cells in a residency plan, of which only banks are to be chosen.
        """
        self.facts, self.by_mapping, self.chosen_cells = facts[0], facts, chosen
        self.stripes, self.amounts = stripes, given
        # A window in which no tensor is decided fixes the bytes of all.
        window = None
        if given is not None:
            nothing = np.zeros(line.size_bytes.size, bool)
            window = Window(begin=0, end=line.steps, tensors=nothing, around=given)
        super().__init__(
            problem, line, objective, families=families, window=window, cells=chosen.cells
        )
        self.program: Program = self._add_costs(self.program)

    # Columns.

    def _add_columns(self) -> None:
        super()._add_columns()
        build, banks = self._build, self.facts.bank_count
        self.pieces = own = self._cut()
        every = np.ones((banks, 1), bool)

        def split(some: Bools) -> Ints:
            return build.columns(every & some)

        had = own.held[own.before] & (own.before >= 0)
        loads = (self.load >= 0)[own.cell] & own.held
        newer = (self.dirty >= 0)[own.cell] & own.held
        # A page of a plan is loaded as it comes; one to be decided on may come in any step.
        loads &= ~had if self.amounts is not None else True
        # Of pages an overwritten one keeps its address too (R8); of bytes the dead are gone.
        moves = own.held & (had if self.families.pages else own.previous >= 0)
        stays_dirty = (own.previous >= 0) & moves & (self.dirty >= 0)[own.cell[own.previous]]
        self.resident_in, self.load_in = split(own.held), split(loads)
        self.dirty_in, self.store_in = split(newer), split(newer)
        self.came, self.went = split(moves), split(moves)
        self.came_dirty, self.went_dirty = split(stays_dirty), split(stays_dirty)
        whole = every & own.held & self.families.pages
        self.pages_in = build.columns(whole, upper=np.tile(own.pages, (banks, 1)), integer=True)
        self._add_parts_of_pieces(every)
        scratch = self.line.scratch_bytes > 0
        scratch[self.choices.step] = True
        self.scratch_in = split(scratch)
        whole_cycles = self.families.exact and bool(self.facts.banks_with_port.any())
        self.port_cycles = build.columns(np.full(self.steps, whole_cycles), integer=True)

    def _add_parts_of_pieces(self, every: Bools) -> None:
        """Add the bytes of each piece (u,) in each mapping, where there is one to choose."""
        count = np.bincount(self.pieces.cell, minlength=len(self.cells))
        first = np.cumsum(count) - count
        cell = self.parts.cell
        self.part = np.repeat(np.arange(cell.size), count[cell])
        self.piece = first[cell[self.part]] + ranges(np.zeros_like(cell), count[cell])
        chosen = every & ~self.parts.single[self.part] & self.pieces.held[self.piece]
        own = self._build.columns(chosen)
        self.part_in = np.where(chosen, own, self.resident_in[:, self.piece])

    def _cut(self) -> Pieces:
        """Cut cells into the stripes of their tensors."""
        cells, stripes, page = self.cells, self.stripes, self.machine.page_bytes
        first = np.searchsorted(stripes.tensor, cells.tensor, "left")
        count = np.searchsorted(stripes.tensor, cells.tensor, "right") - first
        cell, start = np.repeat(np.arange(len(cells)), count), np.cumsum(count) - count
        number = ranges(np.zeros_like(count), count)
        stripe = first[cell] + number
        # Cells are sorted by tensor, then step; between chosen ones bytes wait.
        until = self.chosen_cells.until
        follows = np.zeros(len(cells), bool)
        follows[1:] = (np.diff(cells.tensor) == 0) & (cells.step[1:] == until[:-1])
        before = np.where(follows[cell], start[cell - 1] + number, -1)
        inherits = cells.previous[cell] >= 0
        low, pages, page_bytes = stripes.page[stripe], stripes.pages[stripe], stripes.page_bytes
        # Stripes are cut at all amounts of a plan: one is resident as a whole or not at all.
        held, dirty = np.ones(cell.size, bool), np.zeros(cell.size, np.int64)
        if self.amounts is not None:
            held = self.amounts.resident[cell] > low * page
            most = pages * page_bytes[stripe]
            dirty = np.clip(self.amounts.dirty[cell] - low * page, 0, most)
        return Pieces(
            cell=cell,
            stripe=stripe,
            pages=pages,
            page_bytes=page_bytes[stripe],
            before=before,
            previous=np.where(inherits, before, -1),
            held=held,
            dirty_bytes=dirty,
        )

    # Rows.

    def _laws(self) -> list[Callable[[], None]]:
        # Growth, cleaning, no lost write and capacity are stated by bank below: the plain rows
        # of all banks together follow from them.
        laws = [self.somewhere, *super()._laws(), self.bank_moves]
        laws += [self.parts_somewhere] if len(self.choices) else []
        if self.families.pages:
            given = self.pages_in_order if self.amounts is None else self.as_planned
            laws += [self.pages_in_banks, given]
        return laws + ([self.ports] if self.has_time else [])

    def somewhere(self) -> None:
        """(B1) The bytes of a cell are those of its pieces in all banks."""
        for whole, pieces in (
            (self.resident, self.resident_in),
            (self.load, self.load_in),
            (self.dirty, self.dirty_in),
            (self.store, self.store_in),
        ):
            row = self._build.rows(whole >= 0, lower=0.0, upper=0.0)
            self._build.add(row, whole, -1.0)
            self._build.add(row[self.pieces.cell], pieces, 1.0)

    def growth(self) -> None:
        """(B2) ``r_b(i) <= r_b(i-1) + load_b(i) + came - went``, unless ``i`` overwrites unread."""
        add, own = self._build.add, self.pieces
        row = self._build.rows((self.resident_in >= 0) & ~self.cells.blind[own.cell], upper=0.0)
        add(row, self.resident_in, 1.0)
        add(row, _of(self.resident_in, own.previous), -1.0)
        add(row, self.load_in, -1.0)
        add(row, self.came, -1.0)
        add(row, self.went, 1.0)

    def cleaning(self) -> None:
        """(B3) ``D_b(i) = D_b(i-1) + came - went - store_b(i)``; ``r_b - store_b`` if written."""
        add, own = self._build.add, self.pieces
        written = self.cells.written[own.cell]
        row = self._build.rows(self.dirty_in >= 0, lower=0.0, upper=0.0)
        add(row, self.dirty_in, 1.0)
        add(row, self.store_in, 1.0)
        add(row, np.where(written, self.resident_in, _of(self.dirty_in, own.previous)), -1.0)
        # What is written lies where it is resident: earlier moves of it count in ``r``.
        row = np.where(written, -1, row)
        add(row, self.came_dirty, -1.0)
        add(row, self.went_dirty, 1.0)

    def no_lost_write(self) -> None:
        """(B4) ``r_b(i) >= D_b(i-1) + came - went`` while the contents are needed (R5)."""
        before = _of(self.dirty_in, self.pieces.previous)
        row = self._build.rows((before >= 0) & self.pieces.held, lower=0.0)
        self._build.add(row, self.resident_in, 1.0)
        self._build.add(row, before, -1.0)
        self._build.add(row, self.came_dirty, -1.0)
        self._build.add(row, self.went_dirty, 1.0)

    def bank_moves(self) -> None:
        """(B5) Moved bytes go from some banks to some banks; dirty ones are some of them."""
        add = self._build.add
        for came, went in ((self.came, self.went), (self.came_dirty, self.went_dirty)):
            row = self._build.rows(came[0] >= 0, lower=0.0, upper=0.0)
            add(row, came, 1.0)
            add(row, went, -1.0)
        # Else a dirty byte would change places with a clean one at no cost.
        for some, every in ((self.came_dirty, self.came), (self.went_dirty, self.went)):
            row = self._build.rows(some >= 0, upper=0.0)
            add(row, some, 1.0)
            add(row, every, -1.0)

    def capacity(self) -> None:
        """(B6) Resident pieces and a part of the scratch fit each bank (R1)."""
        build, facts, choices = self._build, self.facts, self.choices
        room = np.tile(facts.capacity_bytes[:, None] / self.unit, (1, self.steps))
        self.capacity_rows = build.rows(np.ones(room.shape, bool), upper=room)
        self.port_rows = np.full(room.shape, -1)
        # A cell holds its bytes in the steps up to the next one too.
        piece, step = self.piece_steps
        column = self.pages_in if self.families.pages else self.resident_in
        scale = self.machine.page_bytes / self.unit if self.families.pages else 1.0
        build.add(self.capacity_rows[:, step], column[:, piece], scale)
        build.add(self.capacity_rows, self.scratch_in, 1.0)
        needed = facts.scratch_bytes / self.unit
        needed[choices.step] = 0.0  # that of the mapping chosen
        row = build.rows(self.steps, lower=needed, upper=needed)
        build.add(row, self.scratch_in, 1.0)
        pages = self.machine.pages(choices.scratch_bytes)
        build.add(row[choices.step], self.chosen, -pages * self.machine.page_bytes / self.unit)

    @property
    def piece_steps(self) -> tuple[Ints, Ints]:
        """Pieces, each once for every step in which it lies where it does, and these steps."""
        count = np.bincount(self.pieces.cell, minlength=len(self.cells))
        first, place = np.cumsum(count) - count, self.chosen_cells.place
        piece = first[place].repeat(count[place]) + ranges(np.zeros_like(place), count[place])
        return piece, self.chosen_cells.every.step.repeat(count[place])

    def parts_somewhere(self) -> None:
        """(B7) Pieces under the mapping that is run are those of the cell, under others nothing."""
        build = self._build
        own = np.where(self.parts.single[self.part], -1, self.part_in)
        several = np.zeros(self.resident_in.shape, bool)
        several[:, self.piece] = own >= 0
        row = build.rows(several, lower=0.0, upper=0.0)
        build.add(row, self.resident_in, -1.0)
        build.add(row[:, self.piece], own, 1.0)
        row = build.rows(own >= 0, upper=0.0)
        build.add(row, own, 1.0)
        build.add(row, self.part_chosen[self.part], -self._size[self.piece])

    @property
    def _size(self) -> Floats:
        """(t,) Size of a piece, in units."""
        return self.pieces.pages * self.pieces.page_bytes / self.unit

    def whole_pages(self) -> None:
        """State it of what is to be decided; a residency plan has whole pages."""
        if self.amounts is None:
            super().whole_pages()

    def pages_in_banks(self) -> None:
        """(B8) A page is in one bank, as a whole, and changes it only by a move (R8)."""
        add, own = self._build.add, self.pieces
        page = own.page_bytes / self.unit
        row = self._build.rows(own.held, upper=own.pages)
        add(row, self.pages_in, 1.0)
        row = self._build.rows(self.pages_in >= 0, lower=0.0, upper=0.0)
        add(row, self.resident_in, 1.0)
        add(row, self.pages_in, -page)
        # Where all pages are resident before and after: those here now, and elsewhere before.
        before = _of(self.pages_in, own.before)
        for moved, here, there in (
            (self.came, self.pages_in, before),
            (self.went, before, self.pages_in),
        ):
            row = self._build.rows(moved >= 0, lower=-self._size)
            add(row, moved, 1.0)
            add(row, here, -page)
            for bank in range(len(moved)):
                add(row[bank], np.delete(there, bank, axis=0), -page)

    def pages_in_order(self) -> None:
        """(B9) Resident pages are the first ones of their tensor, and so are dirty bytes (R5)."""
        build, own = self._build, self.pieces
        low = np.flatnonzero(np.diff(own.cell) == 0)
        row = build.rows(low.size, lower=0.0)
        build.add(row, self.pages_in[:, low], 1.0)
        build.add(row, self.pages_in[:, low + 1], -1.0)
        # A page has dirty bytes only where all of the page before is dirty.
        low = low[(self.dirty >= 0)[own.cell[low]]]
        full = build.columns(low.size, upper=1.0, integer=True)
        row, above = build.rows(low.size, lower=0.0), build.rows(low.size, upper=0.0)
        build.add(row, self.dirty_in[:, low], 1.0)
        build.add(row, full, -self._size[low])
        build.add(above, self.dirty_in[:, low + 1], 1.0)
        build.add(above, full, -self._size[low + 1])

    def as_planned(self) -> None:
        """(B10) All pages that the residency plan holds are somewhere, and dirty as it says."""
        own, dirty = self.pieces, self.pieces.dirty_bytes / self.unit
        row = self._build.rows(own.held, lower=own.pages)
        self._build.add(row, self.pages_in, 1.0)
        row = self._build.rows(self.dirty_in[0] >= 0, lower=dirty, upper=dirty)
        self._build.add(row, self.dirty_in, 1.0)

    def ports(self) -> None:
        """(B11) A step lasts at least as long as serial transfers and a bank's port take (R6)."""
        build, facts, touches = self._build, self.facts, list(self._touches())
        loads, stores, _, _ = self._uses
        first, last = self._serial
        serial = [loads.only(first), stores.only(last)]
        rate = facts.cycle_bytes / self.unit
        # B_b is rounded up to cycles before it is compared with computing.
        if self.families.exact:
            build.add(self._lasts(serial), self.port_cycles, -rate)
        for bank in np.flatnonzero(facts.banks_with_port).tolist():
            read, write = facts.read_ratio[bank], facts.write_ratio[bank]
            always = read * self._always[0] + write * self._always[1]
            least = always * (bank == STREAM_BANK)
            if self.families.exact:
                row = build.rows(self.steps, lower=least / self.unit)
                build.add(row, self.port_cycles, rate)
            else:
                row = self._lasts(serial, least)
            for touch in touches:
                if touch.bank == bank:
                    busy = read * touch.read + write * touch.write
                    build.add(row[touch.step], touch.column, -busy)
            self.port_rows[bank] = row

    # Reads and writes of banks.

    def _add_costs(self, program: Program) -> Program:
        """Add what reads and writes of the banks cost."""
        facts, cost = self.facts, program.cost.copy()
        for touch in self._touches():
            read, write = facts.read_byte[touch.bank], facts.write_byte[touch.bank]
            each = np.broadcast_to(touch.read * read + touch.write * write, touch.column.shape)
            there = touch.column >= 0
            # A column may be touched more than once: loads of moved bytes, say.
            np.add.at(cost, touch.column[there], each[there] / float(self.value))
        always = [
            float(each[STREAM_BANK]) * part.sum()
            for each, part in zip((facts.read_byte, facts.write_byte), self._always, strict=True)
        ]
        return replace(
            program, cost=cost, offset=program.offset + sum(always) / float(self.value) / self.unit
        )

    def _touches(self) -> Iterator[_Touch]:
        """Yield the columns by which banks are touched."""
        step = self.cells.step[self.pieces.cell]
        for bank in range(self.facts.bank_count):
            for column in (self.load_in, self.came):
                yield _Touch(bank, column[bank], step, 0.0, 1.0)
            for column in (self.store_in, self.went):
                yield _Touch(bank, column[bank], step, 1.0, 0.0)
        # Of an operand the resident part is touched where it lies, the rest in the stream bank.
        read, write, out, into = self._per_byte
        where = self.cells.step[self.parts.cell]
        yield _Touch(STREAM_BANK, self.part_resident, where, -(read + out), -(write + into))
        for bank, column in enumerate(self.part_in):
            yield _Touch(bank, column, step[self.piece], read[self.part], write[self.part])
        if len(self.choices):
            choices = self.choices
            place = (choices.mapping, choices.step)
            streams = self._streams(self.parts.choice, len(choices))
            loose = (self._by_mapping(name)[1:][place] for name in ("loose_read", "loose_write"))
            total = [(one + more) / self.unit for one, more in zip(streams, loose, strict=True)]
            yield _Touch(STREAM_BANK, self.chosen, choices.step, *total)

    def _by_mapping(self, name: str) -> Floats:
        """Return a figure of the line's own mapping, then of each to choose, as rows."""
        return np.stack([getattr(each, name) for each in self.by_mapping])

    @property
    def _per_byte(self) -> tuple[Floats, Floats, Ints, Ints]:
        """(q,) Reads and writes by the operation per byte of a part; by streams out and in."""
        access = self.cells.access[self.parts.cell]
        # A part without a choice (-1) takes the last entry, and so the line's own figures.
        number = np.append(self.choices.mapping, -1)[self.parts.choice] + 1
        read, write = (
            np.where(access >= 0, self._by_mapping(name)[number, access], 0.0)
            for name in ("own_read", "own_write")
        )
        return read, write, self.parts.fetches_out, self.parts.fetches_in

    def _streams(self, place: Ints, places: int) -> list[Floats]:
        """Sum up the stream bank's reads and writes for parts of which nothing is resident."""
        (read, write, out, into), size = self._per_byte, self.size[self.parts.cell]
        some = place >= 0
        return [
            np.bincount(place[some], (size * each)[some], places).astype(np.float64)
            for each in (read + out, write + into)
        ]

    @property
    def _always(self) -> list[Floats]:
        """(n,) Reads and writes of the stream bank where nothing is resident or chosen."""
        free = np.ones(self.steps)
        free[self.choices.step] = 0.0
        step = np.where(self.parts.single, self.cells.step[self.parts.cell], -1)
        loose = (self.facts.loose_read, self.facts.loose_write)
        streams = self._streams(step, self.steps)
        return [one + free * more for one, more in zip(streams, loose, strict=True)]


def _of(columns: Ints, index: Ints) -> Ints:
    """Return ``columns[:, index]``, -1 where there is no index."""
    result: Ints = np.where(index >= 0, columns[:, index], -1)
    return result
