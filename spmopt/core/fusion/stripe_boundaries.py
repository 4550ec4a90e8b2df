"""Stripes: where a fused group cuts each of its operations so that no row is computed twice.

Stripe ``k`` of an operation computes the rows of results that its inputs of stripes up to ``k``
allow, and the last stripe all that are left; so the rows of a halo are kept from the stripe before,
not computed again. Each window that is wider than its stride lets later boundaries fall back a
little, so stripes are uneven, and the last is the largest. Operations none of whose inputs are made
in the fused group have even stripes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from spmopt.core.fusion.fused_groups import TileableOperation
from spmopt.core.fusion.row_windows import Boundaries, Rows, Window, takes_rows


def boundaries(operations: Sequence[TileableOperation], stripes: int) -> Iterator[Boundaries | str]:
    """Yield the boundaries of the stripes of each operation of a group.

    At an obstacle say which.
    """
    made: dict[int, Boundaries] = {}
    read: set[int] = set()
    for operation in operations:
        found = _boundaries(operation, stripes, made, read)
        yield found
        if isinstance(found, str):
            return
        made |= dict.fromkeys(operation.writes, found)
        # What it updates it reads row by row, and nothing reads the old contents later.
        read |= {*operation.reads} - {*operation.writes}


def _boundaries(
    operation: TileableOperation, stripes: int, made: Mapping[int, Boundaries], read: set[int]
) -> Boundaries | str:
    rows = operation.rows
    if rows is None:
        return f"{operation.name} cannot be cut into stripes"
    # A later stripe would still read the old contents, or write them anew.
    if any(t in read or (t in made and t not in operation.reads) for t in operation.writes):
        return f"{operation.name} writes anew what is used before it in the fused group"
    before = [t for t in operation.reads if t in made]
    if not all(t in rows.windows for t in before):
        return (
            f"{operation.name} needs all rows of what is made in the fused group stripe by stripe"
        )
    if stripes <= rows.count:
        found = _cut(rows, stripes, [(rows.windows[t], made[t]) for t in before])
        windows = [rows.windows[t] for t in operation.reads if t in rows.windows]
        # A stripe without rows would be an operation without work or operands.
        if all(begin < end for begin, end in pairwise(found)) and all(
            takes_rows(found, window, rows) for window in windows
        ):
            return found
    return f"{operation.name} has no rows to compute, or to take, in some of {stripes} stripes"


def _cut(rows: Rows, stripes: int, made: Sequence[tuple[Window, Boundaries]]) -> Boundaries:
    """Return the boundaries that windows of earlier results allow; even ones without any."""
    ends = [rows.count * stripe // stripes for stripe in range(1, stripes)]
    if made:
        ends = [
            # The slowest operand decides how far a stripe can go.
            min(rows.count, *(window.ready(own[stripe]) for window, own in made))
            for stripe in range(1, stripes)
        ]
    return (0, *ends, rows.count)
