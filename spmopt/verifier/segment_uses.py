"""How operations of a segment use tensors, and which contents are needed after an operation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spmopt.core.pieces.listing import Listing
from spmopt.core.pieces.segments import Segment


@dataclass(frozen=True, slots=True)
class SegmentUse:
    """A use of a tensor in a segment: of all pieces together."""

    step: int
    reads: bool
    writes: bool
    live: bool
    passes: int
    fixed: bool


class Liveness:
    """Which contents of which tensors are needed after each operation of a listing."""

    def __init__(self, listing: Listing) -> None:
        self.listing = listing
        self._live: list[dict[int, bool]] = []
        needed = {t: tensor.keep for t, tensor in enumerate(listing.tensors)}
        for operation in reversed(listing.operations):
            used = {*operation.reads, *operation.writes}
            self._live.append({t: needed[t] for t in used})
            needed.update((t, t in operation.reads) for t in used)
        self._live.reverse()

    def after(self, operation: int, tensor: int) -> bool:
        """Return whether what is in a tensor after an operation that uses it is needed."""
        return self._live[operation][tensor]


def uses_of(liveness: Liveness, segment: Segment) -> list[tuple[int, bool, list[SegmentUse]]]:
    """Return each tensor of a segment, whether it is whole to each piece, and how it is used."""
    found: dict[int, list[SegmentUse]] = {}
    whole: dict[int, bool] = {}
    operations = liveness.listing.operations[segment.begin : segment.end]
    for step, operation in enumerate(operations):
        each = operation.operands(segment.pieces)
        first, later = each[0], each[-1]
        for tensor, operand in first.items():
            whole[tensor] = segment.pieces > 1 and tensor not in operation.cut
            use = SegmentUse(
                step=step,
                reads=tensor in operation.reads,
                writes=tensor in operation.writes,
                live=liveness.after(segment.begin + step, tensor),
                passes=min(operand.passes, later[tensor].passes),
                fixed=operand.stationary and later[tensor].stationary,
            )
            found.setdefault(tensor, []).append(use)
    return [(tensor, whole[tensor], uses) for tensor, uses in found.items()]


class Tracks:
    """The steps of a piece in which tensors that are cut may be on chip, tensor by tensor.

    After its last use one is there if it is ``followed``, and needed.

    Attributes
    ----------
    some : (m, steps)
        These: a tensor's uses, and steps between them where what is in it is needed.
    grows, fixed, wrote, newer : (m, steps)
        Whether it is there before the step, and may be loaded in it; whether it must be resident;
        whether it is written; and whether bytes newer than DRAM may be there after.
    """

    def __init__(self, tensors: list[list[SegmentUse]], followed: list[bool], steps: int) -> None:
        there, self.fixed, self.wrote, self.newer, used = np.zeros((5, len(tensors), steps), bool)
        reads = np.ones((len(tensors), steps), bool)
        for at, uses in enumerate(tensors):
            begin, live, dirty = 0, uses[0].reads, False
            for use in uses:
                step = use.step
                there[at, begin:step], self.newer[at, begin:step] = live, live and dirty
                begin, live = step + 1, use.live
                dirty = use.live and (use.writes or dirty)
                used[at, step], reads[at, step], self.newer[at, step] = True, use.reads, dirty
                self.wrote[at, step], self.fixed[at, step] = use.writes, use.fixed
            if followed[at]:
                there[at, begin:], self.newer[at, begin:] = live, live and dirty
        self.some = there | used
        self.grows = self.some & reads
