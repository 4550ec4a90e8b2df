"""Columns of the compact program: what a byte may do in a gap or at an access.

A column is a kind, the access that ends its gap, and, for transfers inside a gap, a step.
Few are needed: pricing finds those whose best path costs little more than the best path.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from formulations.residency.bound.dual import Arcs, Backward, Forward, step_prices
from formulations.residency.bound.gaps import Gaps
from formulations.residency.bound.prices import Economy, Multipliers
from formulations.residency.bound.rangemin import Floats, RangeMinimum, Ranges
from spmopt.core.table import Bools, Ints, Table
from spmopt.core.timeline import Access


class Kind(IntEnum):
    """What the bytes of a column do."""

    HOLD_DIRTY = 0  # through the gap and the access, newer than DRAM
    HOLD_CLEAN = 1  # through the gap and the access, valid in DRAM
    STREAM = 2  # pass by the SPM at the access
    LOAD_HERE = 3  # enter in the access's step
    WRITE_THROUGH = 4  # written, and stored in the same step
    LOAD = 5  # enter within the gap, at a step
    DROP = 6  # store within the gap, at a step, and leave
    CLEAN = 7  # store within the gap or at the reading access, and stay
    FINAL = 8  # store after the last access, at a step, and leave


@dataclass(frozen=True, kw_only=True, eq=False)
class Columns(Table):
    """A set of columns: kind, position of the access in ``Gaps``, and step (-1 if none).

    For ``FINAL`` the access is the last one of the tensor.
    """

    kind: Ints
    access: Ints
    step: Ints

    def key(self, steps: int) -> Ints:
        """One integer per column, for set operations."""
        return (self.access * len(Kind) + self.kind) * (steps + 1) + self.step + 1

    def union(self, other: Columns, steps: int) -> Columns:
        """Both sets, without duplicates."""
        return of_keys([self.key(steps), other.key(steps)], steps)


def of_keys(keys: list[Ints], steps: int) -> Columns:
    """The columns with these keys, without duplicates."""
    both = np.unique(np.concatenate(keys))
    who, step = both // (steps + 1), both % (steps + 1) - 1
    return Columns(kind=who % len(Kind), access=who // len(Kind), step=step)


def of_kind(kind: Kind, access: Ints, step: Ints | int = -1) -> Columns:
    """Columns of one kind."""
    return Columns(
        kind=np.full(access.size, kind, np.int64),
        access=access,
        step=np.broadcast_to(np.asarray(step, np.int64), access.shape),
    )


def exists(gaps: Gaps, kind: Kind) -> Bools:
    """(a,) Accesses at which a column of ``kind`` makes sense."""
    read, write = gaps.kind == Access.READ, gaps.kind == Access.WRITE
    inner = gaps.begin < gaps.step
    where: dict[Kind, Bools] = {
        Kind.HOLD_DIRTY: gaps.dirty,
        Kind.HOLD_CLEAN: gaps.live & (gaps.previous >= 0),
        Kind.STREAM: ~gaps.stationary & ~(write & gaps.dead),
        Kind.LOAD_HERE: gaps.live,
        Kind.WRITE_THROUGH: ~read & ~gaps.dead,
        Kind.LOAD: gaps.live & inner,
        Kind.DROP: gaps.dirty & inner,
        Kind.CLEAN: gaps.dirty & (inner | read),
    }
    return where[kind]


_FIXED = (
    Kind.HOLD_DIRTY,
    Kind.HOLD_CLEAN,
    Kind.STREAM,
    Kind.LOAD_HERE,
    Kind.WRITE_THROUGH,
)


def needed(gaps: Gaps) -> Columns:
    """Columns that make the program feasible: stream all, or load and store where fixed."""
    fixed = gaps.stationary
    return Columns.together(
        of_kind(Kind.STREAM, np.flatnonzero(exists(gaps, Kind.STREAM))),
        of_kind(Kind.LOAD_HERE, np.flatnonzero(exists(gaps, Kind.LOAD_HERE) & fixed)),
        of_kind(Kind.WRITE_THROUGH, np.flatnonzero(exists(gaps, Kind.WRITE_THROUGH) & fixed)),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Pricer:
    """Marginals of columns at given prices: best path through a column minus best path."""

    gaps: Gaps
    economy: Economy
    prices: Multipliers
    arc: Arcs
    ahead: Forward
    back: Backward

    def columns(self, threshold: float, depth: int) -> Columns:
        """All columns found with a marginal of at most ``threshold``.

        Within a gap the best step is tried first, then the best to its left and right, down
        to ``depth`` levels.
        """
        best = self._best()
        parts = [self._fixed(kind, best, threshold) for kind in _FIXED]
        parts += self._inner(best, threshold, depth)
        parts.append(self._clean_here(best, threshold))
        return Columns.together(*parts)

    def _best(self) -> Floats:
        """(a,) Cost of the best path of the access's tensor."""
        gaps = self.gaps
        ends = gaps.next < 0
        of_tensor = np.zeros(int(gaps.tensor.max()) + 1)
        of_tensor[gaps.tensor[ends]] = self.ahead.best[ends]
        result: Floats = of_tensor[gaps.tensor]
        return result

    def _fixed(self, kind: Kind, best: Floats, threshold: float) -> Columns:
        at = np.flatnonzero(exists(self.gaps, kind))
        before = self.gaps.previous[at]
        ahead, back, arc = self.ahead, self.back, self.arc
        write = self.gaps.kind[at] == Access.WRITE
        if kind == Kind.HOLD_DIRTY:
            # Stored by a reading access it would be a column of another kind.
            read = self.gaps.kind[at] == Access.READ
            onward = np.where(read, back.dirty[at] + arc.keep_here[at], back.dirty_in[at])
            cost = ahead.dirty[before] + arc.hold[at] + onward
        elif kind == Kind.HOLD_CLEAN:
            cost = ahead.clean[before] + arc.hold[at] + back.clean_in[at]
        elif kind == Kind.STREAM:
            start = np.where(write, ahead.bypass[at], ahead.gone_in[at])
            cost = start + arc.stream[at] + back.gone[at]
        elif kind == Kind.LOAD_HERE:
            cost = ahead.gone_in[at] + arc.load_here[at] + back.clean_in[at]
        else:
            cost = ahead.clean[at] + back.clean[at]
        return of_kind(kind, at[cost - best[at] <= threshold])

    def _inner(self, best: Floats, threshold: float, depth: int) -> list[Columns]:
        gaps, ahead, back, arc = self.gaps, self.ahead, self.back, self.arc
        into, out, held = step_prices(self.economy, self.prices)
        upto = np.concatenate(([0.0], np.cumsum(held)))
        loads, drops = RangeMinimum(into - upto[:-1]), RangeMinimum(out + upto[1:])
        cleans = RangeMinimum(out)
        parts = []
        for kind, table in ((Kind.LOAD, loads), (Kind.DROP, drops), (Kind.CLEAN, cleans)):
            at = np.flatnonzero(exists(gaps, kind) & (gaps.begin < gaps.step))
            before = gaps.previous[at]
            if kind == Kind.LOAD:
                rest = ahead.gone_in[at] + upto[gaps.step[at]] + back.clean_in[at]
            elif kind == Kind.DROP:
                rest = ahead.dirty[before] - upto[gaps.begin[at]] + back.gone[before]
            else:
                rest = ahead.dirty[before] + arc.hold[at] + back.clean_in[at]
            limit = threshold + best[at] - rest
            owner, step = _search(table, gaps.begin[at], gaps.step[at], limit, depth)
            parts.append(of_kind(kind, at[owner], step))
        at = gaps.last
        begin = gaps.step[at] + 1
        limit = threshold + best[at] - ahead.dirty[at] + upto[begin]
        owner, step = _search(drops, begin, np.full_like(begin, gaps.steps), limit, depth)
        parts.append(of_kind(Kind.FINAL, at[owner], step))
        return parts

    def _clean_here(self, best: Floats, threshold: float) -> Columns:
        """Store at the reading access, and stay."""
        gaps, arc = self.gaps, self.arc
        at = np.flatnonzero(gaps.dirty & (gaps.kind == Access.READ))
        cost = (
            self.ahead.dirty[gaps.previous[at]]
            + arc.hold[at]
            + arc.clean_here[at]
            + arc.keep_here[at]
            + self.back.clean[at]
        )
        chosen = at[cost - best[at] <= threshold]
        return of_kind(Kind.CLEAN, chosen, gaps.step[chosen])


def _search(
    table: RangeMinimum, begin: Ints, end: Ints, limit: Floats, depth: int
) -> tuple[Ints, Ints]:
    """Steps with a value of at most ``limit``, best first, then left and right of it."""
    owner = np.arange(begin.size, dtype=np.int64)
    owners, steps = [owner[:0]], [owner[:0]]
    for _ in range(depth):
        step = table.argmin(Ranges.of(begin, end))
        good = table.at(step) <= limit[owner]
        owner, begin, end, step = owner[good], begin[good], end[good], step[good]
        owners.append(owner)
        steps.append(step)
        owner = np.concatenate((owner, owner))
        begin, end = np.concatenate((begin, step + 1)), np.concatenate((step, end))
    return np.concatenate(owners), np.concatenate(steps)
