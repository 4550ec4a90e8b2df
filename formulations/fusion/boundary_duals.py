"""Dual values at boundaries as an array.

Upper bounds on the earnings of groups, and programs at them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.fusion.fused_group import OPTIONS, FusedGroupProgram, work_s
from formulations.fusion.tileable import REST, Listed
from formulations.fusion.work import FOLLOW_S
from formulations.solver.highs import Repeated
from formulations.solver.program import Floats, SolverResult
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.table import Ints

_PRIMAL = 4
"""HiGHS: the primal simplex method, for a basis that other costs leave feasible."""
_FAR = 1e3
"""Costs of a byte's transfer, for non-resident bytes."""


@dataclass(frozen=True, kw_only=True, eq=False)
class _Ways:
    """Fused groups by begin and end, and for each so many bytes of a group of tensors."""

    group: NDArray[np.int32]
    begin: NDArray[np.int32]
    end: NDArray[np.int32]
    size: Floats

    def sum_up(self, costs: Floats, count: int) -> Floats:
        """Return (n + 1, n + 2) the costs of all bytes of fused groups, at costs of a byte each."""
        shape = count + 1, count + 2
        place = self.begin * shape[1] + self.end
        total = np.bincount(place, self.size * costs, shape[0] * shape[1])
        return total.reshape(shape).astype(np.float64, copy=False)


def _ways(blocks: Iterable[tuple[int, float, tuple[int, int], tuple[int, int]]]) -> _Ways:
    """Sum up bytes of a group over groups of begins and ends [first, last), block by block."""
    by_group: dict[int, list[tuple[float, tuple[int, int], tuple[int, int]]]] = {}
    for number, amount, rows, columns in blocks:
        if rows[0] < rows[1] and columns[0] < columns[1]:
            by_group.setdefault(number, []).append((amount, rows, columns))
    found: list[tuple[Ints, Ints, Ints, Floats]] = []
    for number, each in by_group.items():
        # Most groups are one tensor, which few fused groups meet.
        first = min(rows[0] for _, rows, _ in each), min(columns[0] for *_, columns in each)
        last = max(rows[1] for _, rows, _ in each), max(columns[1] for *_, columns in each)
        total = np.zeros((last[0] - first[0], last[1] - first[1]))
        for amount, rows, columns in each:
            here = [slice(*(np.array(o) - f)) for o, f in zip((rows, columns), first, strict=True)]
            total[here[0], here[1]] += amount
        begin, end = np.nonzero(total)
        some = begin + first[0] < end + first[1]
        begin, end = begin[some], end[some]
        found.append(
            (np.full(begin.size, number), begin + first[0], end + first[1], total[begin, end])
        )
    none = np.empty(0, np.int64)
    groups, firsts, ends, sizes = zip(*found, (none, none, none, np.empty(0)), strict=True)
    # Of training there are millions.
    return _Ways(
        group=np.concatenate(groups, dtype=np.int32),
        begin=np.concatenate(firsts, dtype=np.int32),
        end=np.concatenate(ends, dtype=np.int32),
        size=np.concatenate(sizes),
    )


class BoundaryDuals:
    """Which dual values there are: of bytes of a group at a boundary, and of those newer than DRAM.

    Attributes
    ----------
    count
        How many.
    number
        Of a boundary, a group, and whether bytes are newer than DRAM.
    """

    def __init__(self, listed: Listed) -> None:
        self.listed, self.capacity = listed, float(listed.capacity)
        self.number: dict[tuple[int, int, bool], int] = {}
        for boundary, crossed in enumerate(listed.crossing):
            for group in sorted(crossed):
                self.number[boundary, group, False] = len(self.number)
                if group in listed.written:
                    self.number[boundary, group, True] = len(self.number)
        self.count = len(self.number)
        priced = {group for _, group, _ in self.number} | {REST}
        groups = [group if group in priced else REST for group in listed.groups]
        # Bytes of a group have one dual value, and cost as many moved bytes as their ratio says.
        self._kinds = [*zip(groups, listed.ratios, strict=True)]
        places = sorted({*self._kinds, *((group, 1.0) for group in priced)})
        self._place = {each: place for place, each in enumerate(places)}
        self._ratio = np.array([ratio for _, ratio in places])[:, None]
        self._reads = np.array([group not in {REST, *listed.written} for group, _ in places])
        shape = len(places), listed.count + 1
        self._held, self._newer = np.full((2, *shape), self.count)
        of_group: dict[int, list[int]] = {}
        for place, (group, _) in enumerate(places):
            of_group.setdefault(group, []).append(place)
        for (boundary, group, newer), number in self.number.items():
            (self._newer if newer else self._held)[of_group[group], boundary] = number
        gaps = list(self._require())
        self._sizes = np.zeros(shape)
        for group, size, first, at, _ in gaps:
            self._sizes[group, first : at + 1] += size
        # Fused groups that end before contents are needed, and that use them but do not write them.
        self._before = _ways(
            (group, size, (first, at), (first + 1, at + 1)) for group, size, first, at, _ in gaps
        )
        self._within = _ways(
            (group, size, (first, at + 1), (at + 1, end + 1))
            for group, size, first, at, end in gaps
        )
        # Those that use contents up begin so early and end beyond; those that write, so early.
        self._beyond = _ways(
            (group, size, (first, at + 1), (end + 1, end + 2))
            for group, size, first, at, end in gaps
        )
        self._writes = _ways(
            (group, size, (wrote, wrote + 1), (first, last + 1))
            for group, size, wrote, first, last in self._write()
        )

    @property
    def ways(self) -> int:
        """The bytes of groups of tensors that :meth:`least` goes through."""
        every = (self._before, self._within, self._beyond, self._writes)
        return sum(each.group.size for each in every)

    def least(self, duals: Floats, costs: tuple[float, float]) -> Floats:
        """Return (n + 1, n + 1) the least that fused groups pay at their ends beside other costs.

        Other costs are those of each byte that is needed from before, and of each that is written
        and needed later; ``spmopt.verifier.boundary_credit`` says why.
        """
        # The last entry stands for places that have no dual value.
        all_duals = np.append(duals, 0.0)
        held, newer = all_duals[self._held], all_duals[self._newer]
        found, left = self._full(held, newer, costs)
        # Both are lower bounds on the same payment: the greater holds.
        full: Floats = -found[:, None] - left[None, :]
        full = np.maximum(full, self._by_bytes(held, newer, costs))
        return full

    def _full(
        self, held: Floats, newer: Floats, costs: tuple[float, float]
    ) -> tuple[Floats, Floats]:
        """Return (n + 1,) the worth of a full scratchpad at boundaries.

        When found and when left.
        """
        into, out = (each * self._ratio for each in costs)
        # A byte left dirty saves its store here and owes its dual value.
        stored = np.maximum(out - newer, 0.0)
        stored[self._reads] = 0.0
        worth = [into - held + np.maximum(newer, 0.0), held + stored]
        return self._worth(worth[0]), self._worth(worth[1])

    def _worth(self, worth: Floats) -> Floats:
        # A fractional knapsack: the capacity goes to the groups worth most a byte.
        order = np.argsort(-worth, axis=0)
        worth = np.take_along_axis(np.maximum(worth, 0.0), order, axis=0)
        upto = np.minimum(np.take_along_axis(self._sizes, order, axis=0).cumsum(0), self.capacity)
        total: Floats = (worth * np.diff(upto, axis=0, prepend=0.0)).sum(axis=0)
        # At both ends of the list the scratchpad is empty.
        total[[0, -1]] = 0.0
        return total

    def _by_bytes(self, held: Floats, newer: Floats, costs: tuple[float, float]) -> Floats:
        """Return (n + 1, n + 1) the sum of the least that each byte costs by its way."""
        into, out = (each * self._ratio for each in costs)
        count = self.listed.count
        clean, earned, owed = held.copy(), -held, newer - held
        # Nothing is on chip before the first operation: finding a byte there is forbidden by its
        # cost.
        far = (into + out).max() + held.max(initial=0.0) + newer.max(initial=0.0)
        clean[:, 0] = _FAR * far
        # Nor is anything earned at the ends of the list.
        earned[:, [0, -1]] = 0.0
        owed[:, -1] = out[:, 0]
        # A byte found dirty costs less by the dual value that its writer owes.
        dirty, left = clean - newer, np.minimum(0.0, earned)
        loaded, owes = np.minimum(0.0, into + earned), np.minimum(out + left, owed)
        written = np.minimum(left, owed - out)
        # A byte that is used and found saves its load.
        used = np.minimum(np.minimum(clean, dirty) - into, 0.0)

        def costs_at(at: _Ways) -> Floats:
            group, begin, end = at.group, at.begin, at.end
            clear = clean[group, begin] + left[group, end]
            least: Floats = np.minimum(clear, dirty[group, begin] + owes[group, end])
            return least

        at = self._before
        total = at.sum_up(np.minimum(costs_at(at), loaded[at.group, at.end]), count)
        at = self._within
        saved = costs_at(at) - into[at.group, 0]
        total += at.sum_up(np.minimum(saved, left[at.group, at.end]), count)
        at = self._beyond
        total += at.sum_up(used[at.group, at.begin], count).cumsum(axis=1)
        at = self._writes
        earlier = at.sum_up(written[at.group, at.end], count)[::-1]
        total += earlier.cumsum(axis=0)[::-1]
        return total[:, :-1]

    def _require(self) -> Iterator[tuple[int, float, int, int, int]]:
        """Yield where contents are needed: group, bytes, begins of fused groups that use them next.

        Then the use that comes next, and up to where fused groups end that do not write them but
        leave them to be needed.
        """
        listed = self.listed
        for tensor, accesses in enumerate(listed.accesses):
            group, before = self._place[self._kinds[tensor]], -1
            size = float(listed.sizes[tensor])
            for number, (at, reads) in enumerate(accesses):
                if reads:
                    end = at
                    for here, _ in accesses[number:]:
                        if tensor in listed.tileable.operations[here].writes:
                            break
                        end = self._until(tensor, here)
                    yield group, size, before + 1, at, end
                before = at
            if accesses and listed.tileable.tensors[tensor].keep:
                yield group, size, before + 1, listed.count, listed.count

    def _until(self, tensor: int, at: int) -> int:
        """Return up to which boundary contents are needed after a use."""
        following = [each for each in self.listed.accesses[tensor] if each[0] > at]
        if not following:
            return self.listed.count if self.listed.tileable.tensors[tensor].keep else at
        return following[0][0] if following[0][1] else at

    def _write(self) -> Iterator[tuple[int, float, int, int, int]]:
        """Yield group, bytes, the write, and the first and last boundary before the next read."""
        listed = self.listed
        for tensor, accesses in enumerate(listed.accesses):
            group, wrote = self._place[self._kinds[tensor]], -1
            for at, _ in accesses:
                if tensor in listed.tileable.operations[at].writes:
                    wrote = at
                end = self._until(tensor, at)
                if wrote >= 0 and end > at:
                    yield group, float(listed.sizes[tensor]), wrote, at + 1, end

    def with_name(self, duals: Floats) -> dict[tuple[int, int], tuple[float, float]]:
        """Return the duals of a byte, and of one that is newer than DRAM, by boundary and group."""
        return {
            (boundary, group): (
                float(duals[number]),
                float(duals[number + 1]) if group in self.listed.written else 0.0,
            )
            for (boundary, group, newer), number in self.number.items()
            if not newer
        }


class PricedFusedGroup:
    """A fused group's program, solved at one set of dual values after another.

    Attributes
    ----------
    number, sign, columns : (h,)
        Of the bytes that it carries across: which dual value they have, whether that is paid (1)
        or earned (-1), and their columns.
    most, amount, rest : (h,)
        Bytes possible and present, and the cost of each at the dual values of rows, its own
        included.
    plain
        The program without dual values.
    value
        In objective units; infinite where required-resident operands do not fit.
    size
        Entries of the program.
    work_s
        Counted seconds of the last solve; before the first, of building.
    """

    def __init__(
        self, listed: Listed, fused_group: FusedGroup, duals: BoundaryDuals, *, fine: bool
    ) -> None:
        own, begin_s = fused_group, 0.0
        # Stripes are uneven, so that their first and last tile are not told apart.
        if fused_group.stripes > 1:
            (listed, own), fine = listed.of_stripes(fused_group), False
            begin_s = FOLLOW_S * (fused_group.end - fused_group.begin)
        self.program = FusedGroupProgram(listed, own, listed.capacity, carried=True, fine=fine)
        ends, carried = (fused_group.begin, fused_group.end), self.program.ends.carried
        self.columns: Ints = np.array([column for *_, column in carried], np.int64)
        self.number: Ints = np.array(
            [duals.number[ends[end], group, newer] for end, group, newer, _ in carried], np.int64
        )
        paid = [(end == 0) != newer for end, _, newer, _ in carried]
        self.sign: Floats = np.where(np.array(paid, bool), 1.0, -1.0)
        self.most = self.program.ends.most
        self.value = np.inf
        self.amount, self.rest = np.zeros((2, self.number.size))
        self.plain = self.program.program()
        self._solver = Repeated(self.plain, OPTIONS)
        self._answer: SolverResult | None = None
        self.work_s = work_s(self.plain) + begin_s
        self.size = self._solver.program.matrix.value.size

    def solve(self, duals: Floats) -> None:
        """Solve it at dual values in objective units a byte.

        Raises
        ------
        ArithmeticError
            The solver found no optimum.
        """
        program, solver = self.program, self._solver
        if self._answer is not None:
            # Only costs change: the last basis stays primal feasible.
            solver.option("simplex_strategy", _PRIMAL)
        if self.columns.size:
            solver.costs(self.columns, self.sign * duals[self.number] / program.dual)
        answer = self._answer = solver.solve()
        self.work_s = work_s(solver.program, answer, built=False)
        self.value = program.value(answer)
        if answer.primal is not None and answer.column_dual is not None:
            self.amount = answer.primal[self.columns] * program.unit
            self.rest = answer.column_dual[self.columns] * program.dual

    @property
    def row_dual(self) -> Floats:
        """The dual values of rows where it was solved the last time."""
        assert self._answer is not None
        return self.program.row_dual(self._answer)
