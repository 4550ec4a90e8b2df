"""Fused groups of a schedule as spans of steps, each of blocks that repeat."""

from __future__ import annotations

from dataclasses import dataclass

from spmopt.core.fusion.tileable_graph import source_graph
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
        # Divides exactly: every block runs all operations of the group.
        return range(self.begin, self.end, (self.end - self.begin) // count)

    @property
    def labels(self) -> tuple[str, str, str]:
        """Labels, the longest first: tiles with operations, tiles, numbers."""
        untiled = len(self.blocks) == 1
        tiles = tile_words(self.micro_batches, self.stripes)
        batches, stripes = self.micro_batches, self.stripes
        numbers = f"{batches} x {stripes}" if stripes > 1 else str(batches)
        return (self.operations if untiled else f"{tiles}: {self.operations}"), tiles, numbers

    def block_name(self, block: int) -> str:
        """Return the name of a block: its micro-batch and stripe."""
        batch, stripe = divmod(block, self.stripes)
        levels = (("micro-batch", batch, self.micro_batches), ("stripe", stripe, self.stripes))
        return ", ".join(f"{noun} {at + 1} of {count}" for noun, at, count in levels if count > 1)


def fused_group_spans(result: Result) -> tuple[FusedGroupSpan, ...]:
    """Return the groups of a fused schedule; none of one that leaves the order of its plan."""
    schedule, fusion = result.schedule, result.fused
    if schedule is None or fusion is None or other_order(schedule.steps.operation) is not None:
        return ()
    names, spans, begin = [each.name for each in source_graph(fusion).operations], [], 0
    for group in fusion.fusion_plan:
        first, last = names[group.begin], names[group.end - 1]
        end = begin + (group.end - group.begin) * group.micro_batches * group.stripes
        spans.append(
            FusedGroupSpan(
                operations=first if first == last else f"{first} to {last}",
                begin=begin,
                end=end,
                micro_batches=group.micro_batches,
                stripes=group.stripes,
            )
        )
        begin = end
    return tuple(spans)
