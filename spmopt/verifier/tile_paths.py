"""Cheapest paths of the bytes of a fused group along the steps of its fusion tiles.

Fusion tiles come in *parts* of equal ones: the first, those between, the last. States, arcs and
tables of costs from state to state are those of :mod:`spmopt.verifier.paths`. Each part has a table
for each tensor of a fusion tile that uses it, and one of a fusion tile that does not. Tables of
many fusion tiles are powers of these. Stripes are all of one part; their bytes come in patterns
(:mod:`spmopt.core.fusion.stripe_bounds`), each with one table of all fusion tiles in a row that use
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import groupby
from operator import mul

import numpy as np

from spmopt.core.compression import ratios_of
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.fusion.stripe_bounds import UsePattern
from spmopt.core.table import Ints
from spmopt.core.timeline import Access
from spmopt.verifier.dual_check import INFINITE, CheckedDuals
from spmopt.verifier.fused_group_uses import Liveness, Use
from spmopt.verifier.paths import (
    Accesses,
    access_costs,
    arriving,
    follow,
    join,
    stretches,
)


class TilePaths:
    """The uses of tensors in the fusion tiles of a group.

    Attributes
    ----------
    tiles
        How many fusion tiles each part has.
    tensors : (t,)
        Of stripes one for each pattern.
    spread
        How many fusion tiles more than one are between the first and the last use of any byte.
    fetches : (steps,)
        The most of any use in each step.
    """

    def __init__(
        self,
        liveness: Liveness,
        fused_group: FusedGroup,
        patterns: Mapping[int, Sequence[UsePattern]] | None = None,
    ) -> None:
        tileable, self.count = liveness.tileable, fused_group.micro_batches
        # Of one tile it is the first and the last; of two none is between.
        self.tiles = [1] * min(self.count, 2)
        self.tiles[1:1] = [self.count - 2] * (self.count > 2)
        span = range(fused_group.begin, fused_group.end)
        self.steps = len(span)
        every = [
            (use, step) for step, at in enumerate(span) for use in liveness.uses(at, self.count)
        ]
        every.sort(key=lambda each: each[0].tensor)  # stable: those of a tensor by step
        found = [*_by_pattern(every, patterns or {}, self.steps)]
        number, tensor, whole, begun, reads, writes, live, fetches, firm, step = np.array(
            [(at, *use, step) for at, (_, uses) in enumerate(found) for use, step in uses],
            np.int64,
        ).T
        first = np.flatnonzero(np.diff(number, prepend=-1))
        last = np.append(first[1:], tensor.size) - 1
        self.tensors: list[int] = tensor[first].tolist()
        self._sizes = [tileable.tensors[t].size_bytes for t in self.tensors]
        # By fusion tile of the first use, where these are stripes.
        self._by_tile = [None if own is None else own.sizes for own, _ in found]
        self._later = step[last] // self.steps
        self.spread = int(self._later.max())
        of_tensors = ratios_of(tileable.machine, tileable.tensors)
        self.ratios = [of_tensors[t] for t in self.tensors]
        self._whole, self._writes = whole[first] > 0, np.logical_or.reduceat(writes > 0, first)
        self.fetches = np.ones(self.steps, np.int64)
        np.maximum.at(self.fetches, step % self.steps, fetches)
        parts = len(self.tiles)
        read, needed = (np.tile(each > 0, (parts, 1)) for each in (reads, live))
        read[0] = begun > 0
        # A whole tensor is a sum, or never written: nothing between two tiles overwrites it.
        needed[:-1, last[self._whole]] = (reads[first] > 0)[self._whole]
        self._begins, self._live = read[:, first], needed[:, last]
        place = np.arange(tensor.size) - np.repeat(first, last - first + 1)
        at = step + np.arange(parts)[:, None] * self.steps
        written = np.where(read, int(Access.UPDATE), int(Access.WRITE))
        self._uses = Accesses(
            step=at.ravel(),
            kind=np.where(writes > 0, written, int(Access.READ)).ravel(),
            fetches=np.tile(fetches, parts),
            required_resident=np.tile(firm > 0, parts),
            live_after=needed.ravel(),
        )
        self._tensor, self._step = tensor.tolist(), (step % self.steps).tolist()
        self._paid = np.zeros(parts * tensor.size, np.int64)
        self._place = np.tile(place, parts)
        self._since = np.where(place > 0, np.roll(at, 1, axis=1) + 1, at - step).ravel()
        self._until = at[:, last].ravel() + 1

    def pay_residency(self, paid: Sequence[Mapping[tuple[int, int], int]]) -> None:
        """Let bytes pay while they are resident in a use; by part, of each step and tensor."""
        if not any(map(any, (each.values() for each in paid))):
            return
        uses = [*zip(self._step, self._tensor, strict=True)]
        self._paid = np.array([[each.get(use, 0) for use in uses] for each in paid]).ravel()

    def cost(
        self,
        duals: CheckedDuals,
        ends: tuple[Ints, Ints],
        groups: list[int],
        untouched: Sequence[Mapping[Fraction, int]],
    ) -> int:
        """Return the cost of all bytes in a fused group.

        Parameters
        ----------
        duals
            Of the steps of one fusion tile of each part, one after another, and of ``spread`` more.
        ends : (4, 2 g)
            Costs of bytes of a group of tensors by state at the begin and end: of those whose
            contents are needed, then of the others.
        groups : (t,)
            The group of each tensor.
        untouched : (g,)
            Bytes of others that cross an end, by the ratio at which they move.
        """
        ratios = {*self.ratios, *(ratio for each in untouched for ratio in each)}
        return sum(
            self._cost(duals.of_ratio(ratio), ends, groups, ratio, untouched) for ratio in ratios
        )

    def _cost(
        self,
        duals: CheckedDuals,
        ends: tuple[Ints, Ints],
        groups: list[int],
        ratio: Fraction,
        untouched: Sequence[Mapping[Fraction, int]],
    ) -> int:
        """Return the cost of bytes that move at a ratio, at their dual values."""
        begin, end = self._keys(groups, len(untouched))
        first, final = ends[0][None], ends[1][:, None]
        own, idle = self._own(duals), self._idle(duals)
        before, after, through = self._around(idle, first, final)
        beside = [each.get(ratio, 0) for each in untouched]
        total: int = sum(map(mul, beside, through.tolist()))
        mine = np.array([each == ratio for each in self.ratios], bool)
        striped = np.array([each is not None for each in self._by_tile], bool)
        (cut,), (whole,), (rows,) = (
            np.nonzero(some & mine) for some in (~self._whole & ~striped, self._whole, striped)
        )
        total += self._of_patterns(rows, (before, after), own, (begin[0], end[-1]))
        for part, (ahead, behind) in enumerate(zip(before, after, strict=True)):
            along = follow(ahead[:, :, begin[0, cut]], own[:, :, part][:, :, cut, None])
            costs = _sums(follow(along, behind[:, :, end[-1, cut]])[0, 0])
            sizes = [self._sizes[tensor] for tensor in cut.tolist()]
            # Every share of a tensor is the same.
            total += sum(size * cost // self.count for size, cost in zip(sizes, costs, strict=True))
        if whole.size:
            around = _power(own[:, :, 0, whole], self.tiles[0])
            for part, tiles in enumerate(self.tiles[1:], 1):
                around = follow(around, _power(own[:, :, part, whole], tiles))
            around = follow(
                follow(first[:, :, begin[0, whole]], around), final[:, :, end[-1, whole]]
            )
            total += sum(
                self._sizes[tensor] * cost
                for tensor, cost in zip(whole.tolist(), around[0, 0].tolist(), strict=True)
            )
        return total

    def _of_patterns(
        self, rows: Ints, around: Sequence[list[Ints]], own: Ints, keys: tuple[Ints, Ints]
    ) -> int:
        """Return the cost of bytes of stripes, each from the first tile that uses it to the last.

        ``around``: costs before and after the fusion tiles of each part; ``keys``: their columns.
        """
        total = 0
        for each in rows.tolist():
            later, sizes = int(self._later[each]), self._by_tile[each] or ()
            ahead, behind = (
                np.concatenate(several, axis=-1)[:, :, key[each]]
                for several, key in zip(around, keys, strict=True)
            )
            along = follow(ahead[..., : self.count - later], own[:, :, 0, each, None])
            costs: list[int] = follow(along, behind[..., later:])[0, 0].tolist()
            total += sum(map(mul, sizes, costs))
        return total

    def cost_inside(self, duals: CheckedDuals, ends: tuple[Ints, Ints]) -> int:
        """Return the cost of all bytes in a run, of which each fusion tile begins and ends anew."""
        begin, end = self._keys([0] * len(self.tensors), 1)
        total = 0
        for ratio in {*self.ratios}:
            along = follow(ends[0][None][:, :, begin], self._own(duals.of_ratio(ratio)))
            costs = follow(along, ends[1][:, None][:, :, end])[0, 0]
            each = _sums(np.repeat(costs, self.tiles, axis=0).T)
            columns = zip(self._sizes, each, self._whole.tolist(), self.ratios, strict=True)
            total += sum(
                size * cost // (1 if whole else self.count)
                for size, cost, whole, own in columns
                if own == ratio
            )
        return total

    def _keys(self, groups: list[int], count: int) -> tuple[Ints, Ints]:
        """Return (parts, t) columns of costs at both ends of a fusion tile."""
        place = np.array(groups, np.int64)
        return place + count * ~self._begins, place + count * ~self._live

    def _own(self, duals: CheckedDuals) -> Ints:
        """Return (4, 4, parts, t) costs of a byte in a fusion tile of its own."""
        uses, every = self._uses, np.arange(self._place.size)
        old = arriving(stretches(duals, self._since, uses.step))
        resident = duals.hold[uses.step] + self._paid
        costs = join(access_costs(uses, every, duals, resident, old), self._place)
        parts = len(self.tiles)
        ends = ((np.arange(1, parts + 1)[:, None] + self._later) * self.steps).ravel()
        found = follow(costs, _table(duals, self._until, ends))
        return found.reshape(4, 4, parts, len(self.tensors))

    def _idle(self, duals: CheckedDuals) -> list[Ints]:
        """Return, of each part, (4, 4, tiles + 1) costs of a byte in so many tiles of others."""
        begins = np.arange(len(self.tiles)) * self.steps
        tables = _table(duals, begins, begins + self.steps)
        return [_powers(tables[:, :, part], tiles) for part, tiles in enumerate(self.tiles)]

    def _around(
        self, idle: list[Ints], first: Ints, final: Ints
    ) -> tuple[list[Ints], list[Ints], Ints]:
        """Return costs before and after the fusion tiles of each part, and those through all."""
        before, after = list[Ints](), list[Ints]()
        for powers in idle:
            before.append(follow(first[..., None], powers[:, :, None, :-1]))
            first = follow(first, powers[:, :, -1:])
        through: Ints = follow(first, final)[0, 0]
        for powers in reversed(idle):
            after.append(follow(powers[:, :, None, -2::-1], final[..., None]))
            final = follow(powers[:, :, -1:], final)
        return before, after[::-1], through


def _by_pattern(
    every: Sequence[tuple[Use, int]], patterns: Mapping[int, Sequence[UsePattern]], steps: int
) -> Iterator[tuple[UsePattern | None, list[tuple[Use, int]]]]:
    """Yield the uses of each tensor and their steps, those of patterns one by one."""
    for tensor, uses in groupby(every, key=lambda each: each[0].tensor):
        own = [*uses]
        if tensor not in patterns:
            yield None, own
            continue
        by_step = {step: use for use, step in own}
        for each in patterns[tensor]:
            found = [(by_step[at % steps], at) for at in each.uses]
            # Contents are needed after a use if the next one reads them.
            live = [*(use.reads for use, _ in found[1:]), own[-1][0].live]
            pairs = zip(found, live, strict=True)
            yield each, [(use._replace(live=needed), at) for (use, at), needed in pairs]


def _table(duals: CheckedDuals, first: Ints, end: Ints) -> Ints:
    """Return (4, 4, k) costs of steps that do not use a tensor."""
    found: Ints = np.stack(arriving(stretches(duals, first, end)), axis=1)
    return np.minimum(found, INFINITE, out=found)


def _powers(table: Ints, most: int) -> Ints:
    """Return (4, 4, most + 1) costs of none to so many parts that each cost ``table`` (4, 4)."""
    found = np.where(np.eye(4, dtype=bool), 0, INFINITE)[:, :, None]
    step = table[:, :, None]
    while found.shape[2] <= most:
        found = np.concatenate((found, follow(found, step)), axis=2)
        step = follow(step, step)
    return found[:, :, : most + 1]


def _power(tables: Ints, times: int) -> Ints:
    """Return the costs of so many parts, one after another, that each cost ``tables``."""
    found = None
    while True:
        if times & 1:
            found = tables if found is None else follow(found, tables)
        times >>= 1
        if not times:
            assert found is not None
            return found
        tables = follow(tables, tables)


def _sums(costs: Ints) -> list[int]:
    """Return the sums of rows, which may be beyond 64 bits."""
    high, low = (costs >> 32).sum(axis=1).tolist(), (costs & (1 << 32) - 1).sum(axis=1).tolist()
    return [(above << 32) + below for above, below in zip(high, low, strict=True)]
