"""Dual values of bytes carried across boundaries between fused groups, and the tensors that can be.

A byte on chip when a fused group begins costs its dual value there, and earns it for the fused
group before; if it is newer than DRAM it has a second dual value, the other way round. Both
neighbors have the same bytes, so that their payments cancel at any dual values.
"""

from __future__ import annotations

from collections.abc import Mapping

from spmopt.core.compression import ratios_of
from spmopt.core.errors import InputError
from spmopt.core.fusion.tileable_graph import TileableGraph

READ, REST = -1, -2
"""Groups of tensors: others that are never written; others that have no dual value of their own."""


class Carried:
    """Dual values at boundaries, by position and group: a tensor, or ``READ``.

    Raises
    ------
    InputError
        A dual value is of a boundary or group that there is not, or of something that is summed up.
    """

    def __init__(
        self, tileable: TileableGraph, duals: Mapping[tuple[int, int], tuple[int, int]]
    ) -> None:
        self.duals, count = duals, len(tileable.operations)
        self.ratios = ratios_of(tileable.machine, tileable.tensors)
        # Partial sums have several contents within a group, so that no dual value names one.
        # By tensor, the first operation that writes it: before it nothing is newer than DRAM.
        self._written = written = dict[int, int]()
        for at, operation in enumerate(tileable.operations):
            for t in operation.writes:
                written.setdefault(t, at)
        summed = {t for operation in tileable.operations for t in operation.partial_sums}
        priced = {group for _, group in duals}
        able = {READ, *range(len(tileable.tensors))} - summed
        for boundary, group in duals:
            if not 0 < boundary < count or group not in able:
                raise InputError(
                    f"certificate: boundary {boundary} has no dual value of tensor {group}"
                )
        self.group = {
            t: t if t in priced else READ if t not in written and READ in priced else REST
            for t in range(len(tileable.tensors))
        }
        self.crossing = self._crossing(tileable) if priced else [{} for _ in range(count + 1)]

    def _crossing(self, tileable: TileableGraph) -> list[dict[int, int]]:
        """Return, before each operation and at the end, the tensors that are needed, and sizes."""
        needed = {t for t, tensor in enumerate(tileable.tensors) if tensor.keep}
        found = [set[int]()]  # Nothing is on chip at the end.
        for operation in reversed(tileable.operations):
            needed = needed - set(operation.writes) | set(operation.reads)
            found.append(needed)
        found[-1] = set()  # Nor at the beginning.
        used = {t for operation in tileable.operations for t in operation.uses(0)}
        return [
            {t: tileable.tensors[t].size_bytes for t in each if self.group[t] != REST and t in used}
            for each in reversed(found)
        ]

    def newer(self, boundary: int, group: int) -> bool:
        """Return whether bytes of a group may be newer than DRAM at a boundary."""
        return group == REST or self._written.get(group, boundary) < boundary

    def of(self, boundary: int, group: int) -> tuple[int, int]:
        """Return the dual values of a byte of a group, and of one that is newer than DRAM."""
        return self.duals.get((boundary, group), (0, 0))
