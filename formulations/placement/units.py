"""Buffers as arrays, sizes divided by what all of them have in common.

A placement pushed down as far as it goes has each buffer at 0, at its fixed offset or on top of
another, rounded up to its alignment: every offset is a multiple of the unit found here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

import numpy as np

from spmopt.core.placement import Buffer
from spmopt.core.table import Ints

FREE = -1
"""In place of the offset of a buffer that is not fixed."""


@dataclass(frozen=True, kw_only=True)
class Units:
    """Buffers in units of ``unit_bytes``; those that are nowhere in the way are left out.

    Attributes
    ----------
    ids : (k,)
        Which buffers these are; any other is put at offset 0.
    size, alignment, fixed : (k,)
        Units; ``fixed`` is :data:`FREE` for most.
    """

    buffers: tuple[Buffer, ...]
    unit_bytes: int
    ids: Ints
    size: Ints
    alignment: Ints
    fixed: Ints

    @property
    def kept(self) -> list[Buffer]:
        """The buffers of ``ids``."""
        return [self.buffers[k] for k in self.ids]

    def offsets_bytes(self, offsets: Ints) -> tuple[int, ...]:
        """Offsets of all buffers, from those of the ``k`` that count."""
        found = [buffer.fixed_bytes or 0 for buffer in self.buffers]
        for k, offset in zip(self.ids.tolist(), offsets.tolist(), strict=True):
            found[k] = offset * self.unit_bytes
        return tuple(found)

    def floor(self, capacity_bytes: int) -> int:
        """Whole units in ``capacity_bytes``."""
        return capacity_bytes // self.unit_bytes


def in_units(buffers: Sequence[Buffer]) -> Units:
    """Leave out what needs no place, and divide."""
    ids = [
        k
        for k, buffer in enumerate(buffers)
        if buffer.pieces and (buffer.size_bytes or buffer.fixed_bytes is not None)
    ]
    kept = [buffers[k] for k in ids]
    unit = _unit(kept)
    return Units(
        buffers=tuple(buffers),
        unit_bytes=unit,
        ids=_ints(ids),
        size=_ints([buffer.size_bytes // unit for buffer in kept]),
        alignment=_ints([max(1, buffer.alignment_bytes // unit) for buffer in kept]),
        fixed=_ints([FREE if b.fixed_bytes is None else b.fixed_bytes // unit for b in kept]),
    )


def _unit(buffers: Sequence[Buffer]) -> int:
    unit = 0
    for buffer in buffers:
        unit = gcd(unit, buffer.size_bytes, buffer.fixed_bytes or 0)
        for gap in buffer.gaps:
            unit = gcd(unit, *(gap.window_bytes or (0, 0)))
    unit = unit or 1
    # Rounding up to an alignment must keep multiples of the unit what they are.
    alignments = {buffer.alignment_bytes for buffer in buffers}
    while any(unit % a and a % unit for a in alignments):
        unit = gcd(unit, next(a for a in sorted(alignments) if unit % a and a % unit))
    return unit


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)
