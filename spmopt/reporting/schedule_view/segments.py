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
    label
        Its operations, and how often.
    begin, end
        Its steps: [begin, end).
    pieces, bands
        Blocks of steps that follow each other: each piece, and of it each band of rows.
    """

    label: str
    begin: int
    end: int
    pieces: int
    bands: int

    @property
    def blocks(self) -> range:
        """First steps of the blocks."""
        count = self.pieces * self.bands
        return range(self.begin, self.end, (self.end - self.begin) // count)

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
        times = f"{segment.pieces} x " if segment.count > 1 else ""
        times += f"{segment.bands} bands x " if segment.bands > 1 else ""
        count = (segment.end - segment.begin) * segment.pieces * segment.bands
        yield SegmentSpan(
            label=f"{times}{first if first == last else f'{first} to {last}'}",
            begin=begin,
            end=begin + count,
            pieces=segment.pieces,
            bands=segment.bands,
        )
        begin += count
