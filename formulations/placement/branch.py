"""State of the search: buffers of a part, in the order in which they are tried.

The least offset that each buffer can still have and its rank are one number, the *key*,
``offset * SCALE + rank``: the smallest key is the next candidate, and raising offsets by a
placement is one maximum of two arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from formulations.placement.greedy import Floats, arrange
from formulations.placement.parts import NEVER, Part
from spmopt.core.table import Ints

SCALE = 1 << 12
"""More than the buffers of any part that is searched."""
PLACED = 1 << 61
"""Key of a buffer that has its offset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledPart:
    """A part, scaled, that all branches of a search share: ``apart`` (k, k), ``needs`` (k, m).

    It is searched in the order ``word``, shaken by ``noise`` (k,) if there is any.
    """

    part: Part
    apart: Ints
    needs: Ints
    word: str = ""
    noise: Floats | None = None

    @classmethod
    def of(cls, part: Part) -> ScaledPart:
        """Scale ``part``."""
        return cls(part=part, apart=part.apart * SCALE, needs=part.needs * SCALE)

    def order(self, word: str, noise: Floats | None = None) -> ScaledPart:
        """The same in another order."""
        return replace(self, word=word, noise=noise)

    def arrange(self, which: Ints, totals: Ints, origin: int) -> Ints:
        """Buffers ``which`` in the order in which they are tried."""
        return arrange(self.part, self.word, which, totals, origin, noise=self.noise)


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
    identity
        Which buffers these are, in order.
    """

    scaled: ScaledPart
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
    identity: bytes
    _raised: dict[int, tuple[Ints, int]] = field(default_factory=dict)

    def raise_values(self, rank: int) -> tuple[Ints, int]:
        """Effects of a placed buffer on others.

        From its scaled offset to their least keys (k,); and the ranks of those that it is in the
        way of, as the bits of a number.
        """
        if rank not in self._raised:
            raised: Ints = self.scaled.apart[self.which[rank], self.which] + self.ranks
            # Bits of a number: intersections are one machine operation.
            met = np.packbits(raised > NEVER * SCALE // 2, bitorder="little")
            self._raised[rank] = raised, int.from_bytes(met.tobytes(), "little")
        return self._raised[rank]

    def needs(self, rank: int) -> Ints:
        """Size of a buffer in each section (m,), scaled."""
        end = self.origin + self.totals.size
        needs: Ints = self.scaled.needs[self.which[rank], self.origin : end]
        return needs

    def settle(self, keys: Ints) -> bool:
        """Round ``keys`` up to the alignments, in place; False if a fixed buffer cannot be."""
        part = self.scaled.part
        steps, fixed = part.alignment[self.which], part.fixed[self.which]
        offsets = -(-(keys // SCALE) // steps) * steps
        left = keys < PLACED
        np.copyto(keys, offsets * SCALE + self.ranks, where=left)
        return not ((fixed >= 0) & left & (offsets > fixed)).any()


def root(scaled: ScaledPart) -> Branch:
    """All buffers."""
    part = scaled.part
    totals = scaled.needs.sum(axis=0)
    crossing = np.zeros(totals.size + 1, dtype=np.int64)
    np.add.at(crossing, part.first, 1)
    np.add.at(crossing, part.last - 1, -1)
    sections, buffers = np.nonzero(scaled.needs.T)
    return _branch(
        scaled,
        origin=0,
        chosen=np.arange(len(part)),
        offsets=np.maximum(part.fixed, 0),
        buffers=buffers,
        sections=sections,
        totals=totals,
        crossing=np.cumsum(crossing)[: totals.size - 1],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Remainder:
    """Buffers ``chosen`` by their ranks in ``whole``, and their sections ``[begin, end)``.

    The state is that of ``whole`` when these fell apart from all others.
    """

    whole: Branch
    chosen: Ints
    begin: int
    end: int
    keys: Ints
    totals: Ints
    crossing: Ints

    def branch(self) -> Branch:
        """A branch of its own, ranked anew."""
        whole = self.whole
        inside = slice(*np.searchsorted(whole.sections, (self.begin, self.end)))
        return _branch(
            whole.scaled,
            origin=whole.origin + self.begin,
            chosen=whole.which[self.chosen],
            offsets=self.keys[self.chosen] // SCALE,
            buffers=whole.which[whole.members[inside]],
            sections=whole.sections[inside] - self.begin,
            totals=self.totals[self.begin : self.end],
            crossing=self.crossing[self.begin : self.end - 1],
        )


def _branch(
    scaled: ScaledPart,
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
    part = scaled.part
    which = scaled.arrange(chosen, totals, origin)
    rank = np.full(len(part), -1, dtype=np.int64)
    rank[which] = np.arange(which.size)
    members = rank[buffers]
    kept = members >= 0
    members, sections = members[kept], sections[kept]
    least = np.empty(which.size, dtype=np.int64)
    least[rank[chosen]] = offsets
    ranks = np.arange(which.size)
    size = part.size[which]
    starts = np.searchsorted(sections, np.arange(totals.size))
    return Branch(
        scaled=scaled,
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
        identity=which.tobytes(),
    )
