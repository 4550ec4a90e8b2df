"""The least that a segment costs, whatever happens outside: a small linear program.

Variables are sums over the pieces of a class: all of them, or the first, those between and the
last. Every row is a sum over pieces of rules of PROBLEM.md for single steps, or lacks something of
it, so that any schedule of any cover with the segment is a solution of no higher cost:

* a tensor that is cut is tracked along one piece, from the segment's first step to its last;
* what all pieces share is tracked around them: :mod:`formulations.covers.shared_tensors`;
* what a piece finds on chip, and what it leaves there: :mod:`formulations.covers.borders`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from formulations.covers.borders import Borders, Inner
from formulations.covers.listed import REST, Listed, Use
from formulations.covers.rows import OF_TIME, SegmentRows
from formulations.covers.shared_tensors import SharedTensors
from formulations.covers.steps import Amounts, Spans, UseTable
from formulations.solver.highs import Repeated, solve
from formulations.solver.program import Floats, Program, SolverResult, SolverStatus
from spmopt.core.pieces.certificate import Row
from spmopt.core.pieces.segments import Segment
from spmopt.core.table import Bools, Ints

_OF_TENSORS = ("grows", "holds", "stores", "comes", "rests", "less", "spared", "sums")
"""Rows that are of a tensor."""
_PROGRAM_S, _ENTRY_S, _SOLVE_S, _LIKE_S = 3e-3, 1.5e-6, 6e-4, 7e-4
"""Seconds that it takes to build a program, and those for each entry; to solve one, and iterations
beside; and to take the values of a segment for one like it."""
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
    work_s
        Seconds that it takes to build and solve its program, by what is counted.
    """

    value: float
    moved_bytes: float
    prices: dict[Row, float] = field(default_factory=dict)
    work_s: float = field(default=0.0, compare=False)


def renamed(found: SegmentValue, names: Mapping[int, int]) -> SegmentValue:
    """Return the values of a segment for one that has other tensors in the same places."""

    def named(row: Row) -> Row:
        if row[0] not in _OF_TENSORS:
            return row
        kind, tensor, *rest = row
        assert isinstance(tensor, int)
        return kind, names[tensor], *rest

    prices = {named(row): price for row, price in found.prices.items()}
    return replace(found, prices=prices, work_s=_LIKE_S)


def work_s(program: Program, *answers: SolverResult, built: bool = True) -> float:
    """Return about how long it takes to solve a program, once or more often, and to build it."""
    building = _PROGRAM_S + _ENTRY_S * program.matrix.index.size
    return building * built + sum(_SOLVE_S + answer.work_s for answer in answers)


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
    carried
        Say what is carried across both ends, tensor by tensor, so that it can be priced.
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
        carried: bool = False,
        fine: bool = False,
        inner: bool = False,
    ) -> None:
        super().__init__(listed, segment, held, classes(segment.pieces, fine=fine), carried=carried)
        objective = listed.objective
        prices = (float(objective.cycle) / listed.bytes_per_cycle, float(objective.dram_in_byte))
        # In joules a byte's price is below the solver's tolerance.
        self.price = max(*prices, float(objective.dram_out_byte)) or 1.0
        self._alike: dict[int, list[int]] = {}
        self.ends = Inner(self) if inner else Borders(self)
        uses = self._uses()
        if uses[False]:
            table = self._table(uses[False])
            for number in range(len(self.counts)):
                self._cut(table, number)
        if uses[True]:
            shared = SharedTensors(self, self.ends, self._table(uses[True]))
            if inner:
                shared.track_inner()
            else:
                shared.track()
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
        return UseTable(self.steps, uses, self._alike, self.listed.sizes)

    def solve(self) -> SegmentValue:
        """Solve it; infinite where what must be on chip does not fit.

        Raises
        ------
        ArithmeticError
            The solver found no optimum.
        """
        program = self.program()
        answer = solve(program, options=OPTIONS, brief=True)
        return replace(self._valued(answer, priced=True), work_s=work_s(program, answer))

    def solve_twice(self) -> tuple[SegmentValue, SegmentValue]:
        """Solve it, then as one that begins and ends with nothing on chip.

        The second, from the basis of the first, has no prices: it bounds nothing.

        Raises
        ------
        ArithmeticError
            The solver found no optimum.
        """
        program, rows = self.program(), self.ends.caps
        solver = Repeated(program, OPTIONS)
        first = solver.solve()
        held = replace(self._valued(first, priced=True), work_s=work_s(program, first))
        if not rows.size:
            return held, held
        for row in rows.tolist():
            solver.sides(row, -np.inf, 0.0)
        answer = solver.solve()
        both = work_s(program, first, answer)
        return replace(held, work_s=both), self._valued(answer, priced=False)

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
        """Return the program as arrays; what is carried across its ends costs nothing."""
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

    def _cut(self, uses: UseTable, number: int) -> None:
        """Track tensors that are cut along one piece; bytes are those of all pieces of a class."""
        builder, steps, share = self.builder, self.at(number), self.counts[number] / self.pieces
        size, owners = uses.size * share, uses.owners
        followed = np.array([self.group(t) != REST for t in uses.tensors], bool)
        spans = Spans(uses, followed)
        now = self.columns(spans.there, size, np.where(uses.fixed, size, 0.0))
        self.room.add(steps, now, 1.0)
        begins = self.columns(uses.begins, size[:, 0])
        before = np.concatenate((begins[:, None], now[:, :-1]), axis=1)
        load = self.columns(spans.loaded, size)
        self.load(number, load, uses.fixed)
        grows = self.rows("grows", spans.grown, (-np.inf, 0.0), owners, number)
        builder.add(grows, now, 1.0)
        builder.add(np.where(spans.grown, grows, -1), before, -1.0)
        builder.add(grows, load, -1.0)
        newer, store = self.columns(spans.stored, size), self.columns(spans.stored, size)
        self.store(number, store, uses.fixed & uses.writes)
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
        self.stream(uses, number, now, (into, out), share)
        ends = np.where(uses.ends, now[:, -1], -1)
        self.ends.cut(uses, number, begins, ends, newer[:, -1])

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
