"""Segments of a schedule in pieces as stretches of time, each of blocks that repeat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spmopt.core.order import other_order
from spmopt.core.result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentSpan:
    """A segment, in steps.

    Attributes
    ----------
    operations
        The first of them to the last.
    begin, end
        Its steps: [begin, end).
    pieces, bands
        Blocks of steps that follow each other: each piece, and of it each band of rows.
    """

    operations: str
    begin: int
    end: int
    pieces: int
    bands: int

    @property
    def blocks(self) -> range:
        """First steps of the blocks."""
        count = self.pieces * self.bands
        return range(self.begin, self.end, (self.end - self.begin) // count)

    @property
    def cut(self) -> str:
        """What it is cut into; nothing where it is whole."""
        bands = f" x {self.bands} bands" if self.bands > 1 else ""
        return f"{self.pieces} pieces{bands}" if len(self.blocks) > 1 else ""

    @property
    def labels(self) -> tuple[str, str, str]:
        """What it is called, the longest first: with its operations, what it is cut into."""
        numbers = f"{self.pieces} x {self.bands}" if self.bands > 1 else str(self.pieces)
        cut = self.cut
        return (f"{cut}: {self.operations}" if cut else self.operations), cut or "whole", numbers

    def block_name(self, block: int) -> str:
        """Return what a block is called."""
        piece, band = divmod(block, self.bands)
        of_rows = f", band {band + 1} of {self.bands}" if self.bands > 1 else ""
        return f"piece {piece + 1} of {self.pieces}{of_rows}"


def segment_spans(result: Result) -> tuple[SegmentSpan, ...]:
    """Return the segments of a schedule that runs its cover in order; none of other schedules."""
    schedule, pieces = result.schedule, result.pieces
    if schedule is None or pieces is None or other_order(schedule.steps.operation) is not None:
        return ()
    return tuple(_spans(result))


def _spans(result: Result) -> Iterator[SegmentSpan]:
    assert result.pieces is not None
    names, begin = [each.name for each in result.pieces.listing.operations], 0
    for segment in result.pieces.cover:
        first, last = names[segment.begin], names[segment.end - 1]
        count = (segment.end - segment.begin) * segment.pieces * segment.bands
        yield SegmentSpan(
            operations=first if first == last else f"{first} to {last}",
            begin=begin,
            end=begin + count,
            pieces=segment.pieces,
            bands=segment.bands,
        )
        begin += count
