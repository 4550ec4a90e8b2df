"""Depth-first search for a placement under a capacity, in canonical order.

Buffers are put in place from the bottom up, each as low as those in place allow, in the order of
offset and rank: every placement that is pushed down as far as it goes is met once. The rules that
cut branches are MiniMalloc's (Moffitt, ASPLOS 2023), with a set of states known to fail and a
limit on the next offset from the fullest section.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b

import numpy as np

from formulations.placement.branch import PLACED, SCALE, Branch, root
from formulations.placement.greedy import Order
from formulations.placement.parts import NEVER, Part
from spmopt.core.result import Status
from spmopt.core.table import Ints

_REMEMBERED = 1 << 18  # states, some 25 MB


@dataclass(slots=True, kw_only=True)
class _Frame:
    """A node: buffers left to place, and those that may be next.

    ``waiting`` has a bit for each rank that is left. ``back`` is how many frames are left when
    nothing is found here; ``pending`` are branches that have to be placed after this one, each
    with its ``back``.
    """

    branch: Branch
    keys: Ints
    totals: Ints
    crossing: Ints
    last: int
    waiting: int
    back: int
    pending: _Pending | None
    candidates: list[int] = field(default_factory=list)
    state: bytes = b""
    tried: int = -1


_Pending = tuple[Callable[[], Branch], int, "_Pending | None"]


def searchable(part: Part) -> bool:
    """Whether numbers remain within their ranges."""
    return len(part) < SCALE and int(part.size.sum() + part.alignment.sum()) < -NEVER // 2


class TreeSearch:
    """A search in one order; it can go on where a node limit stopped it.

    Attributes
    ----------
    nodes
        Buffers put in place so far.
    """

    def __init__(self, order: Order, capacity: int) -> None:
        self.nodes = 0
        self._order, self._capacity = order, capacity
        self._limit = (capacity + 1) * SCALE
        self._offsets = np.full(len(order.part), -1, dtype=np.int64)
        self._failed: set[bytes] = set()
        self._stack: list[_Frame] = []

    @property
    def offsets(self) -> Ints:
        """Of the buffers of the part (k,), once a placement is found."""
        return self._offsets.copy()

    def run(self, node_limit: int, stop: Callable[[], bool]) -> Status:
        """Search until the end, ``node_limit`` nodes in all, or ``stop``."""
        stack = self._stack
        if not stack:
            if self._order.part.load > self._capacity:
                return Status.INFEASIBLE
            self._enter(root(self._order), 0, None)
        while stack:
            frame = stack[-1]
            if not frame.waiting:
                if frame.pending is None:
                    return Status.FEASIBLE
                following, back, pending = frame.pending
                self._enter(following(), back, pending)
            elif not frame.candidates or _hatless(frame):
                # Memory is bounded; forgotten states are only searched again.
                if len(self._failed) == _REMEMBERED:
                    self._failed.clear()
                self._failed.add(frame.state)
                del stack[frame.back :]
            elif self.nodes >= node_limit or (self.nodes % 64 == 0 and stop()):
                return Status.UNKNOWN
            else:
                self._place(frame, frame.candidates.pop())
        return Status.INFEASIBLE

    def _enter(self, start: Branch, back: int, pending: _Pending | None) -> None:
        """Go on with a branch of its own."""
        self._open(
            _Frame(
                branch=start,
                keys=start.keys,
                totals=start.totals,
                crossing=start.crossing,
                last=-1,
                waiting=(1 << start.which.size) - 1,
                back=back,
                pending=pending,
            )
        )

    def _open(self, frame: _Frame) -> None:
        """Add a node, unless it is known to fail."""
        frame.state = _digest(frame)
        if frame.state in self._failed:
            del self._stack[frame.back :]
            return
        if frame.waiting:
            # Above the least end that a buffer can have, that buffer would fit below; and the
            # fullest section needs all its room above the offset, as offsets only grow.
            keys = frame.keys
            lowest_end = int((keys + frame.branch.tops).min())
            below = min(lowest_end, self._limit - int(frame.totals.max()) * SCALE)
            allowed = keys[(keys > frame.last) & (keys < below)]
            frame.candidates = np.sort(allowed)[::-1].tolist()
        self._stack.append(frame)

    def _place(self, frame: _Frame, key: int) -> None:
        """Put the buffer of ``key`` in place, and go on if the rest may still fit."""
        self.nodes += 1
        start = frame.branch
        rank = key % SCALE
        base = key - rank
        frame.tried = rank
        raised, _ = start.raise_values(rank)
        keys = np.maximum(frame.keys, raised + base)
        keys[rank] = PLACED
        if start.special and not start.settle(keys):
            return
        totals = frame.totals - start.needs(rank)
        # What a section still needs goes above its lowest buffer; above this one it has room.
        # A section's lower bound: its lowest buffer, and above it all that it still needs.
        ends = np.minimum.reduceat(keys.take(start.members), start.starts)
        ends += totals * SCALE
        if np.count_nonzero((ends >= self._limit) & (totals > 0)):
            return
        waiting = frame.waiting & ~(1 << rank)
        if np.count_nonzero(keys + start.heights < self._limit) < waiting.bit_count():
            return
        self._offsets[start.which[rank]] = base // SCALE
        crossing = frame.crossing.copy()
        span = crossing[start.first[rank] : start.last[rank] - 1]
        span -= 1
        pending, depth = frame.pending, len(self._stack)
        if waiting and np.count_nonzero(span) < span.size:
            parts = _split(start, keys, totals, crossing)
            if len(parts) > 1:
                # A buffer that no other meets any more stays at its least offset.
                for ranks, _ in parts:
                    if ranks.size == 1:
                        self._offsets[start.which[ranks]] = keys[ranks] // SCALE
                large = [following for ranks, following in parts if ranks.size > 1]
                for following in large[1:]:
                    pending = (following, depth, pending)
                if large:
                    self._enter(large[0](), depth, pending)
                    return
                waiting = 0
        self._open(
            _Frame(
                branch=start,
                keys=keys,
                totals=totals,
                crossing=crossing,
                last=key,
                waiting=waiting,
                back=depth,
                pending=pending,
            )
        )


def _hatless(frame: _Frame) -> bool:
    """Whether the last attempt is in no other's way: then it is not the cause of failure."""
    return frame.tried >= 0 and not frame.branch.raise_values(frame.tried)[1] & frame.waiting


def _split(
    start: Branch, keys: Ints, totals: Ints, crossing: Ints
) -> list[tuple[Ints, Callable[[], Branch]]]:
    """Ranks of buffers still to be placed, and their branches, by independent runs of sections."""
    cuts = np.flatnonzero(crossing == 0)
    left = np.flatnonzero(keys < PLACED)
    run = np.searchsorted(cuts, start.first[left])
    bounds = [0, *(cuts + 1).tolist(), totals.size]
    found = []
    for number in np.unique(run).tolist():
        ranks, sections = left[run == number], slice(bounds[number], bounds[number + 1])
        branch = partial(start.take, ranks, sections, keys=keys, totals=totals, crossing=crossing)
        found.append((ranks, branch))
    return sorted(found, key=lambda part: part[0].size)


def _digest(frame: _Frame) -> bytes:
    """State that a node's fate depends on."""
    digest = blake2b(frame.branch.which.tobytes(), digest_size=16)
    digest.update(frame.keys.tobytes())
    digest.update(frame.last.to_bytes(8, "little", signed=True))
    return digest.digest()
