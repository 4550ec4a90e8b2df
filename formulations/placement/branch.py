"""State of the search: buffers of a part, in the order in which they are tried.

The least offset that each buffer can still have and its rank are one number, the *key*,
``offset * SCALE + rank``: the smallest key is the next candidate, and raising offsets by a
placement is one maximum of two arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from formulations.placement.greedy import Order
from formulations.placement.parts import NEVER
from spmopt.core.table import Ints

SCALE = 1 << 12
"""More than the buffers of any part that is searched."""
PLACED = 1 << 61
"""Key of a buffer that has its offset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """``k`` buffers by rank and the ``m`` sections from ``origin`` on that are theirs alone.

    Attributes
    ----------
    which, ranks : (k,)
        Buffers of the part; and 0, 1, ...
    heights : (k,)
        Scaled sizes, less the rank: a key and this are the scaled end of the buffer.
    tops : (k,)
        The same, as if no size were 0: nothing at all fits below buffers without one.
    first, last : (k,)
        Sections that a buffer reaches over, from ``origin`` on.
    members, sections, starts
        Ranks of the buffers of each section one after another, their sections, and where each
        section begins.
    keys, totals, crossing
        At the start: keys (k,), needs of sections (m,), and how many buffers reach over
        from each to the next (m - 1,).
    special
        Whether any buffer is aligned or fixed.
    """

    order: Order
    origin: int
    which: Ints
    ranks: Ints
    heights: Ints
    tops: Ints
    first: Ints
    last: Ints
    members: Ints
    sections: Ints
    starts: Ints
    keys: Ints
    totals: Ints
    crossing: Ints
    special: bool
    _raised: dict[int, tuple[Ints, int]] = field(default_factory=dict)

    def raise_values(self, rank: int) -> tuple[Ints, int]:
        """Effects of a placed buffer on others.

        From its scaled offset to their least keys (k,); and the ranks of those that it is in the
        way of, as the bits of a number.
        """
        if rank not in self._raised:
            apart = self.order.part.apart[self.which[rank], self.which]
            # Bits of a number: intersections are one machine operation.
            met = np.packbits(apart > NEVER, bitorder="little")
            raised = apart * SCALE + self.ranks
            self._raised[rank] = raised, int.from_bytes(met.tobytes(), "little")
        return self._raised[rank]

    def needs(self, rank: int) -> Ints:
        """Size of a buffer in each section (m,)."""
        end = self.origin + self.totals.size
        needs: Ints = self.order.part.needs[self.which[rank], self.origin : end]
        return needs

    def settle(self, keys: Ints) -> bool:
        """Round ``keys`` up to the alignments, in place; False if a fixed buffer cannot be."""
        part = self.order.part
        steps, fixed = part.alignment[self.which], part.fixed[self.which]
        offsets = -(-(keys // SCALE) // steps) * steps
        left = keys < PLACED
        np.copyto(keys, offsets * SCALE + self.ranks, where=left)
        return not ((fixed >= 0) & left & (offsets > fixed)).any()

    def take(
        self, ranks: Ints, sections: slice, *, keys: Ints, totals: Ints, crossing: Ints
    ) -> Branch:
        """Buffers ``ranks`` and their ``sections`` by themselves, ranked anew."""
        begin, end = sections.start, sections.stop
        inside = slice(*np.searchsorted(self.sections, (begin, end)))
        return _branch(
            self.order,
            origin=self.origin + begin,
            chosen=self.which[ranks],
            offsets=keys[ranks] // SCALE,
            buffers=self.which[self.members[inside]],
            sections=self.sections[inside] - begin,
            totals=totals[begin:end],
            crossing=crossing[begin : end - 1],
        )


def root(order: Order) -> Branch:
    """All buffers."""
    part = order.part
    totals = part.needs.sum(axis=0)
    crossing = np.zeros(totals.size + 1, dtype=np.int64)
    np.add.at(crossing, part.first, 1)
    np.add.at(crossing, part.last - 1, -1)
    sections, buffers = np.nonzero(part.needs.T)
    return _branch(
        order,
        origin=0,
        chosen=np.arange(len(part)),
        offsets=np.maximum(part.fixed, 0),
        buffers=buffers,
        sections=sections,
        totals=totals,
        crossing=np.cumsum(crossing)[: totals.size - 1],
    )


def _branch(
    order: Order,
    *,
    origin: int,
    chosen: Ints,
    offsets: Ints,
    buffers: Ints,
    sections: Ints,
    totals: Ints,
    crossing: Ints,
) -> Branch:
    """Rank the ``chosen`` buffers with their least ``offsets``.

    ``buffers`` are those of each of ``sections``, of which any that are in place keep no rank.
    """
    part = order.part
    which = order.arrange(chosen, totals, origin)
    rank = np.full(len(part), -1, dtype=np.int64)
    rank[which] = ranks = np.arange(which.size)
    members = rank[buffers]
    members, sections = members[members >= 0], sections[members >= 0]
    least = np.empty(which.size, dtype=np.int64)
    least[rank[chosen]] = offsets
    size = part.size[which]
    starts = np.searchsorted(sections, np.arange(totals.size))
    return Branch(
        order=order,
        origin=origin,
        which=which,
        ranks=ranks,
        heights=size * SCALE - ranks,
        tops=np.maximum(size, 1) * SCALE - ranks,
        first=part.first[which] - origin,
        last=part.last[which] - origin,
        # A section in which nothing is needed stands for any member: it never asks for room.
        members=members if members.size else np.zeros(1, dtype=np.int64),
        sections=sections,
        starts=np.minimum(starts, max(0, members.size - 1)),
        keys=least * SCALE + ranks,
        totals=totals,
        crossing=crossing,
        special=bool((part.alignment[which] > 1).any() or (part.fixed[which] >= 0).any()),
    )
