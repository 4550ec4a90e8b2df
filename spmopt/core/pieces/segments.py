"""Segments of a listing, and operations as a listing has them: how each is cut."""

from __future__ import annotations

from dataclasses import dataclass, field

from spmopt.core.errors import InputError
from spmopt.core.operation import Mode, Operand
from spmopt.core.pieces.row_windows import Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Operations [begin, end) of a listing, in equal pieces of the batch, each in bands of rows."""

    begin: int
    end: int
    pieces: int = 1
    bands: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.begin < self.end or self.pieces < 1 or self.bands < 1:
            raise InputError(
                f"segment {self.begin} to {self.end} in {self.pieces} pieces of {self.bands} bands:"
                " give a begin before its end, and at least 1 piece of 1 band"
            )

    @property
    def count(self) -> int:
        """Pieces in all: bands of rows, where there are any."""
        return self.pieces * self.bands


Cover = tuple[Segment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BorderCost:
    """What a change of one segment, or of the border at its end, would cost by estimate.

    Attributes
    ----------
    segment
        Number of the segment in its cover.
    change
        ``pieces``: another number; ``merged`` with the next one; the border ``earlier``, ``later``.
    cover
        The segments that would stand there.
    cost
        In units of the objective; negative where it would gain.
    """

    segment: int
    change: str
    cover: Cover
    cost: float


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an operation of a chunked instance comes from: a position of the listing, a piece.

    ``rows``: those of a band, from one to before another; none where there is one band only.
    """

    operation: int
    piece: int
    pieces: int
    rows: tuple[int, int] | None = None

    def named(self, name: str) -> str:
        """Return what the piece of an operation of this name is called."""
        piece = f"{name}[{self.piece}]" if self.pieces > 1 else name
        return piece if self.rows is None else f"{piece}[{self.rows[0]}:{self.rows[1]}]"


@dataclass(frozen=True, slots=True)
class PieceModes:
    """The mode of the first of some pieces, and that of the others.

    They differ where the first writes a sum that the others update.
    """

    first: Mode
    later: Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedOperation:
    """An operation of a listing.

    Attributes
    ----------
    reads, writes
        Tensors, as in :class:`~.operation.Operation`.
    cut
        Tensors that are cut with it; all others are whole to each piece.
    sums
        Those written tensors that it sums up over its pieces.
    modes
        By the number of pieces; 1 alone where it cannot be cut. Operands are those of
        :meth:`uses`.
    rows
        How a piece of the batch is cut into bands of rows, if it can be.
    """

    name: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    cut: frozenset[int] = frozenset()
    sums: frozenset[int] = frozenset()
    modes: dict[int, PieceModes] = field(default_factory=dict)
    kind: str = ""
    rows: Rows | None = None

    @property
    def is_product(self) -> bool:
        """Whether it multiplies matrices."""
        return self.modes[1].first.macs > 0

    def uses(self, piece: int) -> tuple[int, ...]:
        """Return the operands of a piece: what it reads, then what it only writes."""
        reads = self.reads_of(piece)
        return reads + tuple(t for t in self.writes if t not in reads)

    def reads_of(self, piece: int) -> tuple[int, ...]:
        """Return what a piece reads: from the second one on, its sums too."""
        more = (t for t in self.writes if piece and t in self.sums and t not in self.reads)
        return self.reads + tuple(more)

    def operands(self, pieces: int) -> tuple[dict[int, Operand], ...]:
        """Return the operands of the first of some pieces, and of the others, by tensor.

        A sum that is begun anew is read by the others only, so that it stands elsewhere in theirs;
        of one piece there are no others, and its mode says nothing of them.
        """
        modes = self.modes[pieces]
        both = ((0, modes.first), (1, modes.later))[: min(pieces, 2)]
        return tuple(
            dict(zip(self.uses(piece), mode.operands, strict=True)) for piece, mode in both
        )
