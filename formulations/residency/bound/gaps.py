"""Accesses in an order that lets one numpy slice hold the k-th access of every tensor.

Tensors are sorted by their number of accesses, most first; then all first accesses come,
then all second ones, and so on. The access before the ``k``-th of a slice is then the ``k``-th
of the slice before it: a dynamic program over the accesses of all tensors is a loop over
slices without any indexing.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from formulations.residency.bound.rangemin import Ranges
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline


@dataclass(frozen=True, kw_only=True, eq=False)
class Gaps:
    """Accesses (a,) in slice order, each with the gap that lies before it.

    Attributes
    ----------
    slices
        ``(start, stop)`` of each rank.
    access : (a,)
        Index of the access in the timeline.
    step, tensor, kind, passes, stationary, size_bytes : (a,)
    previous : (a,)
        Position (in this order) of the access before, or -1.
    next : (a,)
        Position of the next access, or -1.
    begin : (a,)
        First step of the gap; its untouched steps are [begin, step).
    live : (a,)
        The tensor is live in the gap (False before a blind write).
    from_dram : (a,)
        First access of a tensor that starts in DRAM.
    dead : (a,)
        Nothing needs the contents after this access.
    dirty : (a,)
        In the gap before, the SPM may hold bytes that DRAM does not.
    inner : Ranges
        The untouched steps of each gap.
    last : (f,)
        Position of the last access of each tensor that must be kept and was written.
    final : Ranges
        Steps after those last accesses.
    """

    slices: tuple[tuple[int, int], ...]
    access: Ints
    step: Ints
    tensor: Ints
    kind: Ints
    passes: Ints
    stationary: Bools
    size_bytes: Ints
    previous: Ints
    next: Ints
    begin: Ints
    live: Bools
    from_dram: Bools
    dead: Bools
    dirty: Bools
    inner: Ranges
    last: Ints
    final: Ranges
    steps: int

    @staticmethod
    def of(line: Timeline) -> Gaps:
        """Arrange the accesses of a timeline."""
        order, slices = _slice_order(line)
        position = np.empty_like(order)
        position[order] = np.arange(order.size)
        previous = _moved(line.previous, order, position)
        following = _moved(line.next, order, position)
        step, tensor, kind = line.step[order], line.tensor[order], line.kind[order]
        first = previous < 0
        begin = np.where(first, 0, step[previous] + 1)
        in_dram = line.in_dram[tensor]
        live = np.where(first, in_dram, line.live_after[order][previous]) & (kind != Access.WRITE)
        dirty = _dirty(slices, kind, live)
        last = np.flatnonzero((following < 0) & line.keep[tensor])
        last = last[dirty[last] | (kind[last] != Access.READ)]
        after = step[last] + 1
        return Gaps(
            slices=slices,
            access=order,
            step=step,
            tensor=tensor,
            kind=kind,
            passes=line.passes[order],
            stationary=line.stationary[order],
            size_bytes=line.size_bytes[tensor],
            previous=previous,
            next=following,
            begin=begin,
            live=live,
            from_dram=first & in_dram,
            dead=~line.live_after[order],
            dirty=dirty,
            inner=Ranges.of(begin, step),
            last=last,
            final=Ranges.of(after, np.full_like(after, line.steps)),
            steps=line.steps,
        )


def _slice_order(line: Timeline) -> tuple[Ints, tuple[tuple[int, int], ...]]:
    """Accesses by rank, then by tensors with most accesses first."""
    count = np.bincount(line.tensor, minlength=line.size_bytes.size)
    by_tensor = np.argsort(line.tensor, kind="stable")
    starts = np.cumsum(count) - count
    rank = np.empty(by_tensor.size, np.int64)
    rank[by_tensor] = np.arange(by_tensor.size) - starts[line.tensor[by_tensor]]
    order = np.lexsort((line.tensor, -count[line.tensor], rank))
    sizes = np.bincount(rank) if rank.size else np.zeros(0, np.int64)
    ends = [0, *np.cumsum(sizes).tolist()]
    return order, tuple(pairwise(ends))


def _moved(link: Ints, order: Ints, position: Ints) -> Ints:
    """A link between accesses, renumbered."""
    target = link[order]
    return np.where(target < 0, -1, position[target])


def _dirty(slices: tuple[tuple[int, int], ...], kind: Ints, live: Bools) -> Bools:
    """Gaps in which bytes can be newer in SPM: a write came before, since the last start."""
    dirty = np.zeros(kind.size, bool)
    for (start, _), (begin, end) in pairwise(slices):
        before = slice(start, start + end - begin)
        here = slice(begin, end)
        dirty[here] = live[here] & (dirty[before] | (kind[before] != Access.READ))
    return dirty
