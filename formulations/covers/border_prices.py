"""Prices at borders as an array: what segments earn by them at most, and programs at them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from formulations.covers.listed import READ, REST, Listed
from formulations.covers.segment import OPTIONS, SegmentProgram
from formulations.solver.highs import Repeated
from formulations.solver.program import Floats, SolverResult
from spmopt.core.pieces.certificate import Row
from spmopt.core.pieces.segments import Segment
from spmopt.core.table import Ints

_PRIMAL = 4
"""HiGHS: the primal simplex method, for a basis that other costs leave feasible."""
_FAR = 1e3
"""Costs of a byte's transfer, for what is not on chip."""


class BorderPrices:
    """Which prices there are: of bytes of a group at a border, and of those newer than DRAM.

    Attributes
    ----------
    count
        How many.
    number
        Of a border, a group, and whether bytes are newer than DRAM.
    """

    def __init__(self, listed: Listed) -> None:
        self.listed, self.capacity = listed, float(listed.capacity)
        self.number: dict[tuple[int, int, bool], int] = {}
        for border, crossed in enumerate(listed.crossing):
            for group in sorted(crossed):
                self.number[border, group, False] = len(self.number)
                if group != READ:
                    self.number[border, group, True] = len(self.number)
        self.count = len(self.number)
        self.groups = sorted({group for _, group, _ in self.number} | {REST})
        self._place = {group: place for place, group in enumerate(self.groups)}
        shape = len(self.groups), listed.count + 1
        self._held, self._newer = np.full((2, *shape), self.count)
        for (border, group, newer), number in self.number.items():
            (self._newer if newer else self._held)[self._place[group], border] = number
        self._gaps = list(self._needed())
        self._writes = list(self._written())
        self._sizes = np.zeros(shape)
        for group, size, first, at, _ in self._gaps:
            self._sizes[group, first : at + 1] += size

    def least(self, prices: Floats, costs: tuple[float, float]) -> Floats:
        """Return (n + 1, n + 1) the least that segments pay at their ends beside other costs.

        Other costs are those of each byte that is needed from before, and of each that is written
        and needed later; ``spmopt.verifier.border_credit`` says why.
        """
        all_prices = np.append(prices, 0.0)
        held, newer = all_prices[self._held], all_prices[self._newer]
        found, left = self._full(held, newer, costs)
        full: Floats = -found[:, None] - left[None, :]
        full = np.maximum(full, self._by_bytes(held, newer, costs))
        return full

    def _full(
        self, held: Floats, newer: Floats, costs: tuple[float, float]
    ) -> tuple[Floats, Floats]:
        """Return (n + 1,) what a full scratchpad is worth at borders, when found and when left."""
        into, out = costs
        stored = np.maximum(out - newer, 0.0)
        if READ in self._place:
            stored[self._place[READ]] = 0.0
        worth = [into - held + np.maximum(newer, 0.0), held + stored]
        return self._worth(worth[0]), self._worth(worth[1])

    def _worth(self, worth: Floats) -> Floats:
        order = np.argsort(-worth, axis=0)
        worth = np.take_along_axis(np.maximum(worth, 0.0), order, axis=0)
        upto = np.minimum(np.take_along_axis(self._sizes, order, axis=0).cumsum(0), self.capacity)
        total: Floats = (worth * np.diff(upto, axis=0, prepend=0.0)).sum(axis=0)
        total[[0, -1]] = 0.0
        return total

    def _by_bytes(self, held: Floats, newer: Floats, costs: tuple[float, float]) -> Floats:
        """Return (n + 1, n + 1) the sum of the least that each byte costs by its way."""
        into, out = costs
        count = self.listed.count
        clean, earned, owed = held.copy(), -held, newer - held
        clean[:, 0] = _FAR * (into + out + held.max(initial=0.0) + newer.max(initial=0.0))
        earned[:, [0, -1]] = 0.0
        owed[:, -1] = out
        dirty, left = clean - newer, np.minimum(0.0, earned)
        loaded, owes = np.minimum(0.0, into + earned), np.minimum(out + left, owed)
        written = np.minimum(left, owed - out)
        used = np.minimum(np.minimum(clean, dirty) - into, 0.0)
        total, at_end, at_begin = np.zeros((3, count + 1, count + 2))
        for group, size, first, at, end in self._gaps:
            rows, columns = slice(first, at), slice(first + 1, at + 1)
            way = np.minimum(
                clean[group, rows, None] + left[group, columns],
                dirty[group, rows, None] + owes[group, columns],
            )
            total[rows, columns] += size * np.minimum(way, loaded[group, columns])
            rows, columns = slice(first, at + 1), slice(at + 1, end + 1)
            if end > at:
                way = np.minimum(
                    clean[group, rows, None] + left[group, columns],
                    dirty[group, rows, None] + owes[group, columns],
                )
                total[rows, columns] += size * np.minimum(way - into, left[group, columns])
            at_end[rows, end + 1] += size * used[group, rows]
        for group, size, wrote, first, last in self._writes:
            columns = slice(first, last + 1)
            at_begin[wrote, columns] += size * written[group, columns]
        total += at_end.cumsum(axis=1) + at_begin[::-1].cumsum(axis=0)[::-1]
        return total[:, :-1]

    def _needed(self) -> Iterator[tuple[int, float, int, int, int]]:
        """Yield where contents are needed: group, bytes, begins of segments that use them next.

        Then the use that comes next, and up to where segments end that do not write them but leave
        them to be needed.
        """
        listed = self.listed
        for tensor, accesses in enumerate(listed.accesses):
            group, before = self._place.get(listed.groups[tensor], self._place[REST]), -1
            size = float(listed.sizes[tensor])
            for number, (at, reads) in enumerate(accesses):
                if reads:
                    end = at
                    for here, _ in accesses[number:]:
                        if tensor in listed.listing.operations[here].writes:
                            break
                        end = self._until(tensor, here)
                    yield group, size, before + 1, at, end
                before = at
            if accesses and listed.listing.tensors[tensor].keep:
                yield group, size, before + 1, listed.count, listed.count

    def _until(self, tensor: int, at: int) -> int:
        """Return up to which border contents are needed after a use."""
        following = [each for each in self.listed.accesses[tensor] if each[0] > at]
        if not following:
            return self.listed.count if self.listed.listing.tensors[tensor].keep else at
        return following[0][0] if following[0][1] else at

    def _written(self) -> Iterator[tuple[int, float, int, int, int]]:
        """Yield group, bytes, the write, and the first and last border before the next read."""
        listed = self.listed
        for tensor, accesses in enumerate(listed.accesses):
            group, wrote = self._place.get(listed.groups[tensor], self._place[REST]), -1
            for at, _ in accesses:
                if tensor in listed.listing.operations[at].writes:
                    wrote = at
                end = self._until(tensor, at)
                if wrote >= 0 and end > at:
                    yield group, float(listed.sizes[tensor]), wrote, at + 1, end

    def named(self, prices: Floats) -> dict[tuple[int, int], tuple[float, float]]:
        """Return the prices of a byte, and of one that is newer than DRAM, by border and group."""
        return {
            (border, group): (
                float(prices[number]),
                0.0 if group == READ else float(prices[number + 1]),
            )
            for (border, group, newer), number in self.number.items()
            if not newer
        }


class PricedSegment:
    """A segment's program, solved at one set of prices after another.

    Attributes
    ----------
    number, sign : (h,)
        Of what it hands over: which price it has, and whether that is paid (1) or earned (-1).
    most, amount, rest : (h,)
        Bytes that there can be and are, and what each costs beside at the prices of rows, its own
        included.
    value
        In objective units; infinite where what must be on chip does not fit.
    size
        Entries of the program.
    """

    def __init__(
        self, listed: Listed, segment: Segment, prices: BorderPrices, *, fine: bool
    ) -> None:
        self.program = SegmentProgram(listed, segment, listed.capacity, handed=True, fine=fine)
        ends, handed = (segment.begin, segment.end), self.program.ends.handed
        self._columns = np.array([column for *_, column in handed], np.int64)
        self.number: Ints = np.array(
            [prices.number[ends[end], group, newer] for end, group, newer, _ in handed], np.int64
        )
        paid = [(end == 0) != newer for end, _, newer, _ in handed]
        self.sign: Floats = np.where(np.array(paid, bool), 1.0, -1.0)
        self.most = self.program.ends.most
        self.value = np.inf
        self.amount, self.rest = np.zeros((2, self.number.size))
        self._solver = Repeated(self.program.program(), OPTIONS)
        self._answer: SolverResult | None = None
        self.size = self._solver.program.matrix.value.size

    def solve(self, prices: Floats) -> None:
        """Solve it at prices in objective units a byte.

        Raises
        ------
        ArithmeticError
            The solver found no optimum.
        """
        program, solver = self.program, self._solver
        if self._answer is not None:
            solver.option("simplex_strategy", _PRIMAL)
        if self._columns.size:
            solver.costs(self._columns, self.sign * prices[self.number] / program.price)
        answer = self._answer = solver.solve()
        self.value = program.value(answer)
        if answer.primal is not None and answer.column_dual is not None:
            self.amount = answer.primal[self._columns] * program.unit
            self.rest = answer.column_dual[self._columns] * program.price

    def rows(self) -> dict[Row, float]:
        """Return the prices of rows where it was solved the last time."""
        assert self._answer is not None
        return self.program.prices(self._answer) if np.isfinite(self.value) else {}
