"""What proves a bound over all covers of a family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from spmopt.core.objective import Objective
from spmopt.core.pieces.family import Family
from spmopt.core.pieces.segments import Segment

Row = tuple[str | int | tuple[int, int], ...]
"""Name of a row of the program of a segment; or of rows that have the same price, whose names end
with steps from the first of two to before the second."""

MOST_SEGMENTS = 75_000_000
"""Segments of a list whose values fit memory, counts of pieces told apart: each takes some 100
bytes. GNMT of 10 time steps has 40 million, a Transformer of 96 layers 930."""


@dataclass(frozen=True, kw_only=True)
class CoverCertificate:
    """Prices that prove a bound over all covers of a family, in units of ``2**-bits``.

    Attributes
    ----------
    prices
        Of rows of some segments, by name (``spmopt.verifier.segment_bound``). There are none of
        lists of more than ``MOST_SEGMENTS``.
    runs
        Likewise of some runs of operations, which cost as much in any segment of as many pieces.
    carried
        Of a byte that is on chip at a border, and of one that is newer than DRAM, by border and
        group (``spmopt.verifier.carried``).
    agreed
        Of rows of some segments, as ``prices``, where what crosses their borders has those prices.
    fine
        Whether rows of these are of the first piece, those between and the last, not of all.
    """

    family: Family
    objective: Objective
    bits: int
    prices: Mapping[Segment, Mapping[Row, int]]
    runs: Mapping[Segment, Mapping[Row, int]] = field(default_factory=dict)
    carried: Mapping[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    agreed: Mapping[Segment, Mapping[Row, int]] = field(default_factory=dict)
    fine: bool = False
