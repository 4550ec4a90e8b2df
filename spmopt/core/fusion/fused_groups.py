"""Fused groups of a graph, and operations as a graph has them: how each is cut."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Self

from spmopt.core.errors import InputError
from spmopt.core.fusion.row_windows import Rows
from spmopt.core.operation import Operand, OpMapping, relax_mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedGroup:
    """Operations [begin, end) of a tileable graph, in equal fusion tiles along one of its axes.

    Attributes
    ----------
    begin, end
        Positions of the first operation, and of the one behind the last.
    micro_batches
        How many fusion tiles, along the batch micro-batches.
    stripes
        How many stripes of rows each of these is in; only along the first axis.
    axis
        Which axis of the tileable graph, 0 the first; of an untiled group always 0.
    """

    begin: int
    end: int
    micro_batches: int = 1
    stripes: int = 1
    axis: int = field(default=0, metadata={"group": "axis"})

    def __post_init__(self) -> None:
        if not isinstance(self.axis, int):
            raise InputError(
                f"fused group {self.begin} to {self.end}: axis {self.axis!r} must be its number, "
                "from 0; plan files take names"
            )
        if self.micro_batches == 1 and self.axis > 0:
            # Untiled groups are equal whatever axis they come from.
            object.__setattr__(self, "axis", 0)
        if (
            not 0 <= self.begin < self.end
            or min(self.micro_batches, self.stripes) < 1
            or self.axis < 0
            or (self.axis > 0 and self.stripes > 1)
        ):
            raise InputError(
                f"fused group {self.begin} to {self.end} in {self.micro_batches} fusion tiles "
                f"of {self.stripes} stripes:"
                " give a begin before its end, and at least 1 fusion tile of 1 stripe; stripes are"
                " of the first axis"
            )

    @property
    def count(self) -> int:
        """Fusion tiles in all: stripes, where there are any."""
        return self.micro_batches * self.stripes


FusionPlan = tuple[FusedGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryCost:
    """Estimated cost of a change of one fused group, or of the boundary at its end.

    Attributes
    ----------
    fused_group
        Number of the fused group in its fusion plan.
    change
        ``micro_batches``: another number; ``merged`` with the next one; the boundary ``earlier``,
        ``later``.
    fusion_plan
        The fused groups that would stand there.
    cost
        In units of the objective; negative where it would gain.
    least
        The cost cannot be lower: by the bound of the fused groups, against their cost in the
        schedule.
    """

    fused_group: int
    change: str
    fusion_plan: FusionPlan
    cost: float
    least: float = -inf


def tile_label(along: str, number: int) -> str:
    """Return the label of a fusion tile, or of a part of a tensor: ``[3]``, or ``[heads 3]``."""
    return f"[{along} {number}]" if along else f"[{number}]"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an operation of a chunked problem comes from: a position of the tileable graph, a tile.

    ``rows``: those of a stripe, from one to before another; none where there is one stripe only.
    ``axis``: of its fused group; ``along``: its name, if it is not the first.
    """

    operation: int
    fusion_tile: int
    micro_batches: int
    rows: tuple[int, int] | None = None
    axis: int = 0
    along: str = ""

    def with_name(self, name: str) -> str:
        """Return the name of the fusion tile of an operation of this name."""
        fusion_tile = name
        if self.micro_batches > 1:
            fusion_tile = name + tile_label(self.along, self.fusion_tile)
        return fusion_tile if self.rows is None else f"{fusion_tile}[{self.rows[0]}:{self.rows[1]}]"


@dataclass(frozen=True, slots=True)
class TileMappings:
    """The mapping of the first of some fusion tiles, and that of the others.

    They differ where the first writes a sum that the others update. Of several mappings to choose
    among, ``choices`` of the first and of the others, these have the least of each figure: prices
    and bounds of fused groups hold for all of them.
    """

    first: OpMapping
    later: OpMapping
    choices: tuple[tuple[OpMapping, ...], tuple[OpMapping, ...]] | None = None

    @classmethod
    def of(cls, first: tuple[OpMapping, ...], later: tuple[OpMapping, ...]) -> Self:
        """Return those of mappings to choose among."""
        several = len(first) > 1 or len(later) > 1
        return cls(relax_mapping(first), relax_mapping(later), (first, later) if several else None)

    @property
    def of_first(self) -> TileMappings:
        """The first mapping of each, alone."""
        if self.choices is None:
            return self
        return TileMappings(self.choices[0][0], self.choices[1][0])

    def of_tile(self, fusion_tile: int) -> tuple[OpMapping, ...]:
        """Return the mappings of a fusion tile to choose among."""
        first = fusion_tile == 0
        if self.choices is None:
            return (self.first if first else self.later,)
        return self.choices[0 if first else 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class TileableOperation:
    """An operation of a tileable graph.

    Attributes
    ----------
    reads, writes
        Tensors, as in :class:`~.operation.Operation`.
    cut
        Tensors that are cut with it; all others are whole to each fusion tile.
    partial_sums
        Those written tensors that it sums up over its fusion tiles: where it can be in several,
        all that it does not cut.
    mappings
        By the number of fusion tiles; 1 alone where it cannot be cut. Operands are those of
        :meth:`uses`.
    rows
        How a micro-batch is cut into stripes, if it can be.
    element_type
        As in :class:`~.operation.Operation`.
    """

    name: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    cut: frozenset[int] = frozenset()
    partial_sums: frozenset[int] = frozenset()
    mappings: dict[int, TileMappings] = field(default_factory=dict)
    kind: str = ""
    rows: Rows | None = None
    element_type: str = ""

    @property
    def is_product(self) -> bool:
        """Whether it multiplies matrices."""
        return self.mappings[1].first.macs > 0

    def uses(self, fusion_tile: int) -> tuple[int, ...]:
        """Return the operands of a fusion tile: its inputs, then tensors that it only writes."""
        reads = self.reads_of(fusion_tile)
        return reads + tuple(t for t in self.writes if t not in reads)

    def reads_of(self, fusion_tile: int) -> tuple[int, ...]:
        """Return the inputs of a fusion tile: from the second one on, its sums too."""
        more = (
            t for t in self.writes if fusion_tile and t in self.partial_sums and t not in self.reads
        )
        return self.reads + tuple(more)

    def common(self, micro_batches: int) -> tuple[OpMapping, ...]:
        """Return mappings of which each fusion tile runs one; none where operands differ.

        Where the first tile has others to choose among than later ones, these are all of them.
        """
        choices = self.mappings[micro_batches].choices
        if choices is None:
            return ()
        # Operands of later tiles may stand in other places: equal figures would be of others.
        if micro_batches > 1 and self.uses(0) != self.uses(1):
            return ()
        first, later = choices
        alike = micro_batches == 1 or first == later
        return first if alike else tuple(dict.fromkeys((*first, *later)))

    def operands(self, micro_batches: int) -> tuple[dict[int, Operand], ...]:
        """Return the operands of the first of some fusion tiles, and of the others, by tensor.

        A sum that is begun anew is read by the others only, so that it stands elsewhere in theirs;
        of one fusion tile there are no others, and its mapping says nothing of them.
        """
        mappings = self.mappings[micro_batches]
        # Tile 1 stands for all later ones: they differ in nothing else.
        both = ((0, mappings.first), (1, mappings.later))[: min(micro_batches, 2)]
        return tuple(
            dict(zip(self.uses(fusion_tile), mapping.operands, strict=True))
            for fusion_tile, mapping in both
        )
