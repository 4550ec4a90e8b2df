"""Columns of the plain model, and its switches.

Variables of a cell (a tensor in a step), in bytes: ``resident`` prefix, ``load``, ``dirty`` bytes
after the step, ``store``; in whole pages also ``pages`` of a part and ``full``, which says that
all of the tensor is resident. Of a step: ``time``, in bytes that the channel moves meanwhile; of a
mapping: ``chosen``. Streamed bytes follow from the resident ones: p (s - r). Where an operation
has several mappings, what a cell holds, loads and stores is split among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from formulations.residency.plain.cells import Cells, Gaps, gaps_of, plain_cells
from formulations.residency.plain.parts import Choices, Parts, choices_of, parts_of
from formulations.solver.program import Floats, ProgramBuilder
from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline


@dataclass(frozen=True, kw_only=True)
class Families:
    """Families of rows that a program has beside those of every program.

    Attributes
    ----------
    pages
        Residency in whole pages.
    tensors
        In a step that uses a tensor all of it is resident, or nothing; between two uses it is
        kept in full, or leaves and comes back in full, in parts or at once; with ``pages`` only.
    setups
        Commands, each of which takes the machine's set-up time; with ``pages`` only.
    exact
        Stores in whole bytes, and every command in whole cycles: then the optimum is that of the
        problem. It takes six integers a cell more, which pays in tiny problems.
    mappings
        The mapping of each operation, where it has several; else that of the timeline.
    loose
        With ``tensors``: parts between uses may be fractions of a page, and a command of part of
        a tensor has that part of its set-up. Few integers are left, to begin a search with.
    """

    pages: bool = False
    tensors: bool = False
    setups: bool = False
    exact: bool = False
    mappings: bool = False
    loose: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Amounts:
    """Bytes of every cell (k,): resident in its step, and dirty after it."""

    resident: Ints
    dirty: Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class Window:
    """Steps [begin, end) in which some tensors are decided; all other bytes are given.

    Loads and stores of the step ``end``, whose bytes are fixed, may change too.

    Attributes
    ----------
    tensors : (m,) bool
        Tensors to decide.
    around
        Bytes of all cells of the timeline.
    """

    begin: int
    end: int
    tensors: Bools
    around: Amounts


class PlainColumns:
    """Columns of the program of a timeline, or of a window of it, by name; and facts of its cells.

    Attributes
    ----------
    cells, index
        Of the program, and where they are among all (k,): those of a window's steps and of one
        step on each side.
    parts
        Of these cells.
    choices
        Mappings to choose among.
    unit, value
        Bytes are in units of ``unit`` bytes, costs in units of ``value`` a byte.
    resident, load, dirty, store, full, pages : (k,)
        Columns by cell, -1 where a cell has none.
    part_resident, part_load, part_store : (q,)
        Columns by part; those of the cell where it is all of it.
    chosen : (c,)
        Columns by mapping; ``part_chosen`` (q,) by part.
    time : (n,)
        Columns by step; of size 0 where time costs nothing.
    kept : (g,)
        Columns by gap of all cells.
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
        self.machine, self.line, self.objective, self.families = (
            problem.machine,
            line,
            objective,
            families,
        )
        self.window = window
        self.every = every = plain_cells(line) if cells is None else cells
        self.begin, self.end = (
            (0, line.steps) if window is None else (window.begin, min(window.end + 1, line.steps))
        )
        self.cells, self.index = every.within(self.begin - 1, self.end)
        choices = choices_of(problem, line, objective)
        self.choices: Choices = choices.take(self._chooses(choices))
        self.parts: Parts = parts_of(problem, line, self.cells, self.choices, self.inside)
        # Of pages, so that residency in whole pages has whole coefficients.
        self.unit: int = 1 if families.exact else self.machine.page_bytes
        self.byte_time: Fraction = objective.cycle / self.machine.bytes_per_cycle
        dearest = max(self.byte_time, objective.dram_in_byte, objective.dram_out_byte)
        # Where bytes cost nothing, mappings may: a picojoule is below a solver's tolerance.
        self.value: Fraction = dearest or Fraction(max(choices.costs, default=0)) or Fraction(1)
        self._build = ProgramBuilder()
        self._add_columns()

    def _chooses(self, choices: Choices) -> Bools:
        """(c,) Mappings to choose: those of the steps to decide."""
        end = self.line.steps if self.window is None else self.window.end
        inside: Bools = (choices.step >= self.begin) & (choices.step < end)
        return inside & self.families.mappings

    def value_of(self, objective: float) -> float:
        """Return a value of the program in units of the objective."""
        return objective * float(self.value) * self.unit

    # Facts of cells and parts.

    @property
    def has_time(self) -> bool:
        """Whether time costs anything."""
        return self.objective.cycle > 0

    @property
    def keeps(self) -> bool:
        """Whether gaps are decided: where time is free a span is one, all of it or nothing."""
        return self.families.pages and self.families.tensors and self.has_time

    @property
    def counts_commands(self) -> bool:
        """Whether the set-up of a command takes time."""
        needed = self.has_time and self.machine.dma_setup_cycles > 0
        return self.families.setups and self.families.pages and needed

    @property
    def steps(self) -> int:
        """Steps that last: of a window also the one after it."""
        return self.end - self.begin

    @cached_property
    def inside(self) -> Bools:
        """(k,) Cells of these steps, in which bytes move: not of the step before a window."""
        inside: Bools = self.cells.step >= self.begin
        return inside

    @cached_property
    def is_fixed(self) -> Bools:
        """(k,) Cells around a window, and of tensors that it does not decide."""
        if self.window is None:
            return np.zeros(len(self.cells), bool)
        decided = self.inside & (self.cells.step < self.window.end)
        given: Bools = ~(decided & self.window.tensors[self.cells.tensor])
        return given

    def by_step(self, rows: Ints) -> Ints:
        """(k,) Row of each cell's step, -1 for none."""
        place = np.where(self.inside, self.cells.step - self.begin, 0)
        result: Ints = np.where(self.inside, rows[place], -1)
        return result

    @cached_property
    def size(self) -> Ints:
        """(k,) Bytes of each cell's tensor."""
        return self.line.size_bytes[self.cells.tensor]

    @cached_property
    def ratio(self) -> Floats:
        """(k,) Bytes that move per byte of each cell's tensor."""
        return self.line.moved.ratio[self.cells.tensor]

    @cached_property
    def most_pages(self) -> Ints:
        """(k,) Pages of each cell's tensor."""
        return ceil_pages(self.size, self.machine.page_bytes)

    @cached_property
    def is_required(self) -> Bools:
        """(k,) The operation needs all of the tensor on chip, whatever is chosen."""
        required = np.zeros(len(self.cells), bool)
        single = self.parts.single
        required[self.parts.cell[single]] = self.parts.required[single]
        return required

    # Columns.

    def _add_columns(self) -> None:
        build, cells = self._build, self.cells
        size = self.size / self.unit
        into, out = self._byte_costs
        loads, stores = cells.loads & self.inside, cells.dirty & self.inside
        resident, dirty = self._limits(size)
        saved = np.zeros(len(cells))
        single = self.parts.single
        saved[self.parts.cell[single]] = self._stream_costs[single]
        self.resident = build.columns(
            np.ones(len(cells), bool), cost=-saved, lower=resident[0], upper=resident[1]
        )
        self.load = build.columns(loads, cost=into, upper=size)
        self.dirty = build.columns(cells.dirty, lower=dirty[0], upper=dirty[1])
        whole = self.families.exact
        self.store = build.columns(stores, cost=out, upper=size, integer=whole)
        self.time = build.columns(
            self.steps if self.has_time else 0, cost=float(self.byte_time / self.value)
        )
        paged = np.full(len(cells), self.families.pages)
        parts = paged & (self.most_pages > 1)
        in_pages = (cells.access >= 0) | (not self.families.loose)
        if self.families.tensors:
            parts &= self.keeps & (cells.access < 0)
        self.full = build.columns(paged, lower=self.is_required, upper=1.0, integer=in_pages)
        self.pages = build.columns(parts, upper=self.most_pages - 1.0, integer=in_pages)
        self._add_parts()
        self._add_kept()

    @cached_property
    def gaps(self) -> Gaps:
        """Of all cells of the timeline."""
        return gaps_of(self.every)

    @cached_property
    def place(self) -> Ints:
        """Where every cell of the timeline is among these, or -1."""
        place = np.full(len(self.every) + 1, -1, np.int64)
        place[self.index] = np.arange(self.index.size)
        return place

    def _add_kept(self) -> None:
        """Add whether each gap keeps its tensor."""
        gaps = self.gaps
        open_ = np.zeros(gaps.first.size, bool)
        open_[gaps.inside[self.index[~self.is_fixed & (gaps.inside[self.index] >= 0)]]] = self.keeps
        least, most = np.zeros(open_.size), np.ones(open_.size)
        if self.window is not None:
            outside = self.place[:-1] < 0
            around, size = self.window.around, self.line.size_bytes[self.every.tensor]
            partial = outside & (around.resident < size)
            most[gaps.inside[partial & (gaps.inside >= 0)]] = 0.0
            most[partial[gaps.first] | partial[gaps.last]] = 0.0
            before = gaps.last - 1
            least = np.where(outside[before] & (around.dirty[before] > 0), most, 0.0)
        self.kept = self._build.columns(open_, lower=least, upper=most, integer=True)

    def _limits(self, size: Floats) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """Return the least and most resident, and dirty, bytes of cells; given ones are both."""
        # Nothing of a tensor to be kept is dirty in the end (R7).
        resident = np.where(self.is_required, size, 0.0), size
        dirty = np.zeros_like(size), np.where(self.cells.last, 0.0, size)
        if self.window is None:
            return resident, dirty
        around, given = self.window.around, self.is_fixed
        held, left = (each[self.index] / self.unit for each in (around.resident, around.dirty))
        return (
            (np.where(given, held, resident[0]), np.where(given, held, resident[1])),
            (np.where(given, left, dirty[0]), np.where(given, left, dirty[1])),
        )

    def _add_parts(self) -> None:
        """Add what a cell holds, loads and stores in each mapping; commands, and their cycles."""
        build, parts, choices = self._build, self.parts, self.choices
        cell, split = parts.cell, ~parts.single
        costs = np.array(choices.costs, np.float64) / float(self.value) / self.unit
        if len(choices):
            costs = costs - costs[self._first_choice]
            streamed = np.bincount(
                parts.choice[split], (self._stream_costs * self.size[cell])[split], len(choices)
            )
            costs = costs + streamed / self.unit
        self.chosen = build.columns(
            np.ones(len(choices), bool),
            cost=costs,
            upper=choices.fits.astype(float),
            integer=self.families.pages,
        )
        self.part_chosen = at(self.chosen, parts.choice)

        def spread(whole: Ints, cost: Floats | float = 0.0) -> Ints:
            own = build.columns(split & (whole[cell] >= 0), cost=cost)
            result: Ints = np.where(split, own, whole[cell])
            return result

        self.part_resident = spread(self.resident, -self._stream_costs)
        self.part_load, self.part_store = spread(self.load), spread(self.store)
        self.part_full = np.where(split, -1, self.full[cell])
        counted = np.array(self.counts_commands)
        streams = (parts.fetches_in > 0) | (parts.fetches_out > 0)
        counts = not self.families.loose
        loads, stores = self.part_load >= 0, self.part_store >= 0
        self.load_command = build.columns(loads & counted, upper=1.0, integer=counts)
        self.store_command = build.columns(stores & counted, upper=1.0, integer=counts)
        self.stream_command = build.columns(split & streams & counted, upper=1.0)
        has_time = np.array(self.families.exact and self.has_time)
        self.load_cycles = build.columns((self.part_load >= 0) & has_time, integer=True)
        self.store_cycles = build.columns((self.part_store >= 0) & has_time, integer=True)
        self.in_cycles = build.columns((parts.fetches_in > 0) & has_time, integer=True)
        self.out_cycles = build.columns((parts.fetches_out > 0) & has_time, integer=True)

    @cached_property
    def _first_choice(self) -> Ints:
        """(c,) Place of the timeline's own mapping of each choice's step."""
        choices = self.choices
        own = choices.mapping == self.line.chosen.mapping[choices.step]
        place = np.full(self.line.steps, -1, np.int64)
        place[choices.step[own]] = np.flatnonzero(own)
        return place[choices.step]

    @cached_property
    def _byte_costs(self) -> tuple[Floats, Floats]:
        """Costs (k,) of a byte of each cell that is moved in and out."""
        objective, value, ratio = self.objective, self.value, self.ratio
        into, out = float(objective.dram_in_byte / value), float(objective.dram_out_byte / value)
        unpacked, packed = objective.unpacked_byte / value, objective.packed_byte / value
        beyond = 1 - ratio
        return ratio * into + beyond * float(unpacked), ratio * out + beyond * float(packed)

    @cached_property
    def _stream_costs(self) -> Floats:
        """(q,) Costs of traffic per byte that is not resident."""
        into, out = self._byte_costs
        parts = self.parts
        result: Floats = into[parts.cell] * parts.fetches_in + out[parts.cell] * parts.fetches_out
        return result

    def _offset(self) -> float:
        """Return the traffic of a schedule that streams everything, where nothing is chosen."""
        single = self.parts.single
        streamed = self._stream_costs[single] * self.size[self.parts.cell[single]]
        return float(streamed.sum()) / self.unit


def ceil_pages(size_bytes: Ints, page_bytes: int) -> Ints:
    """Return the pages that hold so many bytes."""
    return -(-size_bytes // page_bytes)


def at(columns: Ints, index: Ints) -> Ints:
    """Return ``columns[index]``, -1 where there is no index."""
    if not columns.size:
        return np.full(index.size, -1, np.int64)
    result: Ints = np.where(index >= 0, columns[index], -1)
    return result
