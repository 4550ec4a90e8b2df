"""How operations of a fused group use tensors, and which contents are needed after an operation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.fusion.tileable_graph import TileableGraph


@dataclass(frozen=True, slots=True)
class FusedGroupUse:
    """A use of a tensor in a fused group: of all fusion tiles together."""

    step: int
    reads: bool
    writes: bool
    live: bool
    fetches: int
    fixed: bool


class Liveness:
    """Which contents of which tensors are needed after each operation of a tileable graph."""

    def __init__(self, tileable: TileableGraph) -> None:
        self.tileable = tileable
        self._live: list[dict[int, bool]] = []
        # Backwards: contents are needed if a later operation reads them, or if they are kept.
        needed = {t: tensor.keep for t, tensor in enumerate(tileable.tensors)}
        for operation in reversed(tileable.operations):
            used = {*operation.reads, *operation.writes}
            self._live.append({t: needed[t] for t in used})
            needed.update((t, t in operation.reads) for t in used)
        self._live.reverse()

    def after(self, operation: int, tensor: int) -> bool:
        """Return whether the contents of a tensor after an operation that uses it are needed."""
        return self._live[operation][tensor]


def uses_of(
    liveness: Liveness, fused_group: FusedGroup
) -> list[tuple[int, bool, list[FusedGroupUse]]]:
    """Return each tensor of a fused group, whether it is whole to each tile, and how it is used."""
    found: dict[int, list[FusedGroupUse]] = {}
    whole: dict[int, bool] = {}
    operations = liveness.tileable.operations[fused_group.begin : fused_group.end]
    for step, operation in enumerate(operations):
        each = operation.operands(fused_group.micro_batches)
        first, later = each[0], each[-1]
        for tensor, operand in first.items():
            whole[tensor] = fused_group.micro_batches > 1 and tensor not in operation.cut
            use = FusedGroupUse(
                step=step,
                reads=tensor in operation.reads,
                writes=tensor in operation.writes,
                live=liveness.after(fused_group.begin + step, tensor),
                # The first tile's mapping may differ from the others'; the weaker of both holds for
                # all.
                fetches=min(operand.fetches, later[tensor].fetches),
                fixed=operand.required_resident and later[tensor].required_resident,
            )
            found.setdefault(tensor, []).append(use)
    return [(tensor, whole[tensor], uses) for tensor, uses in found.items()]


class Tracks:
    """The steps of a fusion tile in which tensors that are cut may be on chip, tensor by tensor.

    After its last use one is there if it is ``followed``, and needed.

    Attributes
    ----------
    some : (m, steps)
        These: a tensor's uses, and steps between them where its contents are needed.
    grows, fixed, wrote, newer : (m, steps)
        Whether it is there before the step, and may be loaded in it; whether it must be resident;
        whether it is written; and whether bytes newer than DRAM may be there after.
    """

    def __init__(
        self, tensors: list[list[FusedGroupUse]], followed: list[bool], steps: int
    ) -> None:
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
