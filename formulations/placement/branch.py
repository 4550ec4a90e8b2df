"""What the search works on: part of a part, its buffers in the order in which they are tried.

The least offset that each buffer can still have and its rank are one number, the *key*,
``offset * SCALE + rank``: the smallest key is the next candidate, and raising offsets by a
placement is one maximum of two arrays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.placement.orders import arrange
from formulations.placement.part import Part
from spmopt.core.table import Ints

SCALE = 1 << 12
"""More than the buffers of any part that is searched."""
PLACED = 1 << 61
"""Key of a buffer that has its offset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """``k`` buffers by rank and the ``m`` sections that they reach over, all scaled.

    Attributes
    ----------
    part
        The same buffers in the same order.
    heights : (k,)
        Sizes, less the rank: a key and this are the scaled end of the buffer.
    tops : (k,)
        The same, as if no size were 0: nothing at all fits below what has none.
    raised : (k, k)
        From the scaled offset of the row's buffer, put in place, to the least key of the column's.
    needs : (k, m)
    members, starts
        Ranks of the buffers of each section one after another, and where each section begins.
    keys, totals, crossing
        At the start: keys (k,), what sections still need (m,), and how many buffers reach over
        from each to the next (m - 1,).
    special
        Whether any buffer is aligned or fixed.
    identity
        Which buffers these are, in order.
    """

    part: Part
    heights: Ints
    tops: Ints
    raised: Ints
    needs: Ints
    members: Ints
    starts: Ints
    keys: Ints
    totals: Ints
    crossing: Ints
    special: bool
    identity: bytes

    def settle(self, keys: Ints) -> bool:
        """Round ``keys`` up to the alignments, in place; False if a fixed buffer cannot be."""
        part = self.part
        offsets = -(-(keys // SCALE) // part.alignment) * part.alignment
        left = keys < PLACED
        np.copyto(keys, offsets * SCALE + np.arange(keys.size), where=left)
        return not ((part.fixed >= 0) & left & (offsets > part.fixed)).any()


def branch(part: Part, word: str) -> Branch:
    """All of ``part``, in the order ``word``."""
    return _ranked(_taken(part, arrange(part, word), slice(None)))


def rest(whole: Branch, chosen: Ints, sections: slice, keys: Ints, word: str) -> Branch:
    """The buffers ``chosen`` of ``whole``, ranked anew, in ``sections`` that are theirs alone."""
    part = _taken(whole.part, chosen, sections)
    order = arrange(part, word)
    part = _taken(part, order, slice(None))
    ranked = _ranked(part)
    offsets = keys[chosen[order]] // SCALE
    ranked.keys[:] = offsets * SCALE + np.arange(len(part))
    return ranked


def _taken(part: Part, order: Ints, sections: slice) -> Part:
    start = sections.start or 0
    grid = np.ix_(order, order)
    return Part(
        ids=part.ids[order],
        size=part.size[order],
        alignment=part.alignment[order],
        fixed=part.fixed[order],
        lower=part.lower[order],
        upper=part.upper[order],
        first=part.first[order] - start,
        last=part.last[order] - start,
        needs=part.needs[order, sections],
        meets=part.meets[grid],
        apart=part.apart[grid],
        windowed=part.windowed[order],
    )


def _ranked(part: Part) -> Branch:
    ranks = np.arange(len(part))
    needs = part.needs * SCALE
    section, member = np.nonzero(needs.T)
    starts = np.searchsorted(section, np.arange(needs.shape[1]))
    crossing = np.zeros(needs.shape[1] + 1, dtype=np.int64)
    np.add.at(crossing, part.first, 1)
    np.add.at(crossing, part.last - 1, -1)
    return Branch(
        part=part,
        heights=part.size * SCALE - ranks,
        tops=np.maximum(part.size, 1) * SCALE - ranks,
        raised=part.apart * SCALE + ranks,
        needs=needs,
        # A section in which nothing is needed stands for any member: it never asks for room.
        members=member if member.size else np.zeros(1, dtype=np.int64),
        starts=np.minimum(starts, max(0, member.size - 1)),
        keys=np.maximum(part.fixed, 0) * SCALE + ranks,
        totals=needs.sum(axis=0),
        crossing=np.cumsum(crossing)[: needs.shape[1] - 1],
        identity=part.ids.tobytes(),
        special=bool((part.alignment > 1).any() or (part.fixed >= 0).any()),
    )
