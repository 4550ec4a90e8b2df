"""Columns and rows of a segment's program, by the names that the verifier has for them."""

from __future__ import annotations

import numpy as np

from formulations.covers.listed import REST, Listed
from formulations.covers.steps import Amounts
from formulations.solver.program import Floats, ProgramBuilder
from spmopt.core.pieces.segments import Segment
from spmopt.core.table import Bools, Ints


class SegmentRows:
    """A segment's program while it is built; amounts of bytes are in ``unit`` bytes.

    Parameters
    ----------
    held, handed
        As of :class:`~formulations.covers.segment.SegmentProgram`.
    counts
        How many pieces each class has.

    Attributes
    ----------
    steps, width
        Steps of a class, and of all classes.
    into, out, room
        What is moved in and out in each step, and what takes room.
    """

    def __init__(
        self, listed: Listed, segment: Segment, held: float, counts: list[int], *, handed: bool
    ) -> None:
        self.listed, self.segment, self.held, self.handed = listed, segment, held, handed
        self.pieces, self.steps = segment.pieces, segment.end - segment.begin
        self.counts = counts
        self.unit = max(listed.capacity / 64, 1.0)
        self.builder, self.width = ProgramBuilder(), self.steps * len(self.counts)
        self.into, self.out, self.room = Amounts(), Amounts(), Amounts()
        self._names: list[tuple[Ints, str, list[list[int]], int | None]] = []
        self._sides: list[tuple[Ints, bool, bool]] = []

    def group(self, tensor: int) -> int:
        """Return what a tensor is handed over with."""
        return self.listed.groups[tensor] if self.handed else REST

    def at(self, number: int) -> Ints:
        """Return the places of the steps of a class among those of all."""
        return number * self.steps + np.arange(self.steps)

    def columns(
        self, where: Bools | int, upper: Floats | float, lower: Floats | float = 0.0
    ) -> Ints:
        """Add quantities of bytes; -1 where there are none."""
        return self.builder.columns(where, lower=lower / self.unit, upper=upper / self.unit)

    def rows(
        self,
        kind: str,
        where: Bools | int,
        sides: tuple[Floats | float, Floats | float],
        owners: list[list[int]] | None = None,
        number: int | None = None,
    ) -> Ints:
        """Add rows of bytes, by the names that the verifier has for them.

        A name is the kind, what owns the row (tensors or groups, by the first axis), the number of
        the class, and the places along the other axes; of a single row the kind alone. Rows without
        a kind are the program's own.
        """
        lower, upper = sides
        rows = self.builder.rows(where, lower / self.unit, upper / self.unit)
        if kind:
            self._names.append((rows, kind, owners or [], number))
        some = rows[rows >= 0]
        self._sides.append((some, bool(np.all(np.isinf(upper))), bool(np.all(np.isinf(lower)))))
        return rows
