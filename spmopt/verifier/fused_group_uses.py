"""How operations of a tileable graph use tensors, and which contents are needed after each."""

from __future__ import annotations

from typing import NamedTuple

from spmopt.core.fusion.tileable_graph import TileableGraph


class Use(NamedTuple):
    """A use of a tensor by an operation, in all of its fusion tiles.

    Attributes
    ----------
    whole
        The tensor is whole to each fusion tile; else each has a part of its own.
    begun, reads
        Whether the first fusion tile reads it, and the others.
    live
        Its contents are needed afterwards.
    """

    tensor: int
    whole: bool
    begun: bool
    reads: bool
    writes: bool
    live: bool
    fetches: int
    required_resident: bool


class Liveness:
    """Which contents of which tensors are needed after each operation of a tileable graph."""

    def __init__(self, tileable: TileableGraph) -> None:
        self.tileable = tileable
        self._live: list[dict[int, bool]] = []
        self._uses: dict[tuple[int, int], list[Use]] = {}
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

    def uses(self, at: int, micro_batches: int) -> list[Use]:
        """Return the uses of an operation in so many fusion tiles."""
        found = self._uses.get((at, micro_batches))
        if found is None:
            operation = self.tileable.operations[at]
            each = operation.operands(micro_batches)
            first, later = each[0], each[-1]
            found = self._uses[at, micro_batches] = [
                Use(
                    tensor=tensor,
                    whole=(whole := micro_batches > 1 and tensor not in operation.cut),
                    begun=tensor in operation.reads,
                    reads=tensor in (operation.reads_of(1) if whole else operation.reads),
                    writes=tensor in operation.writes,
                    live=self.after(at, tensor),
                    # The first tile's mapping may differ from the others'; the weaker of both
                    # holds for all.
                    fetches=min(operand.fetches, later[tensor].fetches),
                    required_resident=operand.required_resident and later[tensor].required_resident,
                )
                for tensor, operand in first.items()
            ]
        return found
