"""The least that a segment costs, whatever happens outside: a small linear program.

Variables are sums over the pieces of a class: all of them, or the first, those between and the
last. Every row is a sum over pieces of rules of PROBLEM.md for single steps, or lacks something of
it, so that any schedule of any cover with the segment is a solution of no higher cost:

* a tensor that is cut is followed along one piece, from the segment's first step to its last;
* what is whole to each piece (weights, sums) is followed around: before the first step of a piece
  comes the last step of the piece before;
* what a piece finds on chip, and what it leaves there: :mod:`formulations.covers.borders`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from formulations.covers.borders import Borders, Inner
from formulations.covers.listed import REST, Listed, Use
from formulations.covers.rows import OF_TIME, SegmentRows
from formulations.covers.steps import Amounts, Spans, UseTable
from formulations.solver.highs import Repeated, solve
from formulations.solver.program import Floats, Program, SolverResult, SolverStatus
from spmopt.core.pieces.certificate import Row
from spmopt.core.pieces.segments import Segment
from spmopt.core.table import Bools, Ints

_OF_TENSORS = ("grows", "holds", "stores", "comes", "rests", "less", "spared", "sums")
"""Rows that are of a tensor."""
OPTIONS: dict[str, bool | int | float | str] = {
    "solver": "simplex",
    "simplex_strategy": 1,
    "simplex_dual_edge_weight_strategy": 1,  # Devex: a quarter less time than the steepest edge
    "presolve": "off",
}


@dataclass(frozen=True, slots=True)
class SegmentValue:
    """What a segment costs at least, in objective units, and how much it moves then.

    Attributes
    ----------
    prices
        Of rows, by the names that ``spmopt.verifier.segment_bound`` gives them.
    """

    value: float
    moved_bytes: float
    prices: dict[Row, float] = field(default_factory=dict)


def renamed(found: SegmentValue, names: Mapping[int, int]) -> SegmentValue:
    """Return the values of a segment for one that has other tensors in the same places."""
    prices = {
        (row[0], names[int(row[1])], *row[2:]) if row[0] in _OF_TENSORS else row: price
        for row, price in found.prices.items()
    }
    return replace(found, prices=prices)


def classes(pieces: int, *, fine: bool) -> list[int]:
    """Return how many pieces each class has, in order: all, or the first, others and the last."""
    if not fine or pieces == 1:
        return [pieces]
    return [1, 1] if pieces == 2 else [1, pieces - 2, 1]


class SegmentProgram(SegmentRows):
    """The program of a segment.

    Parameters
    ----------
    held
        Bytes that may be on chip before and after it: the scratchpad's for a bound; with 0 it
        prices the segment as one that begins and ends with nothing on chip.
    handed
        Say what is handed over at both ends, tensor by tensor, so that it can be priced.
    fine
        Tell the first and the last piece from the others.
    inner
        What its steps cost in any segment of as many pieces that has them: in each piece others
        may come before and after, and what these leave on chip, or find there, is not known.
    """

    def __init__(
        self,
        listed: Listed,
        segment: Segment,
        held: float,
        *,
        handed: bool = False,
        fine: bool = False,
        inner: bool = False,
    ) -> None:
        super().__init__(listed, segment, held, classes(segment.pieces, fine=fine), handed=handed)
        objective = listed.objective
        prices = (float(objective.cycle) / listed.bytes_per_cycle, float(objective.dram_in_byte))
        # In joules a byte's price is below the solver's tolerance.
        self.price = max(*prices, float(objective.dram_out_byte)) or 1.0
        self.serial_in, self.serial_out = Amounts(), Amounts()
        self.constant_in, self.constant_out = np.zeros((2, self.width))
        self._alike: dict[int, list[int]] = {}
        self.inner = inner
        self.ends = Inner(self) if inner else Borders(self)
        uses = self._uses()
        if uses[False]:
            table = self._table(uses[False])
            for number in range(len(self.counts)):
                self._cut(table, number)
        if uses[True]:
            self._whole(self._table(uses[True]))
        self.ends.close()
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
                key = (
                    self.group(tensor),
                    *(
                        (step, use.reads, use.writes, use.live_after, use.passes, use.stationary)
                        for step, use in touched
                    ),
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
        answer = solve(self.program(), options=OPTIONS, brief=True)
        return self._valued(answer, priced=True)

    def solve_twice(self) -> tuple[SegmentValue, SegmentValue]:
        """Solve it, then as one that begins and ends with nothing on chip.

        The second, from the basis of the first, has no prices: it bounds nothing.

        Raises
        ------
        ArithmeticError
            The solver found no optimum.
        """
        solver, rows = Repeated(self.program(), OPTIONS), self.ends.caps
        held = self._valued(solver.solve(), priced=True)
        if not rows.size:
            return held, held
        for row in rows.tolist():
            solver.sides(row, -np.inf, 0.0)
        return held, self._valued(solver.solve(), priced=False)

    def _valued(self, answer: SolverResult, *, priced: bool) -> SegmentValue:
        value = self.value(answer)
        if not np.isfinite(value):
            return SegmentValue(value=value, moved_bytes=0.0)
        return SegmentValue(
            value=value,
            moved_bytes=self._moved(answer),
            prices=self.prices(answer) if priced else {},
        )

    def value(self, answer: SolverResult) -> float:
        """Return the value that a solver found, in objective units.

        Raises
        ------
        ArithmeticError
            It found no optimum.
        """
        if answer.status is SolverStatus.INFEASIBLE:
            return np.inf
        if answer.status is not SolverStatus.OPTIMAL or answer.objective is None:
            raise ArithmeticError(f"segment {self.segment}: {answer.status}")
        return answer.objective * self.unit * self.price

    def program(self) -> Program:
        """Return the program as arrays; what is handed over costs nothing."""
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

    def prices(self, answer: SolverResult) -> dict[Row, float]:
        """Return the prices of rows, in objective units."""
        return self.named.prices(self.row_dual(answer))

    def row_dual(self, answer: SolverResult) -> Floats:
        """Return the prices of rows by number, in objective units."""
        assert answer.row_dual is not None
        dual: Floats = answer.row_dual * self.price
        for rows, below, above in self._sides:
            # The solver's are of the wrong sign by its tolerance.
            dual[rows] = np.clip(dual[rows], 0.0 if below else None, 0.0 if above else None)
        return dual

    def _owners(self, uses: UseTable) -> list[list[int]]:
        return [self._alike[tensor] for tensor in uses.tensors]

    def _cut(self, uses: UseTable, number: int) -> None:
        """Follow tensors that are cut along one piece; bytes are those of all pieces of a class."""
        builder, steps, share = self.builder, self.at(number), self.counts[number] / self.pieces
        size, owners = uses.size * share, self._owners(uses)
        followed = np.array([self.group(t) != REST for t in uses.tensors], bool)
        spans = Spans(uses, followed)
        now = self.columns(spans.there, size, np.where(uses.fixed, size, 0.0))
        self.room.add(steps, now, 1.0)
        begins = self.columns(uses.begins, size[:, 0])
        before = np.concatenate((begins[:, None], now[:, :-1]), axis=1)
        load = self.columns(spans.loaded, size)
        self._transfer(number, load, self.into, self.serial_in, uses.fixed)
        grows = self.rows("grows", spans.grown, (-np.inf, 0.0), owners, number)
        builder.add(grows, now, 1.0)
        builder.add(np.where(spans.grown, grows, -1), before, -1.0)
        builder.add(grows, load, -1.0)
        newer, store = self.columns(spans.stored, size), self.columns(spans.stored, size)
        self._transfer(number, store, self.out, self.serial_out, uses.fixed & uses.writes)
        newer_before = np.concatenate((np.full_like(now[:, :1], -1), newer[:, :-1]), axis=1)
        holds = self.rows("holds", spans.held, (0.0, np.inf), owners, number)
        builder.add(holds, now, 1.0)
        builder.add(holds, newer_before, -1.0)
        stores = self.rows("stores", spans.stored, (0.0, 0.0), owners, number)
        builder.add(stores, newer, 1.0)
        builder.add(stores, store, 1.0)
        builder.add(stores, np.where(uses.writes, now, newer_before), -1.0)
        into = np.where(uses.reads, uses.passes, (uses.passes - 1) * uses.live)
        out = uses.passes * (uses.writes & uses.live)
        self._stream(uses, number, now, (into, out), share)
        ends = np.where(uses.ends, now[:, -1], -1)
        self.ends.cut(uses, number, begins, ends, newer[:, -1])

    def _transfer(
        self, number: int, column: Ints, moved: Amounts, serial: Amounts, fixed: Bools
    ) -> None:
        """Move the bytes of a column in each step, before or after computing where ``fixed``."""
        moved.add(self.at(number), column, 1.0)
        serial.add(self.at(number), np.where(fixed, column, -1), 1.0)

    def _stream(
        self,
        uses: UseTable,
        number: int,
        resident: Ints,
        moved: tuple[Floats, Floats],
        share: float,
    ) -> None:
        """Move what is not resident, in and out so often, of so many times the size."""
        used, steps = np.where(uses.used, resident, -1), self.at(number)
        into, out = (np.where(uses.used, each, 0.0) for each in moved)
        self.into.add(steps, used, -into)
        self.out.add(steps, used, -out)
        self.constant_in[steps] += (into * uses.size * share).sum(axis=0)
        self.constant_out[steps] += (out * uses.size * share).sum(axis=0)

    def _whole(self, uses: UseTable) -> None:
        """Follow tensors that are whole to each piece, around; bytes are sums over pieces."""
        size, every = uses.size, np.ones(uses.used.shape, bool)
        summed = uses.writes[np.arange(len(uses.tensors)), uses.first]
        if self.inner:
            self._whole_inner(uses, summed)
            return
        begins = rest = self.columns(uses.begins, size[:, 0])
        there, parts = uses.begins, list[tuple[Ints, Ints, Ints]]()
        for number, count in enumerate(self.counts):
            most = count * size
            resident = self.columns(every, most, np.where(uses.fixed, most, 0.0))
            self.room.add(self.at(number), resident, 1.0)
            load = self.columns(every, most)
            self._transfer(number, load, self.into, self.serial_in, uses.fixed)
            store = self.columns(every & summed[:, None], most)
            self._transfer(number, store, self.out, self.serial_out, uses.fixed)
            parts.append((resident, load, store))
            rest = self._around(uses, number, (resident, load, rest), there)
            self._stream_whole(uses, number, resident, summed)
            there = np.ones_like(there)
        left = self.columns(summed & uses.ends, size[:, 0])
        if summed.any():
            self._sums(uses, summed, parts, (begins, left))
        self.ends.whole(uses, begins, np.where(uses.ends, rest, -1), left)

    def _whole_inner(self, uses: UseTable, summed: Bools) -> None:
        """Follow them along each piece, as what is cut: others are between its last and first step.

        What is summed up may be stored by others as well, and is found by each piece but the first.
        """
        builder, steps, most = self.builder, self.at(0), self.pieces * uses.size
        resident = self.columns(
            np.ones(uses.used.shape, bool), most, np.where(uses.fixed, most, 0.0)
        )
        load = self.columns(np.ones(uses.used.shape, bool), most)
        found = self.columns(len(uses.tensors), most[:, 0])
        self.room.add(steps, resident, 1.0)
        self._transfer(0, load, self.into, self.serial_in, uses.fixed)
        before = np.concatenate((found[:, None], resident[:, :-1]), axis=1)
        anew = np.where(uses.writes & ~uses.reads, uses.size, 0.0)
        grows = self.rows("grows", load >= 0, (-np.inf, anew), self._owners(uses), 0)
        for column, sign in ((resident, 1.0), (before, -1.0), (load, -1.0)):
            builder.add(grows, column, sign)
        self._stream_whole(uses, 0, resident, summed)
        self._less(uses, summed, [(resident, load, load)])
        self.ends.whole(uses, found, found, found)

    def _around(
        self, uses: UseTable, number: int, columns: tuple[Ints, Ints, Ints], there: Bools
    ) -> Ints:
        """Add rows of what pieces of a class find of the one before; return what the last leaves.

        ``there``: (t,) whether what the class begins with is known.
        """
        builder, owners, count = self.builder, self._owners(uses), self.counts[number]
        resident, load, rest = columns
        last = number == len(self.counts) - 1
        first = number == 0
        if count == 1:
            left = resident[:, -1]
        else:  # Of the last class only what is handed over matters.
            some = uses.ends if last else np.ones_like(uses.ends)
            left = self.columns(some, uses.size[:, 0])
            rests = self.rows("rests", some, (-np.inf, 0.0), owners, number)
            builder.add(rests, left, 1.0)
            builder.add(rests, resident[:, -1], -1.0)
        free = np.where(uses.writes & ~uses.reads, uses.size, 0.0) if first else 0.0
        free = np.broadcast_to(free, load.shape)
        grows = self.rows("grows", np.ones(load.shape, bool), (-np.inf, free), owners, number)
        builder.add(grows, load, -1.0)
        builder.add(grows[:, 0], rest, -1.0)
        builder.add(grows[:, 1:], resident[:, 1:], 1.0)
        builder.add(grows[:, 1:], resident[:, :-1], -1.0)
        if count == 1:
            builder.add(grows[:, 0], resident[:, 0], 1.0)
            return left
        builder.add(grows[:, 0], left, 1.0)
        if self.steps > 1:  # else each piece finds what the one before left
            builder.add(grows[:, 0], resident[:, 0], 1.0)
            builder.add(grows[:, 0], resident[:, -1], -1.0)
        # What is never there is streamed by each piece.
        comes = self.rows("comes", uses.used & there[:, None], (-np.inf, 0.0), owners, number)
        builder.add(comes, resident, 1.0)
        builder.add(comes, rest[:, None], -float(count))
        tensor, step = np.nonzero(comes >= 0)
        builder.add(comes[tensor, step][:, None], load[tensor], -float(count))
        return left

    def _stream_whole(self, uses: UseTable, number: int, resident: Ints, summed: Bools) -> None:
        """Move what is not resident of tensors that are whole to each piece.

        A class of the first piece alone has nothing to read of a sum that it writes anew, one of
        the last alone nothing to store of a sum that is dead in the end.
        """
        rows, count = np.arange(len(uses.tensors)), self.counts[number]
        into = uses.passes.copy()
        out = uses.passes * summed[:, None]
        if count == 1 and number == 0:
            into[rows, uses.first] -= summed & ~uses.begins
        if count == 1 and number == len(self.counts) - 1:
            out[rows, uses.last] *= ~(summed & ~uses.ends)
        self._stream(uses, number, resident, (into, out), float(count))

    def _sums(
        self,
        uses: UseTable,
        summed: Bools,
        parts: list[tuple[Ints, Ints, Ints]],
        handed: tuple[Ints, Ints],
    ) -> None:
        """Move what is added up: every load of a sum needs a store before, and one more at last."""
        builder, size, owners = self.builder, uses.size[:, 0], self._owners(uses)
        begins, left = handed
        ends, there = summed & uses.ends, summed & uses.begins
        self._less(uses, summed, parts)
        # Bytes on chip leave by a store, but for those that are dead when the segment ends.
        least = size * (ends.astype(float) - there) - uses.used.sum(axis=1) * self.pieces * size
        row = self.rows("sums", summed, (least, np.inf), owners)
        for resident, load, store in parts:
            for column, sign in ((store, 1.0), (load, -1.0), (resident, -1.0)):
                some = uses.used if column is resident else np.ones_like(uses.used)
                builder.add(np.where(some, row[:, None], -1), column, sign)
        builder.add(row, begins, -1.0)
        builder.add(row, left, 1.0)

    def _less(self, uses: UseTable, summed: Bools, parts: list[tuple[Ints, Ints, Ints]]) -> None:
        """Move less of what is added up than each piece would.

        Of a sum that is written anew the first piece has nothing to read; of one that is dead in
        the end the last piece stores nothing.
        """
        builder, size, owners = self.builder, uses.size[:, 0], self._owners(uses)
        rows = np.arange(len(uses.tensors))
        for kind, some, step, passes, number, amounts in (
            ("less", summed & ~uses.begins, uses.first, np.ones(rows.size), 0, self.into),
            ("spared", summed & ~uses.ends, uses.last, uses.passes[rows, uses.last], -1, self.out),
        ):
            count, (resident, _, _) = self.counts[number], parts[number]
            if count == 1:
                continue
            less = self.columns(some, passes * size)
            row = self.rows(kind, some, (-np.inf, passes * count * size), owners)
            builder.add(row, less, 1.0)
            builder.add(row, resident[rows, step], passes)
            amounts.add(step + (number % len(self.counts)) * self.steps, less, -1.0)

    def _durations(self) -> Ints:
        """Rows of the room and of the time of each step; the columns of the time."""
        listed, builder, machine = self.listed, self.builder, self.listed.listing.machine
        self.named.times |= dict.fromkeys(OF_TIME, float(machine.clock_hz))
        free = listed.capacity * np.repeat(self.counts, self.steps)
        free = free - self._of_pieces(listed.scratch_of(self.pieces))
        self._add(self._by_step("room", (-np.inf, free)), 1.0, self.room)
        if not listed.objective.cycle:
            return np.empty(0, np.int64)
        computing = listed.bytes_per_cycle * self._of_pieces(listed.cycles_of(self.pieces))
        time, serial = self.columns(self.width, np.inf, computing), np.zeros(self.width, bool)
        serial[Amounts.all(self.serial_in, self.serial_out)[0]] = True
        rows = self._by_step("waits", (computing, np.inf), serial)
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
            rows = self._by_step(kind, (constant, np.inf))
            builder.add(rows, time, 1.0)
            self._add(rows, -1.0, *both)
        return time

    def _by_step(
        self, kind: str, sides: tuple[Floats | float, Floats | float], where: Bools | None = None
    ) -> Ints:
        """Add a row for each step of each class (c * m,)."""
        shape = len(self.counts), self.steps
        some = np.ones(shape, bool) if where is None else where.reshape(shape)
        lower, upper = (np.broadcast_to(side, self.width).reshape(shape) for side in sides)
        return self.rows(kind, some, (lower, upper)).ravel()

    def _of_pieces(self, figures: tuple[Floats, Floats]) -> Floats:
        """Add up figures of first and later pieces, by class and step (c * m,)."""
        here = slice(self.segment.begin, self.segment.end)
        first, later = (figure[here] for figure in figures)
        return np.concatenate(
            [
                first + (count - 1) * later if number == 0 else count * later
                for number, count in enumerate(self.counts)
            ]
        )

    def _add(self, rows: Ints, sign: float, *amounts: Amounts) -> None:
        """Add amounts to the rows of their steps."""
        step, column, times = Amounts.all(*amounts)
        self.builder.add(rows[step], column, sign * times)
