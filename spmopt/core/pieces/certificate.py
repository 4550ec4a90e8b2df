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

ALL_OF = 1_500
"""Operations of a list of which all segments have values of their own."""
MOST_VALUES, MOST_OPERATIONS = 6_000_000, 256
"""Of longer lists: values of a table, counts of pieces told apart, and operations of a segment. All
segments of GNMT of 10 time steps would be 40 million, of a Transformer of 96 layers 930; and the
program of one of 670 operations of GNMT takes 630 MB."""


def longest_valued(count: int, ways: int) -> int:
    """Return the operations of the longest segments that have values of their own in a bound.

    Of a list of ``count`` operations and so many numbers of pieces. Longer ones count with runs
    inside of them.
    """
    if count <= ALL_OF:
        return count
    return min(max(MOST_VALUES // (count * ways), 2), MOST_OPERATIONS)


def block_length(longest: int) -> int:
    """Return the operations of runs that count in segments longer than ``longest``.

    These are blocks: they begin at multiples of their length.
    """
    return min(1 << max(longest, 2).bit_length() - 1, 32)


@dataclass(frozen=True, kw_only=True)
class CoverCertificate:
    """Prices that prove a bound over all covers of a family, in units of ``2**-bits``.

    Attributes
    ----------
    prices
        Of rows of some segments, by name (``spmopt.verifier.segment_bound``). There are none of
        segments longer than :func:`longest_valued`.
    runs
        Likewise of some runs of operations, which cost as much in any segment of as many pieces.
    carried
        Of a byte that is on chip at a border, and of one that is newer than DRAM, by border and
        group (``spmopt.verifier.carried``). There are none where some segments are longer.
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
