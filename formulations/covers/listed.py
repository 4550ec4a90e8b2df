"""What programs of segments need of a listing: uses, what is live after them, figures of modes."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from formulations.solver.program import Floats
from spmopt.core.objective import Objective
from spmopt.core.operation import Mode
from spmopt.core.pieces.band_bounds import Banded, followed
from spmopt.core.pieces.family import Family
from spmopt.core.pieces.listing import Listing
from spmopt.core.pieces.segments import Segment

READ, REST = -1, -2
"""Groups of tensors that cross borders together: what is never written; sums, and others."""
_LIFE = 8
"""Operations from the first use of a tensor to its last, within which it is priced by itself at
borders: ResNet-50 training has 55,000 such prices of all that is written, and 5,000 of what is soon
dead; these raise its bound on 24 MB from 59.98 to 60.18 ms in 7 s, those never in a minute."""


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
        Whether all pieces share it.
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
    given
        The listing without modes for bands.
    accesses
        Of each tensor: the operations that use it, in order, and whether each reads it.
    beside
        Of each tensor: bytes that are not followed, of a listing of bands.
    """

    def __init__(
        self, listing: Listing, objective: Objective, family: Family | None = None
    ) -> None:
        self.family = listing.family() if family is None else family
        self.given, self.banded = listing, Banded(listing, self.family.bands)
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
        self.beside = [0] * len(self.sizes)
        self._range, self._of_segment = range(self.count), False
        self._uses: dict[tuple[int, int], tuple[Use, ...]] = {}
        self._figures: dict[tuple[str, int], tuple[Floats, Floats]] = {}
        self._alike: dict[object, int] = {}
        self._kinds: dict[tuple[int, int], int] = {}

    def live_after(self, tensor: int, at: int) -> bool:
        """Return whether the contents of a tensor after an operation are needed."""
        for later, reads in self.accesses[tensor]:
            if later > at:
                return reads
        return self.listing.tensors[tensor].keep

    @cached_property
    def groups(self) -> list[int]:
        """Of each tensor: the group it is carried across borders with.

        That is its own number if it is written, soon used for the last time, and never summed up;
        ``READ`` if it is never written (all of these together); else, and if it crosses no border,
        ``REST``.
        """
        cross = {group for crossed in self.crossing for group in crossed}
        return [group if group in cross else REST for group in self._kinds_of]

    @cached_property
    def _kinds_of(self) -> list[int]:
        written, summed = set[int](), set[int]()
        for operation in self.listing.operations:
            written.update(operation.writes)
            summed |= operation.sums
        last = [
            self.count if tensor.keep else each[-1][0] if each else 0
            for tensor, each in zip(self.listing.tensors, self.accesses, strict=True)
        ]
        lives = [
            end - each[0][0] if each else 0 for end, each in zip(last, self.accesses, strict=True)
        ]
        alone = [t not in summed and lives[t] <= _LIFE for t in range(len(self.sizes))]
        return [
            READ if t not in written else t if alone[t] else REST for t in range(len(self.sizes))
        ]

    @cached_property
    def crossing(self) -> list[dict[int, float]]:
        """Before each operation, and at the end: bytes that are needed then, by group.

        Not of the rest, nor at the two ends, where nothing is on chip.
        """
        found = [dict[int, float]() for _ in range(self.count + 1)]
        for tensor, accesses in enumerate(self.accesses):
            group, before = self._kinds_of[tensor], -1
            if group == REST or not accesses:
                continue
            last = [(self.count, True)] if self.listing.tensors[tensor].keep else []
            for at, reads in [*accesses, *last]:
                for border in range(before + 1, at + 1) if reads else ():
                    crossed = found[border]
                    crossed[group] = crossed.get(group, 0.0) + self.sizes[tensor]
                before = at
        found[0], found[-1] = {}, {}
        return found

    def modes(self, at: int, pieces: int) -> tuple[Use, ...]:
        """Return the uses of an operation in ``pieces``, by the operands of its mode then."""
        known = self._uses.get((at, pieces))
        if known is not None:
            return known
        operation = self.listing.operations[at]
        each = operation.operands(pieces)
        first, later = each[0], each[-1]
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
            for tensor, operand in first.items()
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
        """Return a listing that has a segment of bands as one of pieces, and that segment.

        Its tensors have the bytes that are followed; at borders all are carried across.
        """
        listing, found = followed(self.listing, segment)
        listed = copy(self)
        for name in ("compulsory", "apart", "borders"):
            listed.__dict__.pop(name, None)
        listed.__dict__.update(groups=self.groups, crossing=self.crossing)
        listed.listing, listed.sizes = listing, [each.size_bytes for each in listing.tensors]
        sizes = zip(self.sizes, listed.sizes, strict=True)
        listed.beside = [size - own for size, own in sizes]
        listed.family = Family(name=self.family.name, pieces=(1, found.pieces))
        listed._range, listed._of_segment = range(segment.begin, segment.end), True
        listed._uses, listed._figures, listed._alike, listed._kinds = {}, {}, {}, {}
        return listed, found

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
    def compulsory(self) -> float:
        """What any cover costs at least: bytes that come and go once, and all computing.

        A byte whose first use reads it must come, one that is written and kept must go.
        """
        tensors, objective = self.listing.tensors, self.objective
        written = {t for operation in self.listing.operations for t in operation.writes}
        into = sum(
            size
            for size, used in zip(self.sizes, self.accesses, strict=True)
            if used and used[0][1]
        )
        out = sum(self.sizes[t] for t in written if tensors[t].keep)
        moved = max(into, out) if self.listing.machine.duplex else into + out
        cycles = np.min([self.cycles(pieces) for pieces in self.pieces], axis=0)
        always = [
            np.where(np.isfinite(self.cycles(pieces)), self.unavoidable(pieces), np.inf)
            for pieces in self.pieces
        ]
        time = max(float(cycles.sum()), moved / self.bytes_per_cycle)
        found = float(objective.cycle) * time + float(np.min(always, axis=0).sum())
        return found + float(objective.dram_in_byte * into + objective.dram_out_byte * out)

    @cached_property
    def apart(self) -> list[int]:
        """Of each operation: the last before that no segment of several pieces has with it; or -1.

        One sums up what the other reads, or both write the same sum anew, or one cuts what is whole
        to each piece of the other.
        """
        found, summed, read = list[int](), dict[int, int](), dict[int, int]()
        cut, whole = dict[int, int](), dict[int, int]()
        for at, operation in enumerate(self.listing.operations):
            reads = [t for t in operation.reads if t not in operation.sums]
            anew = [t for t in operation.sums if t not in operation.reads]
            before = [summed.get(t, -1) for t in (*anew, *reads)]
            before += [read.get(t, -1) for t in operation.sums]
            others = set(operation.uses(0)) - operation.cut
            before += [whole.get(t, -1) for t in operation.cut]
            before += [cut.get(t, -1) for t in others]
            found.append(max(before, default=-1))
            cut |= dict.fromkeys(operation.cut, at)
            whole |= dict.fromkeys(others, at)
            summed |= dict.fromkeys(operation.sums, at)
            read |= dict.fromkeys(reads, at)
        return found

    def reaches(self, pieces: int) -> list[int]:
        """Return the farthest end of a segment of so many pieces, by its begin."""
        listing = self.listing
        products = np.cumsum([0, *(each.is_product for each in listing.operations)])
        bands = self.banded.reach.get(pieces)
        fits = [listing.fits(at, pieces) for at in range(self.count)]
        found, end = list[int](), 0
        for begin in range(self.count):
            end, last = max(end, begin), self.count if bands is None else bands[begin]
            while end < last and fits[end]:
                if pieces > 1 and (
                    self.apart[end] >= begin
                    or not self.family.takes(int(products[end + 1] - products[begin]))
                ):
                    break
                end += 1
            found.append(min(end, last))
        return found

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
        """Return what the program of a segment tracks, and its tensors in the order of their use.

        Segments of equal layers have the same program, but for the names of tensors; not the first
        and the last, before and after which nothing is on chip.
        """
        places: dict[int, int] = {}
        steps = []
        for at in range(segment.begin, segment.end):
            uses = self.modes(at, segment.pieces)
            kind = self._kinds.get((at, segment.pieces))
            if kind is None:
                pairs = self.cycles_of(segment.pieces), self.scratch_of(segment.pieces)
                content = (
                    *(float(figure[at]) for pair in pairs for figure in pair),
                    float(self.unavoidable(segment.pieces)[at]),
                    *((replace(use, tensor=0), self.sizes[use.tensor]) for use in uses),
                )
                kind = self._kinds[at, segment.pieces] = self._alike.setdefault(
                    content, len(self._alike)
                )
            steps.append((kind, *(places.setdefault(use.tensor, len(places)) for use in uses)))
        ends = segment.begin == 0, segment.end == self.count
        return (segment.pieces, *ends, *steps), list(places)

    def cycles(self, pieces: int) -> Floats:
        """Return (n,) cycles of computing of all pieces; infinite of what cannot be or fit."""
        first, later = self.cycles_of(pieces)
        total: Floats = first if pieces == 1 else first + (pieces - 1) * later
        return total

    def cycles_of(self, pieces: int) -> tuple[Floats, Floats]:
        """Return (n,) cycles of the first piece, and of each other."""
        return self._of_all("cycles", pieces, lambda mode: mode.compute_cycles)

    def unavoidable(self, pieces: int) -> Floats:
        """Return (n,) what all pieces cost whatever is resident: accesses of the SPM, and MACs."""
        objective = self.objective
        if not objective.weighs_modes:
            return np.zeros(self.count)
        first, later = self._of_all(
            "unavoidable",
            pieces,
            lambda mode: float(objective.of_modes(*mode.unchanging)),
        )
        total: Floats = first if pieces == 1 else first + (pieces - 1) * later
        return total

    def scratch(self, pieces: int) -> Floats:
        """Return (n,) bytes of scratch in whole pages, the mean over pieces."""
        first, later = self.scratch_of(pieces)
        fits = np.isfinite(first)
        total = np.where(fits, first, 0.0) + (pieces - 1) * np.where(fits, later, 0.0)
        mean: Floats = total / pieces
        return mean

    def scratch_of(self, pieces: int) -> tuple[Floats, Floats]:
        """Return (n,) bytes of scratch in whole pages of the first piece, and of each other."""
        machine = self.listing.machine
        return self._of_all(
            "scratch", pieces, lambda mode: machine.pages(mode.scratch_bytes) * machine.page_bytes
        )

    def _of_all(
        self, name: str, pieces: int, figure: Callable[[Mode], float]
    ) -> tuple[Floats, Floats]:
        """Return a figure of the modes (n,) of first and later pieces; infinite without one."""
        known = self._figures.get((name, pieces))
        if known is not None:
            return known
        first, later = np.full((2, self.count), np.inf)
        self._figures[name, pieces] = first, later
        for at in self._range:
            # Whether the bands of a segment fit, rows of its program say: the least of all may.
            can = pieces in self.listing.operations[at].modes
            if can and (self._of_segment or self.listing.fits(at, pieces)):
                modes = self.listing.operations[at].modes[pieces]
                first[at], later[at] = figure(modes.first), figure(modes.later)
        return first, later
