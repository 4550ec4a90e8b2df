"""How far fused groups reach from each operation on, whatever the plan."""

from __future__ import annotations

from collections.abc import Sequence

from spmopt.core.fusion.fused_groups import TileableOperation
from spmopt.core.fusion.fusion_space import FusionSpace
from spmopt.core.fusion.tileable_graph import TileableGraph


def farthest_ends(
    tileable: TileableGraph,
    fusion_space: FusionSpace,
    micro_batches: int,
    reach: Sequence[int],
    barrier: Sequence[int],
) -> list[int]:
    """Return the farthest end of a fused group by its begin; none beyond it has no obstacle.

    ``reach``: by begin, that of stripes; ``barrier``: as of :func:`barriers`.
    """
    operations, found = tileable.operations, list[int]()
    fits = [tileable.fits(at, micro_batches) for at in range(len(operations))]
    end = products = 0
    for begin, last in enumerate(reach):
        if end < begin:
            end, products = begin, 0
        while end < last and fits[end]:
            more = products + operations[end].is_product
            if micro_batches > 1 and (barrier[end] >= begin or not fusion_space.takes(more)):
                break
            end, products = end + 1, more
        found.append(min(end, last))
        products -= operations[begin].is_product if end > begin else 0
    return found


def barriers(operations: Sequence[TileableOperation]) -> list[int]:
    """Return, of each operation, the last before whose tiles it cannot follow; -1 if none.

    The other reads, or writes anew, partial sums of one; or a tensor that one cuts is whole to
    each fusion tile of the other.
    """
    partial_sums, read = dict[int, int](), dict[int, int]()
    cut, whole = dict[int, int](), dict[int, int]()
    found = list[int]()
    for at, operation in enumerate(operations):
        barrier = -1
        for t in operation.uses(0):
            mine, other = (cut, whole) if t in operation.cut else (whole, cut)
            barrier, mine[t] = max(barrier, other.get(t, -1)), at
            if t in operation.partial_sums:
                barrier = max(barrier, read.get(t, -1))
                anew = t not in operation.reads
                barrier = max(barrier, partial_sums.get(t, -1) if anew else -1)
            elif t in operation.reads:
                barrier = max(barrier, partial_sums.get(t, -1))
        found.append(barrier)
        for t in operation.uses(0):
            if t in operation.partial_sums:
                partial_sums[t] = at
            elif t in operation.reads:
                read[t] = at
    return found
