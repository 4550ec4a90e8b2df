"""Parts: buffers that time ties together, by sections in place of times.

A *section* is a largest set of buffers that live at one time; two buffers meet if and only if
they share one. The buffers of different parts never live at the same time, so that each part can
be placed by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gcd

import numpy as np

from spmopt.core.placement import Buffer, separation
from spmopt.core.table import Bools, Ints

NEVER = -(1 << 40)
"""In place of a separation, for buffers that never meet: far less than any sum of sizes is."""
FREE = -1
"""In place of the offset of a buffer that is not fixed."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """Buffers ``0 .. k-1`` and sections ``0 .. m-1``.

    Attributes
    ----------
    ids : (k,)
        Which of the buffers given these are.
    size, alignment, fixed : (k,)
        Units; ``fixed`` is :data:`FREE` for most.
    lower, upper : (k,)
        Times.
    first, last : (k,)
        Sections ``[first, last)`` that the lifetime reaches over.
    needs : (k, m)
        Units that a buffer takes up in a section.
    meets : (k, k)
        Whether two buffers ever live at the same time; a buffer does not meet itself.
    apart : (k, k)
        How far the offset of the column is above that of the row at least, if it is above it.
    windowed : (k,)
        Has windows: may take up less than its size.
    """

    ids: Ints
    size: Ints
    alignment: Ints
    fixed: Ints
    lower: Ints
    upper: Ints
    first: Ints
    last: Ints
    needs: Ints
    meets: Bools
    apart: Ints
    windowed: Bools

    def __len__(self) -> int:
        return int(self.ids.size)

    @cached_property
    def load(self) -> int:
        """A height that no placement is below: the fullest section, the end of a fixed buffer."""
        fullest = int(self.needs.sum(axis=0).max(initial=0))
        ends = np.where(self.fixed >= 0, self.fixed, 0) + self.size
        return max(fullest, int(ends.max(initial=0)))

    @cached_property
    def rectangles(self) -> bool:
        """Whether no buffer has windows or no size: only then does the search meet all placements.

        (On top of a fixed buffer of no size another begins at the same offset, in either order.)
        """
        return bool(self.size.all() and not self.windowed.any())


def split(buffers: Sequence[Buffer]) -> tuple[int, list[Part]]:
    """Return the bytes of a unit, and parts in order of time.

    Buffers that are nowhere in the way are left out: any offset will do for them.
    """
    ids = np.array([k for k, buffer in enumerate(buffers) if _counts(buffer)], dtype=np.int64)
    kept = [buffers[k] for k in ids]
    unit = _unit(kept)
    if not kept:
        return unit, []
    table = np.array([(b.size_bytes, b.lower, b.upper) for b in kept], dtype=np.int64)
    _, lower, upper = table.T
    order = np.argsort(lower, kind="stable")
    reached = np.maximum.accumulate(upper[order])
    # A time at which nothing lives separates parts.
    cuts = np.flatnonzero(lower[order][1:] >= reached[:-1]) + 1
    # What decides a tie is the same in every copy, whatever the order of the file.
    groups = [group[np.lexsort(table[group].T)] for group in np.split(order, cuts)]
    return unit, [_part(buffers, ids[group], unit) for group in groups]


def _counts(buffer: Buffer) -> bool:
    return bool(buffer.pieces) and (buffer.size_bytes > 0 or buffer.fixed_bytes is not None)


def _part(every: Sequence[Buffer], ids: Ints, unit: int) -> Part:
    buffers = [every[k] for k in ids]
    times = _section_times(buffers)
    needs = np.zeros((len(buffers), times.size), dtype=np.int64)
    active = np.zeros((len(buffers), times.size), dtype=np.bool_)
    for k, buffer in enumerate(buffers):
        for lower, upper, low, high in buffer.pieces:
            span = slice(*np.searchsorted(times, (lower, upper)))
            needs[k, span] = (high - low) // unit
            active[k, span] = True
    windowed = np.array([any(g.window_bytes for g in b.gaps) for b in buffers], dtype=np.bool_)
    sizes = _ints([buffer.size_bytes // unit for buffer in buffers])
    meets = _meets(buffers, active)
    apart = np.where(meets, sizes[:, None], NEVER)
    _correct_windowed(apart, buffers, np.flatnonzero(windowed), unit)
    return Part(
        ids=ids,
        size=sizes,
        alignment=_ints([max(1, b.alignment_bytes // unit) for b in buffers]),
        fixed=_ints([FREE if b.fixed_bytes is None else b.fixed_bytes // unit for b in buffers]),
        lower=_ints([b.lower for b in buffers]),
        upper=_ints([b.upper for b in buffers]),
        first=active.argmax(axis=1),
        last=times.size - active[:, ::-1].argmax(axis=1),
        needs=needs,
        meets=meets,
        apart=apart,
        windowed=windowed,
    )


def _section_times(buffers: Sequence[Buffer]) -> Ints:
    """The last begin before each end that follows one: there, most live."""
    pieces = np.array([piece[:2] for b in buffers for piece in b.pieces], dtype=np.int64)
    begins, ends = np.unique(pieces[:, 0]), np.unique(pieces[:, 1])
    latest = np.searchsorted(begins, ends) - 1
    return begins[np.unique(latest)]


def _meets(buffers: Sequence[Buffer], active: Bools) -> Bools:
    if any(buffer.gaps for buffer in buffers):
        shared: Bools = active.astype(np.float32) @ active.T.astype(np.float32) > 0
    else:
        lower = np.array([buffer.lower for buffer in buffers])
        upper = np.array([buffer.upper for buffer in buffers])
        shared = (lower[:, None] < upper) & (lower < upper[:, None])
    np.fill_diagonal(shared, False)
    return shared


def _correct_windowed(apart: Ints, buffers: Sequence[Buffer], windowed: Ints, unit: int) -> None:
    for one in windowed.tolist():
        for other in np.flatnonzero(apart[one] != NEVER).tolist():
            for below, above in ((one, other), (other, one)):
                found = separation(buffers[below], buffers[above])
                apart[below, above] = NEVER if found is None else found // unit


def _unit(buffers: Sequence[Buffer]) -> int:
    unit = 0
    for buffer in buffers:
        unit = gcd(unit, buffer.size_bytes, buffer.fixed_bytes or 0)
        for gap in buffer.gaps:
            unit = gcd(unit, *(gap.window_bytes or (0, 0)))
    unit = unit or 1
    # Rounding up to an alignment must not change multiples of the unit.
    alignments = {buffer.alignment_bytes for buffer in buffers}
    while any(unit % a and a % unit for a in alignments):
        unit = gcd(unit, next(a for a in sorted(alignments) if unit % a and a % unit))
    return unit


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)
