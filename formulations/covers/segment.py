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

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from formulations.covers.listed import Listed, Use
from formulations.solver.highs import solve
from formulations.solver.program import Matrix, Program, SolverResult, SolverStatus
from spmopt.core.listing import Row, Segment

Terms = list[tuple[int, float]]
_OF_TIME = ("moves", "reads", "writes", "waits")
_LESS = 1 - 1e-12
_OPTIONS: dict[str, bool | int | float | str] = {
    "solver": "simplex",
    "simplex_strategy": 1,
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
        self.cost: list[float] = []
        self.upper: list[float] = []
        self.lower: list[float] = []
        self.rows: list[tuple[float, float, Terms]] = []
        self.names: list[tuple[Row, float]] = []
        self.into: list[Terms] = [[] for _ in range(self.steps)]
        self.out: list[Terms] = [[] for _ in range(self.steps)]
        self.serial_in: list[Terms] = [[] for _ in range(self.steps)]
        self.serial_out: list[Terms] = [[] for _ in range(self.steps)]
        self.constant_in, self.constant_out = np.zeros((2, self.steps))
        self.room: list[Terms] = [[] for _ in range(self.steps)]
        self.found: Terms = []
        self.left: Terms = []
        uses: dict[int, list[tuple[int, Use]]] = {}
        for step in range(self.steps):
            for use in listed.modes(segment.begin + step, self.pieces):
                uses.setdefault(use.tensor, []).append((step, use))
        for tensor, touched in uses.items():
            if touched[0][1].shared:
                self._whole(tensor, touched)
            else:
                self._own(tensor, touched)
        self._borders()
        self._durations()

    def solve(self) -> SegmentValue:
        """Solve it; infinite where what must be on chip does not fit.

        Raises
        ------
        ArithmeticError
            The solver found no optimum.
        """
        program = self._program()
        answer = solve(program, options=_OPTIONS, brief=True)
        if answer.status is SolverStatus.INFEASIBLE:
            return SegmentValue(value=np.inf, moved_bytes=0.0)
        if answer.status is not SolverStatus.OPTIMAL or answer.primal is None:
            raise ArithmeticError(f"segment {self.segment}: {answer.status}")
        return SegmentValue(
            value=self._value(answer),
            moved_bytes=self._moved(answer),
            prices=self._prices(answer),
        )

    def _prices(self, answer: SolverResult) -> dict[Row, float]:
        """Return the prices of rows, in objective units; those of the time are legal together."""
        assert answer.row_dual is not None
        found = {}
        for (name, times), (lower, upper, _), dual in zip(
            self.names, self.rows, answer.row_dual, strict=True
        ):
            # The solver's are of the wrong sign by its tolerance.
            sided = min(dual, 0.0) if lower == -np.inf else dual
            sided = max(sided, 0.0) if upper == np.inf else sided
            if sided:
                found[name] = float(sided) * self.price / times
        machine, cycle = self.listed.listing.machine, float(self.listed.objective.cycle)
        for step in range(self.steps):
            timed = [(kind, step) for kind in _OF_TIME if found.get((kind, step), 0.0)]
            total = machine.dram_bytes_per_s * sum(max(found[row], 0.0) for row in timed)
            for row in timed:
                found[row] = max(found[row], 0.0) * min(1.0, cycle * _LESS / max(total, 1e-300))
        return found

    def _value(self, answer: SolverResult) -> float:
        assert answer.objective is not None
        return answer.objective * self.unit * self.price

    def _moved(self, answer: SolverResult) -> float:
        assert answer.primal is not None
        linear = (each for step in range(self.steps) for each in self.into[step] + self.out[step])
        moved = sum(answer.primal[column] * value for column, value in linear)
        return float(moved * self.unit + self.constant_in.sum() + self.constant_out.sum())

    def _new(self, upper: float, lower: float = 0.0) -> int:
        """Add a variable of bytes."""
        self.cost.append(0.0)
        self.upper.append(upper / self.unit)
        self.lower.append(lower / self.unit)
        return len(self.cost) - 1

    def _row(
        self, lower: float, upper: float, terms: Terms, *name: str | int, times: float = 1.0
    ) -> None:
        """Add a row of bytes; its name and multiple in ``spmopt.verifier.segment_bound``."""
        self.rows.append((lower / self.unit, upper / self.unit, terms))
        self.names.append((name, times))

    def _move(self, step: int, column: int, into: float = 0.0, out: float = 0.0) -> None:
        if into:
            self.into[step].append((column, into))
        if out:
            self.out[step].append((column, out))

    def _own(self, tensor: int, touched: list[tuple[int, Use]]) -> None:
        """Follow a tensor that is cut along one piece; bytes are those of all pieces."""
        size, last = float(self.listed.sizes[tensor]), touched[-1][0]
        at = dict(touched)
        live = held = touched[0][1].reads
        before = dirty = -1
        if live:
            before = self._new(size)
            self.found.append((before, 1.0))
        stores = touched[-1][1].live_after and any(use.writes for _, use in touched)
        for step in range(self.steps if stores else last + 1):
            use = at.get(step)
            if use is None and not live:
                continue
            fixed = use is not None and use.stationary
            now = self._new(size, size if fixed else 0.0)
            self.room[step].append((now, 1.0 / self.pieces))
            if use is None or use.reads or not use.writes:
                growth: Terms = [(now, 1.0)] + ([(before, -1.0)] if held else [])
                if step <= last:
                    growth.append((self._loaded(step, size, serial=fixed), -1.0))
                self._row(-np.inf, 0.0, growth, "grows", tensor, step)
                if dirty >= 0:
                    held_on = [(now, 1.0), (dirty, -1.0)]
                    self._row(0.0, np.inf, held_on, "holds", tensor, step)
            before = now
            if use is not None:
                self._stream(step, use, now, size, pieces=1.0)
                live = use.live_after
            held = live
            if not live:
                dirty = -1
            elif use is not None and use.writes:
                dirty = self._stored(tensor, step, now, serial=fixed)
            elif dirty >= 0:
                dirty = self._stored(tensor, step, dirty, serial=False)
        if dirty >= 0:
            self.left.append((dirty, 1.0))

    def _loaded(self, step: int, size: float, *, serial: bool) -> int:
        """Return bytes that are loaded in a step."""
        load = self._new(size)
        self._move(step, load, into=1.0)
        if serial:
            self.serial_in[step].append((load, 1.0))
        return load

    def _stored(self, tensor: int, step: int, before: int, *, serial: bool) -> int:
        """Return bytes newer than DRAM after a step: those before, less what it stores."""
        size = float(self.listed.sizes[tensor])
        store, after = self._new(size), self._new(size)
        self._move(step, store, out=1.0)
        if serial:
            self.serial_out[step].append((store, 1.0))
        terms = [(after, 1.0), (store, 1.0), (before, -1.0)]
        self._row(0.0, 0.0, terms, "stores", tensor, step)
        return after

    def _stream(self, step: int, use: Use, resident: int, size: float, pieces: float) -> None:
        """Move what is not resident in a step, in ``pieces`` times ``size`` less ``resident``."""
        into = float(use.passes) if use.reads else use.passes - 1.0
        out = float(use.passes) if use.writes and use.live_after else 0.0
        if use.writes and not use.reads and not use.live_after:
            into = 0.0
        self._move(step, resident, -into * pieces, -out * pieces)
        self.constant_in[step] += into * pieces * size
        self.constant_out[step] += out * pieces * size

    def _whole(self, tensor: int, touched: list[tuple[int, Use]]) -> None:
        """Follow a tensor that is whole to each piece, around; bytes are means over pieces."""
        size, pieces = float(self.listed.sizes[tensor]), float(self.pieces)
        at = dict(touched)
        begun = not touched[0][1].reads
        before = -1
        if not begun:
            before = self._new(size)
            self.found.append((before, 1.0))
        resident = [
            self._new(size, size if step in at and at[step].stationary else 0.0)
            for step in range(self.steps)
        ]
        loads: Terms = []
        stores: Terms = []
        for step, now in enumerate(resident):
            self.room[step].append((now, 1.0))
            use = at.get(step)
            fixed = use is not None and use.stationary
            load = self._loaded(step, pieces * size, serial=fixed)
            loads.append((load, 1.0))
            if self.steps > 1:  # else each piece finds what the one before left
                growth: Terms = [(now, pieces), (resident[step - 1], -pieces), (load, -1.0)]
                if step == 0 and not begun:
                    growth.append((before, -1.0))
                fresh = use is not None and use.writes and not use.reads
                self._row(-np.inf, size if fresh else 0.0, growth, "grows", tensor, step)
            if not touched[0][1].writes:
                continue
            store = self._new(pieces * size)
            self._move(step, store, out=1.0)
            stores.append((store, 1.0))
            if use is not None and use.stationary:
                self.serial_out[step].append((store, 1.0))
        for step, _ in touched if not begun else []:
            # Every byte comes once at least.
            come: Terms = [*loads, (before, 1.0), (resident[step], -pieces)]
            self._row(size - pieces * size, np.inf, come, "comes", tensor, step)
        if touched[0][1].writes:
            self._sum(touched, resident, loads, stores, before)
            return
        for step, use in touched:
            self._stream(step, use, resident[step], size, pieces)

    def _sum(
        self,
        touched: list[tuple[int, Use]],
        resident: list[int],
        loads: Terms,
        stores: Terms,
        before: int,
    ) -> None:
        """Move what is added up: every load of a sum needs a store before, and one more at last."""
        tensor = touched[0][1].tensor
        size, pieces = float(self.listed.sizes[tensor]), float(self.pieces)
        live = touched[-1][1].live_after
        streamed: Terms = []
        total = 0.0
        for number, (step, use) in enumerate(touched):
            passes, now = float(use.passes), resident[step]
            self._move(step, now, -passes * pieces, -passes * pieces)
            self.constant_in[step] += passes * pieces * size
            self.constant_out[step] += passes * pieces * size
            streamed.append((now, -pieces))
            total += pieces * size
            if not use.reads:  # the first piece has nothing to read
                less = self._new(size)
                self._row(-np.inf, pieces * size, [(less, 1.0), (now, pieces)], "less", tensor)
                self._move(step, less, into=-1.0)
            if number == len(touched) - 1 and not live:  # nor the last one to keep
                spared = self._new(passes * size)
                terms = [(spared, 1.0), (now, passes * pieces)]
                self._row(-np.inf, passes * pieces * size, terms, "spared", tensor)
                self._move(step, spared, out=-1.0)
        after: Terms = []
        if live:
            kept = self._new(size)
            self.left.append((kept, 1.0))
            after = [(kept, 1.0)]
        begins = [(before, -1.0)] if before >= 0 else []
        # Bytes on chip leave by a store, but for those that are dead when the segment ends.
        least = (size if live else 0.0) if before < 0 else (0.0 if live else -size)
        terms = [*stores, *after, *streamed, *((column, -1.0) for column, _ in loads), *begins]
        self._row(least - total, np.inf, terms, "sums", tensor)

    def _borders(self) -> None:
        """Bound what is on chip before and after the segment, and what pieces leave each other."""
        for name, held, which in (("found", self.found, self.into), ("left", self.left, self.out)):
            if not held:
                continue
            terms = [(column, 1.0) for column, _ in held]
            if self.held:
                terms.append((self._new(self.held), -1.0))
            if self.pieces > 1:
                for step in range(self.steps):
                    moved = self._new(np.inf)
                    which[step].append((moved, 1.0))
                    terms.append((moved, -1.0))
            self._row(-np.inf, 0.0, terms, name)

    def _durations(self) -> None:
        """Rows of the room and of the time of each step, and the costs."""
        listed, begin = self.listed, self.segment.begin
        objective, machine = listed.objective, listed.listing.machine
        cycles = listed.cycles(self.pieces)[begin : self.segment.end]
        scratch = listed.scratch(self.pieces)[begin : self.segment.end]
        rate, clock = listed.bytes_per_cycle, float(machine.clock_hz)
        cycle = float(objective.cycle) / rate
        for step in range(self.steps):
            free = listed.capacity - scratch[step]
            self._row(-np.inf, free, self.room[step], "room", step, times=self.pieces)
            into, out = self.into[step], self.out[step]
            for terms, each in ((into, objective.dram_in_byte), (out, objective.dram_out_byte)):
                for column, value in terms:
                    self.cost[column] += float(each) * value
            if not cycle:
                continue
            time = self._new(np.inf, rate * cycles[step])
            self.cost[time] = cycle
            first, last = self.serial_in[step], self.serial_out[step]
            moved = (self.constant_in[step], self.constant_out[step])
            if first or last:
                waits = [(time, 1.0), *_minus(first), *_minus(last)]
                self._row(rate * cycles[step], np.inf, waits, "waits", step, times=clock)
            if machine.duplex:
                reads = [(time, 1.0), *_minus(into), *_minus(last)]
                writes = [(time, 1.0), *_minus(out), *_minus(first)]
                self._row(moved[0], np.inf, reads, "reads", step, times=clock)
                self._row(moved[1], np.inf, writes, "writes", step, times=clock)
            else:
                moves = [(time, 1.0), *_minus(into), *_minus(out)]
                self._row(sum(moved), np.inf, moves, "moves", step, times=clock)

    def _program(self) -> Program:
        objective = self.listed.objective
        rows = [_together(terms) for _, _, terms in self.rows]
        counts = [len(row) for row in rows]
        entries = [entry for row in rows for entry in row.items()]
        offset = float(objective.dram_in_byte) * self.constant_in.sum()
        offset += float(objective.dram_out_byte) * self.constant_out.sum()
        here = slice(self.segment.begin, self.segment.end)
        offset += float(self.listed.unavoidable(self.pieces)[here].sum())
        return Program(
            cost=np.array(self.cost) / self.price,
            lower=np.array(self.lower),
            upper=np.array(self.upper),
            row_lower=np.array([lower for lower, _, _ in self.rows]),
            row_upper=np.array([upper for _, upper, _ in self.rows]),
            matrix=Matrix(
                start=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
                index=np.array([column for column, _ in entries], np.int64),
                value=np.array([value for _, value in entries], np.float64),
                by_rows=True,
            ),
            offset=offset / self.unit / self.price,
        )


def _minus(terms: Iterable[tuple[int, float]]) -> Terms:
    return [(column, -value) for column, value in terms]


def _together(terms: Terms) -> dict[int, float]:
    """Add up the entries of each column."""
    found: dict[int, float] = {}
    for column, value in terms:
        found[column] = found.get(column, 0.0) + value
    return found
