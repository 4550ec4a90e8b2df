"""The least that a segment costs, whatever happens outside: a small linear program.

Variables are sums over the pieces of a step, so the size does not depend on how many there are.
Every row is a sum (of R1, a mean) over pieces of rules of PROBLEM.md for single steps, or lacks
something of it, so that any schedule of any cover with the segment is a solution of no higher cost:

* a tensor that is cut is followed along one piece, from the segment's first step to its last;
  bytes that a piece finds on chip were loaded by an earlier one, or have been there since the
  segment began: at most the scratchpad;
* bytes that a piece leaves newer than DRAM are stored by a later one, or are there when the segment
  ends: at most the scratchpad;
* what is whole to each piece (weights, sums) is followed around: before the first step of a piece
  comes the last step of the piece before.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from formulations.covers.listed import Listed, Use
from formulations.covers.steps import Amounts, Spans, UseTable
from formulations.solver.highs import solve
from formulations.solver.program import Floats, Program, ProgramBuilder, SolverResult, SolverStatus
from spmopt.core.listing import Row, Segment
from spmopt.core.table import Bools, Ints

_OF_TIME = ("moves", "reads", "writes", "waits")
OF_TENSORS = ("grows", "holds", "stores", "comes", "less", "spared", "sums")
"""Rows that are of a tensor."""
_ONE_ROW = ("less", "spared", "sums", "found", "left")
"""Rows that are not of a step."""
_LESS = 1 - 1e-12
_OPTIONS: dict[str, bool | int | float | str] = {
    "solver": "simplex",
    "simplex_strategy": 1,
    "simplex_dual_edge_weight_strategy": 1,  # Devex: a quarter less time than the steepest edge
    "presolve": "off",
}


@dataclass(frozen=True, slots=True)
class SegmentValue:
    """What a segment costs at least, in objective units, and how much it moves then.

    ``prices``: of rows, by the names that ``spmopt.verifier.segment_bound`` gives them.
    """

    value: float
    moved_bytes: float
    prices: dict[Row, float] = field(default_factory=dict)


class SegmentProgram:
    """The program of a segment.

    ``held``: bytes that may be on chip before and after it: the scratchpad's for a bound; with 0 it
    prices the segment as one that begins and ends with nothing on chip.
    """

    def __init__(self, listed: Listed, segment: Segment, held: float) -> None:
        self.listed, self.segment, self.held = listed, segment, held
        self.pieces, self.steps = segment.pieces, segment.end - segment.begin
        self.unit = max(listed.capacity / 64, 1.0)
        objective = listed.objective
        prices = (float(objective.cycle) / listed.bytes_per_cycle, float(objective.dram_in_byte))
        # In joules a byte's price is below the solver's tolerance.
        self.price = max(*prices, float(objective.dram_out_byte)) or 1.0
        self.builder, self.every = ProgramBuilder(), np.arange(self.steps)
        self.into, self.out, self.room = Amounts(), Amounts(), Amounts()
        self.serial_in, self.serial_out = Amounts(), Amounts()
        self.constant_in, self.constant_out = np.zeros((2, self.steps))
        self.found, self.left = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        self._names: list[tuple[Ints, str, list[int] | None]] = []
        self._times: dict[str, float] = {}
        self._sides: list[tuple[Ints, bool, bool]] = []
        self._alike: dict[int, list[int]] = {}
        uses = self._uses()
        if uses[False]:
            self._cut(self._table(uses[False]))
        if uses[True]:
            self._whole(self._table(uses[True]))
        self._borders()
        self._time = self._durations()

    def _uses(self) -> tuple[dict[int, list[tuple[int, Use]]], ...]:
        """Return how tensors that are cut, and others, are used; of those used alike only one.

        These are one tensor of their size to the program: parameters of a normalization, states of
        an optimizer. It takes half of its columns, and none of its value.
        """
        uses: tuple[dict[int, list[tuple[int, Use]]], ...] = ({}, {})
        for step in range(self.steps):
            for use in self.listed.modes(self.segment.begin + step, self.pieces):
                uses[use.shared].setdefault(use.tensor, []).append((step, use))
        for each in uses:
            first: dict[object, int] = {}
            for tensor, touched in list(each.items()):
                key = tuple(
                    (step, use.reads, use.writes, use.live_after, use.passes, use.stationary)
                    for step, use in touched
                )
                same = first.setdefault(key, tensor)
                self._alike.setdefault(same, []).append(tensor)
                if same != tensor:
                    del each[tensor]
        return uses

    def _table(self, uses: dict[int, list[tuple[int, Use]]]) -> UseTable:
        sizes = self.listed.sizes
        return UseTable(self.steps, uses, {t: sum(sizes[s] for s in self._alike[t]) for t in uses})

    def solve(self) -> SegmentValue:
        """Solve it; infinite where what must be on chip does not fit.

        Raises
        ------
        ArithmeticError
            The solver found no optimum.
        """
        answer = solve(self.program(), options=_OPTIONS, brief=True)
        if answer.status is SolverStatus.INFEASIBLE:
            return SegmentValue(value=np.inf, moved_bytes=0.0)
        if answer.status is not SolverStatus.OPTIMAL or answer.objective is None:
            raise ArithmeticError(f"segment {self.segment}: {answer.status}")
        return SegmentValue(
            value=answer.objective * self.unit * self.price,
            moved_bytes=self._moved(answer),
            prices=self._prices(answer),
        )

    def program(self) -> Program:
        """Return the program as arrays."""
        listed, objective = self.listed, self.listed.objective
        built = self.builder.program()
        cost = built.cost.copy()
        offset = float(listed.unavoidable(self.pieces)[self.segment.begin : self.segment.end].sum())
        for amounts, constant, weight in (
            (self.into, self.constant_in, float(objective.dram_in_byte)),
            (self.out, self.constant_out, float(objective.dram_out_byte)),
        ):
            _, column, times = Amounts.all(amounts)
            np.add.at(cost, column, weight * times / self.price)
            offset += weight * float(constant.sum())
        cost[self._time] = float(objective.cycle) / listed.bytes_per_cycle / self.price
        return replace(built, cost=cost, offset=offset / self.unit / self.price)

    def _moved(self, answer: SolverResult) -> float:
        assert answer.primal is not None
        moved = float(self.constant_in.sum() + self.constant_out.sum())
        for amounts in (self.into, self.out):
            _, column, times = Amounts.all(amounts)
            moved += float((answer.primal[column] * times).sum()) * self.unit
        return moved

    def _prices(self, answer: SolverResult) -> dict[Row, float]:
        """Return the prices of rows, in objective units; those of the time are legal together."""
        assert answer.row_dual is not None
        dual = answer.row_dual * self.price
        for rows, below, above in self._sides:
            # The solver's are of the wrong sign by its tolerance.
            dual[rows] = np.clip(dual[rows], 0.0 if below else None, 0.0 if above else None)
        found: dict[Row, float] = {}
        for rows, kind, tensors in self._names:
            times = self._times.get(kind, 1.0)
            for place in np.argwhere((rows >= 0) & (dual[rows] != 0)).tolist():
                price = float(dual[rows[tuple(place)]]) / times
                if tensors is None:
                    found[kind, *(place if kind not in _ONE_ROW else [])] = price
                    continue
                at = place[1:] if kind not in _ONE_ROW else []
                for tensor in self._alike[tensors[place[0]]]:
                    found[kind, tensor, *at] = price
        machine, cycle = self.listed.listing.machine, float(self.listed.objective.cycle)
        for step in range(self.steps):
            timed: list[Row] = [(kind, step) for kind in _OF_TIME if (kind, step) in found]
            total = machine.dram_bytes_per_s * sum(found[row] for row in timed)
            for row in timed:
                found[row] *= min(1.0, cycle * _LESS / max(total, 1e-300))
        return found

    def _columns(
        self, where: Bools | int, upper: Floats | float, lower: Floats | float = 0.0
    ) -> Ints:
        """Add quantities of bytes; -1 where there are none."""
        return self.builder.columns(where, lower=lower / self.unit, upper=upper / self.unit)

    def _rows(
        self,
        kind: str,
        where: Bools | int,
        sides: tuple[Floats | float, Floats | float],
        tensors: list[int] | None = None,
    ) -> Ints:
        """Add rows of bytes, by the names that the verifier has for them."""
        lower, upper = (np.asarray(side, np.float64) for side in sides)
        rows = self.builder.rows(where, lower / self.unit, upper / self.unit)
        self._names.append((rows, kind, tensors))
        some = rows[rows >= 0]
        self._sides.append((some, bool(np.isinf(upper).all()), bool(np.isinf(lower).all())))
        return rows

    def _cut(self, uses: UseTable) -> None:
        """Follow tensors that are cut along one piece; bytes are those of all pieces."""
        builder, spans, size = self.builder, Spans(uses), uses.size
        now = self._columns(spans.there, size, np.where(uses.fixed, size, 0.0))
        self.room.add(self.every, now, 1.0 / self.pieces)
        begins = self._columns(uses.begins, size[:, 0])
        self.found.append(begins[begins >= 0])
        before = np.concatenate((begins[:, None], now[:, :-1]), axis=1)
        load = self._columns(spans.loaded, size)
        self._transfer(load, self.into, self.serial_in, uses.fixed)
        grows = self._rows("grows", spans.grown, (-np.inf, 0.0), uses.tensors)
        builder.add(grows, now, 1.0)
        builder.add(np.where(spans.grown, grows, -1), before, -1.0)
        builder.add(grows, load, -1.0)
        newer, store = self._columns(spans.stored, size), self._columns(spans.stored, size)
        self._transfer(store, self.out, self.serial_out, uses.fixed & uses.writes)
        newer_before = np.concatenate((np.full_like(now[:, :1], -1), newer[:, :-1]), axis=1)
        holds = self._rows("holds", spans.held, (0.0, np.inf), uses.tensors)
        builder.add(holds, now, 1.0)
        builder.add(holds, newer_before, -1.0)
        stores = self._rows("stores", spans.stored, (0.0, 0.0), uses.tensors)
        builder.add(stores, newer, 1.0)
        builder.add(stores, store, 1.0)
        builder.add(stores, np.where(uses.writes, now, newer_before), -1.0)
        self.left.append(newer[:, -1][newer[:, -1] >= 0])
        into = np.where(uses.reads, uses.passes, (uses.passes - 1) * uses.live)
        out = uses.passes * (uses.writes & uses.live)
        self._stream(uses, now, into, out, 1.0)

    def _transfer(self, column: Ints, moved: Amounts, serial: Amounts, fixed: Bools) -> None:
        """Move the bytes of a column in each step, before or after computing where ``fixed``."""
        moved.add(self.every, column, 1.0)
        serial.add(self.every, np.where(fixed, column, -1), 1.0)

    def _stream(
        self, uses: UseTable, resident: Ints, into: Floats, out: Floats, pieces: float
    ) -> None:
        """Move what is not resident, in and out so often, in ``pieces`` times the size."""
        used = np.where(uses.used, resident, -1)
        into, out = (np.where(uses.used, each * pieces, 0.0) for each in (into, out))
        self.into.add(self.every, used, -into)
        self.out.add(self.every, used, -out)
        self.constant_in += (into * uses.size).sum(axis=0)
        self.constant_out += (out * uses.size).sum(axis=0)

    def _whole(self, uses: UseTable) -> None:
        """Follow tensors that are whole to each piece, around; bytes are means over pieces."""
        builder, size, pieces = self.builder, uses.size, float(self.pieces)
        every = np.ones(uses.used.shape, bool)
        summed = uses.writes[np.arange(len(uses.tensors)), uses.first]
        resident = self._columns(every, size, np.where(uses.fixed, size, 0.0))
        self.room.add(self.every, resident, 1.0)
        load = self._columns(every, pieces * size)
        self._transfer(load, self.into, self.serial_in, uses.fixed)
        begins = self._columns(uses.begins, size[:, 0])
        self.found.append(begins[begins >= 0])
        if self.steps > 1:  # else each piece finds what the one before left
            free = np.where(uses.writes & ~uses.reads, size, 0.0)
            grows = self._rows("grows", every, (-np.inf, free), uses.tensors)
            builder.add(grows, resident, pieces)
            builder.add(grows, np.roll(resident, 1, axis=1), -pieces)
            builder.add(grows, load, -1.0)
            builder.add(grows[:, 0], begins, -1.0)
        # Every byte comes once at least.
        found = uses.used & uses.begins[:, None]
        comes = self._rows("comes", found, ((1 - pieces) * size, np.inf), uses.tensors)
        builder.add(comes, np.broadcast_to(begins[:, None], comes.shape), 1.0)
        builder.add(comes, resident, -pieces)
        tensor, step = np.nonzero(found)
        builder.add(comes[tensor, step][:, None], load[tensor], 1.0)
        store = self._columns(every & summed[:, None], pieces * size)
        self._transfer(store, self.out, self.serial_out, uses.fixed)
        self._stream(uses, resident, uses.passes, uses.passes * summed[:, None], pieces)
        if summed.any():
            self._sums(uses, summed, resident, (load, store, begins))

    def _sums(
        self, uses: UseTable, summed: Bools, resident: Ints, moved: tuple[Ints, Ints, Ints]
    ) -> None:
        """Move what is added up: every load of a sum needs a store before, and one more at last.

        Of a sum that is written anew the first piece has nothing to read; of one that is dead in
        the end the last piece stores nothing.
        """
        builder, size, pieces = self.builder, uses.size[:, 0], float(self.pieces)
        load, store, begins = moved
        rows = np.arange(len(uses.tensors))
        ends, there = summed & uses.ends, summed & uses.begins
        for kind, some, step, passes, amounts in (
            ("less", summed & ~uses.begins, uses.first, np.ones(rows.size), self.into),
            ("spared", summed & ~uses.ends, uses.last, uses.passes[rows, uses.last], self.out),
        ):
            less = self._columns(some, passes * size)
            row = self._rows(kind, some, (-np.inf, passes * pieces * size), uses.tensors)
            builder.add(row, less, 1.0)
            builder.add(row, resident[rows, step], passes * pieces)
            amounts.add(step, less, -1.0)
        # Bytes on chip leave by a store, but for those that are dead when the segment ends.
        least = size * (ends.astype(float) - there) - uses.used.sum(axis=1) * pieces * size
        row = self._rows("sums", summed, (least, np.inf), uses.tensors)
        left = self._columns(ends, size)
        self.left.append(left[left >= 0])
        for column, sign in ((store, 1.0), (load, -1.0), (resident, -pieces)):
            some = uses.used if column is resident else np.ones_like(uses.used)
            builder.add(np.where(some, row[:, None], -1), column, sign)
        builder.add(row, begins, -1.0)
        builder.add(row, left, 1.0)

    def _borders(self) -> None:
        """Bound what is on chip before and after the segment, and what pieces leave each other."""
        for kind, held, which in (("found", self.found, self.into), ("left", self.left, self.out)):
            columns = np.concatenate(held)
            if not columns.size:
                continue
            row = self._rows(kind, 1, (-np.inf, 0.0))
            self.builder.add(row, columns, 1.0)
            if self.held:
                self.builder.add(row, self._columns(1, self.held), -1.0)
            if self.pieces > 1:
                moved = self._columns(self.steps, np.inf)
                which.add(self.every, moved, 1.0)
                self.builder.add(row, moved, -1.0)

    def _durations(self) -> Ints:
        """Rows of the room and of the time of each step; the columns of the time."""
        listed, builder, steps = self.listed, self.builder, self.steps
        here, machine = slice(self.segment.begin, self.segment.end), listed.listing.machine
        self._times = {"room": float(self.pieces)} | dict.fromkeys(
            _OF_TIME, float(machine.clock_hz)
        )
        free = listed.capacity - listed.scratch(self.pieces)[here]
        self._add(self._rows("room", steps, (-np.inf, free)), 1.0, self.room)
        if not listed.objective.cycle:
            return np.empty(0, np.int64)
        computing = listed.bytes_per_cycle * listed.cycles(self.pieces)[here]
        time, serial = self._columns(steps, np.inf, computing), np.zeros(steps, bool)
        serial[Amounts.all(self.serial_in, self.serial_out)[0]] = True
        rows = self._rows("waits", serial, (computing, np.inf))
        builder.add(rows, time, 1.0)
        self._add(rows, -1.0, self.serial_in, self.serial_out)
        moved = self.constant_in, self.constant_out
        parts = [("moves", moved[0] + moved[1], (self.into, self.out))]
        if machine.duplex:
            parts = [
                ("reads", moved[0], (self.into, self.serial_out)),
                ("writes", moved[1], (self.out, self.serial_in)),
            ]
        for kind, constant, both in parts:
            rows = self._rows(kind, steps, (constant, np.inf))
            builder.add(rows, time, 1.0)
            self._add(rows, -1.0, *both)
        return time

    def _add(self, rows: Ints, sign: float, *amounts: Amounts) -> None:
        """Add amounts to the rows of their steps."""
        step, column, times = Amounts.all(*amounts)
        self.builder.add(rows[step], column, sign * times)
