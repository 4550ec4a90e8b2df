"""Fused groups of a fused schedule as stretches of time, each of blocks that repeat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spmopt.core.order import other_order
from spmopt.core.result import Result
from spmopt.reporting.fusion_plans import tile_words


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedGroupSpan:
    """A fused group, in steps.

    Attributes
    ----------
    operations
        The first of them to the last.
    begin, end
        Its steps: [begin, end).
    micro_batches, stripes
        Blocks of steps that follow each other: each fusion tile, and of it each stripe.
    """

    operations: str
    begin: int
    end: int
    micro_batches: int
    stripes: int

    @property
    def blocks(self) -> range:
        """First steps of the blocks."""
        count = self.micro_batches * self.stripes
        return range(self.begin, self.end, (self.end - self.begin) // count)

    @property
    def cut(self) -> str:
        """Words for its fusion tiles; empty where it is untiled."""
        return tile_words(self.micro_batches, self.stripes) if len(self.blocks) > 1 else ""

    @property
    def labels(self) -> tuple[str, str, str]:
        """Labels, the longest first: tiles with operations, tiles, numbers."""
        numbers = (
            f"{self.micro_batches} x {self.stripes}"
            if self.stripes > 1
            else str(self.micro_batches)
        )
        cut = self.cut
        return (f"{cut}: {self.operations}" if cut else self.operations), cut or "untiled", numbers

    def block_name(self, block: int) -> str:
        """Return the name of a block: its micro-batch and stripe."""
        batch, stripe = divmod(block, self.stripes)
        levels = (("micro-batch", batch, self.micro_batches), ("stripe", stripe, self.stripes))
        return ", ".join(f"{noun} {at + 1} of {count}" for noun, at, count in levels if count > 1)


def fused_group_spans(result: Result) -> tuple[FusedGroupSpan, ...]:
    """Return the groups of a schedule that runs its fusion plan in order.

    None of other schedules.
    """
    schedule, fusion = result.schedule, result.fused
    if schedule is None or fusion is None or other_order(schedule.steps.operation) is not None:
        return ()
    return tuple(_spans(result))


def _spans(result: Result) -> Iterator[FusedGroupSpan]:
    assert result.fused is not None
    names, begin = [each.name for each in result.fused.tileable.operations], 0
    for fused_group in result.fused.fusion_plan:
        first, last = names[fused_group.begin], names[fused_group.end - 1]
        count = (
            (fused_group.end - fused_group.begin) * fused_group.micro_batches * fused_group.stripes
        )
        yield FusedGroupSpan(
            operations=first if first == last else f"{first} to {last}",
            begin=begin,
            end=begin + count,
            micro_batches=fused_group.micro_batches,
            stripes=fused_group.stripes,
        )
        begin += count
