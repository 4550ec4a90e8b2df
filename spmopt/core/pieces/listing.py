"""A listing whose operations may be computed in pieces, its covers, and the instance of each.

A *segment* is a run of operations that is computed depth first in equal pieces of the batch: piece
0 through all of its operations, then piece 1, and so on. Where each piece is one of the whole
batch, an image, it may be cut once more, into bands of rows
(:mod:`spmopt.core.pieces.band_borders`): band 0 of piece 0 through all operations, then band 1, and
so on to the last band of the last piece. A *cover* cuts the listing into segments. Tensors that a
segment cuts are in as many parts as the finest segment that uses them needs; a coarser one uses
several parts at once. What an operation sums up over the batch (gradients of weights, statistics)
is written by its first piece and updated in place by the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from weakref import ReferenceType, ref

from spmopt.core.errors import InputError
from spmopt.core.graph import Graph
from spmopt.core.instance import Instance, Tensor
from spmopt.core.machine import Machine
from spmopt.core.operation import Mode
from spmopt.core.order import hazards
from spmopt.core.pieces.band_borders import borders
from spmopt.core.pieces.certificate import CoverCertificate
from spmopt.core.pieces.family import BANDS, FAMILIES, Family
from spmopt.core.pieces.parts import Parts
from spmopt.core.pieces.row_windows import Borders
from spmopt.core.pieces.segments import Cover, ListedOperation, Origin, Segment


@dataclass(frozen=True, kw_only=True)
class Listing:
    """Operations in a fixed order, each whole or in pieces of the batch.

    ``batch`` is the number into which every number of pieces divides, ``along`` the axis that they
    are of (of one sequence its tokens, for example); ``graph`` what was lowered,
    where it is known; ``band_mode`` gives the mode of an operation on some rows of one of ``batch``
    pieces: its position, the first of these rows, and the one behind the last.
    """

    name: str
    machine: Machine
    tensors: tuple[Tensor, ...]
    operations: tuple[ListedOperation, ...]
    batch: int
    lowering: str
    along: str = field(default="the batch", compare=False)
    source: str = ""
    graph: Graph | None = field(default=None, compare=False, repr=False)
    band_mode: Callable[[int, int, int], Mode] | None = field(
        default=None, compare=False, repr=False
    )
    _fitting: dict[tuple[int, int], bool] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    def family(self, name: str = "all") -> Family:
        """Return a family of covers of this listing.

        ``none``: the list as given. ``fuse``: a segment in several pieces has at most one matrix
        product, with what is point-wise around it. ``batch``: any segments, in any number of pieces
        that divides the batch. ``all``: also bands of rows, where windows slide over any.

        Raises
        ------
        InputError
            There is none of this name.
        """
        numbers = tuple(sorted({1, *(k for each in self.operations for k in each.modes)}))
        banded = any(each.rows is not None for each in self.operations)
        match name:
            case "none":
                return Family(name=name, pieces=(1,))
            case "fuse":
                return Family(name=name, pieces=numbers, most_products=1)
            case "batch":
                return Family(name=name, pieces=numbers)
            case "all":
                return Family(name=name, pieces=numbers, bands=BANDS if banded else (1,))
        raise InputError(f"no covers are called {name!r}; use {', '.join(FAMILIES)}")

    def outside(self, family: Family, cover: Cover) -> str:
        """Say which segment of a cover is none of a family; nothing if all are."""
        for segment in cover:
            where = f"segment {segment.begin} to {segment.end}"
            if segment.pieces not in family.pieces:
                return f"{where}: is in {segment.pieces} pieces"
            if segment.bands not in family.bands:
                return f"{where}: is in {segment.bands} bands of rows"
            inner = self.operations[segment.begin : segment.end]
            products = sum(each.is_product for each in inner)
            if segment.count > 1 and not family.takes(products):
                return f"{where}: has {products} matrix products in {segment.count} pieces"
        return ""

    def require(self, cover: Cover) -> None:
        """Check that a cover is one of this listing.

        Raises
        ------
        InputError
            Segments leave something out or overlap, cut what cannot be cut, or read a sum before
            it is complete.
        """
        count, ends = len(self.operations), [0, *(segment.end for segment in cover)]
        follow = all(each.begin == end for each, end in zip(cover, ends, strict=False))
        if not follow or ends[-1] != count:
            raise InputError(f"cover: segments must follow each other from 0 to {count}")
        for segment in cover:
            found = self.obstacle(segment)
            if found:
                raise InputError(f"segment {segment.begin} to {segment.end}: {found}")

    def obstacle(self, segment: Segment) -> str:
        """Say why a segment cannot be computed in its pieces; nothing if it can.

        What its operations sum up over the batch, no other of them may touch: it is complete
        after the last piece only. One may write it anew, before the others. What one of them cuts
        is whole to none: only pieces before would have written it. Bands of rows are those
        of single pieces of the batch, and sum up nothing.
        """
        if segment.pieces == segment.bands == 1:
            return ""
        if segment.bands > 1:
            return self._obstacle_of_bands(segment) or self._obstacle_of_cuts(segment)
        return self._obstacle_of_pieces(segment) or self._obstacle_of_cuts(segment)

    def _obstacle_of_cuts(self, segment: Segment) -> str:
        cut: set[int] = set()
        whole: set[int] = set()
        for operation in self.operations[segment.begin : segment.end]:
            cut |= operation.cut
            whole.update(t for t in operation.uses(0) if t not in operation.cut)
            if cut & whole:
                name = self.tensors[min(cut & whole)].name
                return f"{operation.name}: {name} is cut in the segment, and whole to each piece"
        return ""

    def _obstacle_of_pieces(self, segment: Segment) -> str:
        if self.batch % segment.pieces:
            return f"{segment.pieces} pieces do not divide a batch of {self.batch}"
        begun: set[int] = set()
        read: set[int] = set()
        for operation in self.operations[segment.begin : segment.end]:
            if segment.pieces not in operation.modes:
                return f"{operation.name} cannot be cut along the batch"
            if any(t in begun and t not in operation.reads for t in operation.sums):
                return f"{operation.name} writes a sum anew that another has begun"
            read.update(t for t in operation.reads if t not in operation.sums)
            begun |= operation.sums
            if read & begun:
                return f"{operation.name}: what is summed over the batch is read in the segment"
        return ""

    def _obstacle_of_bands(self, segment: Segment) -> str:
        if segment.pieces != self.batch:
            return f"bands are of one of {self.batch} pieces each, not of {segment.pieces}"
        if self.band_mode is None:
            return "it is not known how its operations are cut into bands of rows"
        found = borders(self.operations[segment.begin : segment.end], segment.bands)
        return next((each for each in found if isinstance(each, str)), "")

    def borders(self, segment: Segment) -> list[Borders]:
        """Return the rows at which bands of each operation of a segment begin, and how many.

        Raises
        ------
        InputError
            It cannot be cut so.
        """
        found = list[Borders]()
        for each in borders(self.operations[segment.begin : segment.end], segment.bands):
            if isinstance(each, str):
                raise InputError(f"segment {segment.begin} to {segment.end}: {each}")
            found.append(each)
        return found

    def fits(self, at: int, pieces: int) -> bool:
        """Return whether what an operation keeps on chip while it runs fits, in so many pieces.

        Of more than the batch has, which are bands, whether it does in the mean.
        """
        found = self._fitting.get((at, pieces))
        if found is None:
            found = self._fitting[at, pieces] = self._fits(at, pieces)
        return found

    def _fits(self, at: int, pieces: int) -> bool:
        operation, machine = self.operations[at], self.machine
        modes = operation.modes.get(pieces)
        if modes is None:
            return False
        needed = list[int]()
        for mode, operands in zip(
            (modes.first, modes.later), operation.operands(pieces), strict=False
        ):
            kept = sum(
                self.tensors[t].size_bytes // (pieces if t in operation.cut else 1)
                for t, operand in operands.items()
                if operand.stationary
            )
            needed.append(kept + machine.pages(mode.scratch_bytes) * machine.page_bytes)
        free = machine.spm_pages * machine.page_bytes
        if pieces > self.batch:
            return needed[0] + (pieces - 1) * needed[-1] <= pieces * free
        return max(needed) <= free

    def uniform(self, pieces: int, family: Family | None = None, *, bands: int = 1) -> Cover:
        """Return the cover of the fewest segments in ``pieces``; what cannot be cut is whole.

        What cannot be cut into ``bands`` is in one. ``family``: that it is of; any cover by
        default.
        """
        ways = dict.fromkeys([(pieces, bands), (pieces, 1), (1, 1)])
        singles = list[Segment]()
        for at in range(len(self.operations)):
            every = (Segment(begin=at, end=at + 1, pieces=k, bands=r) for k, r in ways)
            singles.append(next(each for each in every if not self.obstacle(each)))
        cover = list[Segment]()
        while not cover or cover[-1].end < len(singles):
            one = singles[cover[-1].end if cover else 0]
            most = one.end
            while (
                most < len(singles)
                and one.pieces == pieces
                and ((singles[most].pieces, singles[most].bands) == (one.pieces, one.bands))
            ):
                most += 1
            cover.append(self._longest(one, most, family))
        return tuple(cover)

    def _longest(self, one: Segment, most: int, family: Family | None) -> Segment:
        """Return the longest segment from an operation on, to ``most``; none beyond it is any.

        Its end is found by steps that double, and then halve: a list of 10,000 takes seconds.
        """
        step, grows = 1, True
        while one.end < most and step:
            longer = replace(one, end=min(one.end + step, most))
            if (family is None or not self.outside(family, (longer,))) and not self.obstacle(
                longer
            ):
                one = longer
            else:
                grows = False
            step = step * 2 if grows else step // 2
        return one

    def instance(self, cover: Cover) -> tuple[Instance, tuple[Origin, ...]]:
        """Return the instance of a cover, and where each of its operations comes from.

        Raises
        ------
        InputError
            It is no cover of this listing.
        """
        self.require(cover)
        bands = [self.borders(each) if each.bands > 1 else [] for each in cover]
        parts = Parts(self.tensors, self.operations, cover, bands, self.band_mode)
        origins = tuple(origin for segment in cover for origin in self._origins(segment))
        operations = [parts.operation(origin) for origin in origins]
        before = hazards([(each.reads, each.writes) for each in operations], len(parts.tensors))
        instance = Instance(
            name=self.name,
            machine=self.machine,
            tensors=tuple(parts.tensors),
            operations=tuple(
                replace(each, predecessors=tuple(sorted(earlier)))
                for each, earlier in zip(operations, before, strict=True)
            ),
            lowering=self.lowering,
            source=self.source,
            piece_of=self.piece_names(cover),
        )
        return instance, origins

    def piece_names(self, cover: Cover) -> dict[str, str]:
        """Return the names of operations by those of their pieces."""
        origins = (origin for segment in cover for origin in self._origins(segment))
        names = [operation.name for operation in self.operations]
        return {
            origin.named(names[origin.operation]): names[origin.operation]
            for origin in origins
            if origin.pieces > 1 or origin.rows is not None
        }

    def _origins(self, segment: Segment) -> Iterator[Origin]:
        """Yield the pieces of operations of a segment, in their order."""
        every = range(segment.begin, segment.end)
        if segment.bands == 1:
            for piece in range(segment.pieces):
                yield from (Origin(at, piece, segment.pieces) for at in every)
            return
        bands = [*zip(*map(pairwise, self.borders(segment)), strict=True)]
        for piece in range(segment.pieces):
            for band in bands:
                for at, rows in zip(every, band, strict=True):
                    yield Origin(at, piece, segment.pieces, rows)


@dataclass(frozen=True, kw_only=True)
class Pieces:
    """A cover that was chosen, and what is known of all others.

    Attributes
    ----------
    instance
        That of the cover: what a schedule of the cover is a schedule of.
    certificate
        Prices that prove a bound over all covers of a family that has it.
    """

    listing: Listing
    cover: Cover
    instance: Instance
    certificate: CoverCertificate | None = None


_last: list[tuple[ReferenceType[Instance], Listing]] = []
"""The instance whose listing was asked for last: who chooses and who schedules ask for the same,
which of 22,000 operations takes seconds."""


def listing_of(instance: Instance) -> Listing:
    """Return the listing whose whole operations an instance has.

    Raises
    ------
    InputError
        There is none.
    """
    if _last and _last[0][0]() is instance:
        return _last[0][1]
    if instance.machine.costs:
        raise InputError(
            f"{instance.name}: costs of pieces are not in {instance.machine.costs}; leave pieces "
            "or the costs out"
        )
    if instance.listed is None:
        raise InputError(
            f"instance {instance.name}: its operations are fixed; pieces need a network or an "
            "ONNX file, or use page"
        )
    found = instance.listed(instance.machine)
    assert isinstance(found, Listing)
    listing = replace(found, name=instance.name, source=instance.source)
    if listing.instance(whole(listing))[0] != instance:
        raise InputError(
            f"instance {instance.name}: was changed after it was lowered, so that it is not known "
            "what its operations compute; lower it anew, or use page"
        )
    _last[:] = [(ref(instance), listing)]
    return listing


def whole(listing: Listing) -> Cover:
    """Return the cover of whole operations: the list as given."""
    return (Segment(begin=0, end=len(listing.operations)),)
