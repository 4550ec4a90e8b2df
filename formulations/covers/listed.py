"""What programs of segments need of a listing: uses, what is live after them, figures of modes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from formulations.solver.program import Floats
from spmopt.core.banded import Banded, followed
from spmopt.core.listing import Family, Listing, Segment
from spmopt.core.machine import Machine
from spmopt.core.objective import Objective
from spmopt.core.operation import Mode


@dataclass(frozen=True, slots=True)
class Use:
    """How an operation uses a tensor.

    Attributes
    ----------
    reads, writes
        Of a sum: whether its first piece reads it.
    live_after
        Whether the contents are needed later.
    shared
        Whether it is whole to each piece.
    """

    tensor: int
    reads: bool
    writes: bool
    live_after: bool
    shared: bool
    passes: int
    stationary: bool


class Listed:
    """A listing, with modes for bands of rows, in the order in which segments see it.

    ``family``: of covers, by default of all.

    Attributes
    ----------
    accesses
        Of each tensor: the operations that use it, in order, and whether each reads it.
    """

    def __init__(
        self, listing: Listing, objective: Objective, family: Family | None = None
    ) -> None:
        self.family = listing.family() if family is None else family
        self.banded = Banded(listing, self.family.bands)
        self.listing, self.objective = self.banded.listing, objective
        machine = listing.machine
        self.capacity = machine.spm_pages * machine.page_bytes
        self.bytes_per_cycle = float(machine.bytes_per_cycle)
        self.count = len(listing.operations)
        self.accesses: list[list[tuple[int, bool]]] = [[] for _ in listing.tensors]
        for at, operation in enumerate(listing.operations):
            for tensor in operation.uses(0):
                self.accesses[tensor].append((at, tensor in operation.reads))
        self.sizes = [tensor.size_bytes for tensor in listing.tensors]
        self._uses: dict[tuple[int, int], tuple[Use, ...]] = {}
        self._figures: dict[tuple[str, int], Floats] = {}
        self._alike: dict[object, int] = {}
        self._kinds: dict[tuple[int, int], int] = {}

    def live_after(self, tensor: int, at: int) -> bool:
        """Return whether the contents of a tensor after an operation are needed."""
        for later, reads in self.accesses[tensor]:
            if later > at:
                return reads
        return self.listing.tensors[tensor].keep

    def modes(self, at: int, pieces: int) -> tuple[Use, ...]:
        """Return the uses of an operation in ``pieces``, by the operands of its mode then."""
        known = self._uses.get((at, pieces))
        if known is not None:
            return known
        operation = self.listing.operations[at]
        modes = operation.modes[pieces]
        later = dict(zip(operation.uses(1), modes.later.operands, strict=True))
        found = tuple(
            Use(
                tensor=tensor,
                reads=tensor in operation.reads,
                writes=tensor in operation.writes,
                live_after=self.live_after(tensor, at),
                shared=pieces > 1 and tensor not in operation.cut,
                passes=min(operand.passes, later[tensor].passes),
                stationary=operand.stationary and later[tensor].stationary,
            )
            for tensor, operand in zip(operation.uses(0), modes.first.operands, strict=True)
        )
        self._uses[at, pieces] = found
        return found

    @property
    def pieces(self) -> list[int]:
        """All numbers of pieces, bands among them: those of more than the batch has."""
        return self.family.counts(self.listing.batch)

    def segment(self, begin: int, end: int, way: int) -> Segment:
        """Return the segment in as many pieces as ``pieces`` has at ``way``."""
        numbers, count = self.family.pieces, self.pieces[way]
        if way < len(numbers):
            return Segment(begin=begin, end=end, pieces=count)
        batch = self.listing.batch
        return Segment(begin=begin, end=end, pieces=batch, bands=count // batch)

    def of_bands(self, segment: Segment) -> tuple[Listed, Segment]:
        """Return a listing that has a segment of bands as one of pieces, and that segment."""
        listing, found = followed(self.listing, segment)
        pieces = Family(name=self.family.name, pieces=(1, found.pieces))
        return Listed(listing, self.objective, pieces), found

    def allows(self, segment: Segment) -> bool:
        """Return whether a segment is one of the listing, in a cover of the family."""
        listing = self.listing
        return not listing.outside(self.family, (segment,)) and not listing.obstacle(segment)

    @property
    def dearest_row(self) -> float:
        """Objective units of the dearest multiple of a row: of a step's time, or of a byte."""
        objective, machine = self.objective, self.listing.machine
        byte = max(float(objective.dram_in_byte), float(objective.dram_out_byte))
        return max(float(objective.cycle) / machine.dram_bytes_per_s, byte)

    @cached_property
    def borders(self) -> list[int]:
        """Positions before products, before and after what cannot be cut, and after sums.

        Point-wise work stays with what it follows.
        """
        found = set[int]()
        for at, operation in enumerate(self.listing.operations):
            if operation.modes[1].first.macs or len(operation.modes) == 1:
                found.add(at)
            if len(operation.modes) == 1 or operation.sums:
                found.add(at + 1)
        return sorted(found - {0, self.count})

    def alike(self, segment: Segment) -> tuple[object, list[int]]:
        """Return what the program of a segment follows, and its tensors in the order of their use.

        Segments of equal layers have the same program, but for the names of tensors.
        """
        places: dict[int, int] = {}
        steps = []
        for at in range(segment.begin, segment.end):
            uses = self.modes(at, segment.pieces)
            kind = self._kinds.get((at, segment.pieces))
            if kind is None:
                figures = (self.cycles, self.unavoidable, self.scratch)
                content = (
                    *(float(each(segment.pieces)[at]) for each in figures),
                    *((replace(use, tensor=0), self.sizes[use.tensor]) for use in uses),
                )
                kind = self._kinds[at, segment.pieces] = self._alike.setdefault(
                    content, len(self._alike)
                )
            steps.append((kind, *(places.setdefault(use.tensor, len(places)) for use in uses)))
        return (segment.pieces, *steps), list(places)

    def cycles(self, pieces: int) -> Floats:
        """Return (n,) cycles of computing of all pieces; infinite of what cannot be or fit."""
        return self._of_all("cycles", pieces, lambda mode: mode.compute_cycles)

    def unavoidable(self, pieces: int) -> Floats:
        """Return (n,) what all pieces cost whatever is resident: accesses of the SPM, and MACs."""
        objective = self.objective
        return self._of_all(
            "unavoidable",
            pieces,
            lambda mode: float(
                objective.spm_read_byte * mode.spm_read_bytes
                + objective.spm_write_byte * mode.spm_write_bytes
                + objective.mac * mode.macs
            ),
        )

    def _of_all(self, name: str, pieces: int, figure: Callable[[Mode], float]) -> Floats:
        """Add up a figure of the modes of all pieces (n,)."""
        known = self._figures.get((name, pieces))
        if known is not None:
            return known
        found = self._figures[name, pieces] = np.full(self.count, np.inf)
        for at, operation in enumerate(self.listing.operations):
            if self.listing.fits(at, pieces):
                modes = operation.modes[pieces]
                found[at] = figure(modes.first) + (pieces - 1) * figure(modes.later)
        return found

    def scratch(self, pieces: int) -> Floats:
        """Return (n,) bytes of scratch in whole pages, the mean over pieces."""
        known = self._figures.get(("scratch", pieces))
        if known is not None:
            return known
        machine = self.listing.machine
        found = self._figures["scratch", pieces] = np.zeros(self.count)
        for at, operation in enumerate(self.listing.operations):
            modes = operation.modes.get(pieces)
            if modes is not None:
                first, later = (
                    _pages(machine, m.scratch_bytes) for m in (modes.first, modes.later)
                )
                found[at] = (first + (pieces - 1) * later) / pieces
        return found


def _pages(machine: Machine, size_bytes: int) -> int:
    return -(-size_bytes // machine.page_bytes) * machine.page_bytes
