"""Certificate of a bound over a fusion space."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.fusion.fusion_space import FusionSpace
from spmopt.core.objective import Objective

Row = tuple[str | int, ...]
"""Name of a row of the program of a group."""

ALL_OF = 1_500
"""Operations of a list of which all fused groups have values of their own."""
SHORT = 64
"""Operations of a list whose untiled groups of all lengths have values, too: they are few."""
MOST_VALUES, MOST_OPERATIONS = 6_000_000, 256
"""Of longer lists: values of a table, counts of tiles told apart, and operations of a group. All
fused groups of GNMT of 10 time steps would be 40 million, of a Transformer of 96 layers 930; and
the program of one of 670 operations of GNMT takes 630 MB."""

PARTS = 4
"""Parts of a bound on a group without dual values, where bytes have them at boundaries: so many are
of its computing, and the others of its bytes, as proves most."""


def longest_valued(count: int, ways: int, reach: int) -> tuple[int, bool]:
    """Return the operations of the longest groups that have values of their own, and if all do.

    Of a list of ``count`` operations, so many ways to tile a group, and tiled groups of at most
    ``reach`` operations. Untiled groups that are longer are as good as several; tiled ones count
    with runs inside of them.
    """
    reach = count if count <= SHORT else max(reach, 1)
    if count <= ALL_OF:
        return reach, True
    # At least pairs, without which the bound would know no fusion at all.
    longest = min(max(MOST_VALUES // (count * ways), 2), MOST_OPERATIONS)
    return min(longest, reach), longest >= reach


def block_length(longest: int) -> int:
    """Return the operations of runs that count in fused groups longer than ``longest``.

    These are blocks: they begin at multiples of their length.
    """
    # The largest power of two up to ``longest``, so that every longer group holds a block.
    return min(1 << max(longest, 2).bit_length() - 1, 32)


@dataclass(frozen=True, kw_only=True)
class FusionCertificate:
    """Dual values that prove a bound over the fusion space of a fusion space.

    In units of ``2**-bits``.

    Attributes
    ----------
    duals
        Of rows of some fused groups, by name (``spmopt.verifier.fused_group_bound``). There are
        none of fused groups longer than :func:`longest_valued`.
    runs
        Likewise of some runs of operations, which cost as much in any fused group of as many fusion
        tiles.
    carried
        Of a byte that is on chip at a boundary, and of one that is newer than DRAM, by boundary and
        group (``spmopt.verifier.carried``). There are none where some fused groups are longer.
    agreed
        Of rows of some fused groups, as ``duals``, where bytes across their boundaries have those
        dual values.
    fine
        Whether rows of these are of the first fusion tile, those between and the last, not of all.
    """

    fusion_space: FusionSpace
    objective: Objective
    bits: int
    duals: Mapping[FusedGroup, Mapping[Row, int]]
    runs: Mapping[FusedGroup, Mapping[Row, int]] = field(default_factory=dict)
    carried: Mapping[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    agreed: Mapping[FusedGroup, Mapping[Row, int]] = field(default_factory=dict)
    fine: bool = False
