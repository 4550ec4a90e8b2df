"""What the solver is told of a part; by itself, because its process loads nothing else of ours."""

from __future__ import annotations

from dataclasses import dataclass

from spmopt.core.table import Ints


@dataclass(frozen=True, kw_only=True)
class Model:
    """Offsets of buffers ``0 .. k-1``, free of overlap.

    Attributes
    ----------
    size, alignment, fixed : (k,)
        ``fixed`` is -1 where the offset is free.
    sections
        Buffers of which no two overlap, section by section.
    pairs : (p, 4)
        Columns i, j, up, down: ``o_j >= o_i + up`` or ``o_i >= o_j + down``.
    """

    size: Ints
    alignment: Ints
    fixed: Ints
    sections: list[Ints]
    pairs: Ints
