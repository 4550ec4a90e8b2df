"""The least height of a few small buffers, by trying every offset; and random ones to try."""

from __future__ import annotations

import random
from collections.abc import Sequence

from spmopt.core.placement import Buffer, Gap


def needed(buffer: Buffer, time: int) -> tuple[int, int] | None:
    """Bytes that ``buffer`` needs at ``time``, from its offset on."""
    if not buffer.lower <= time < buffer.upper:
        return None
    for gap in buffer.gaps:
        if gap.lower <= time < gap.upper:
            return gap.window_bytes
    return 0, buffer.size_bytes


def collide(one: Buffer, offset: int, other: Buffer, other_offset: int) -> bool:
    """Whether neither is on top of the other at all times at which both need bytes."""
    below = above = True
    for time in range(one.lower, one.upper):
        own, others = needed(one, time), needed(other, time)
        if own is not None and others is not None:
            below &= offset + own[1] <= other_offset + others[0]
            above &= other_offset + others[1] <= offset + own[0]
    return not (below or above)


def least_height(buffers: Sequence[Buffer], capacity: int) -> int | None:
    """The least height of at most ``capacity``; None if there is none."""
    for height in range(capacity + 1):
        if _fits(buffers, height, []):
            return height
    return None


def _fits(buffers: Sequence[Buffer], height: int, offsets: list[int]) -> bool:
    if len(offsets) == len(buffers):
        return True
    buffer = buffers[len(offsets)]
    for offset in range(0, height - buffer.size_bytes + 1, buffer.alignment_bytes):
        if buffer.fixed_bytes not in (None, offset):
            continue
        if any(collide(b, o, buffer, offset) for b, o in zip(buffers, offsets, strict=False)):
            continue
        if _fits(buffers, height, [*offsets, offset]):
            return True
    return False


def draw(seed: int, *, windows: bool = False) -> tuple[Buffer, ...]:
    """Up to six buffers with alignments, gaps and fixed offsets now and then."""
    source = random.Random(seed)
    return tuple(_draw(source, str(k), windows) for k in range(source.randint(1, 6)))


def _draw(source: random.Random, name: str, windows: bool) -> Buffer:
    lower = source.randint(0, 6)
    upper = lower + source.randint(0 if source.random() < 0.1 else 1, 5)
    size = source.randint(0 if source.random() < 0.1 else 1, 4)
    alignment = source.choice([1, 1, 1, 2, 3])
    gaps: tuple[Gap, ...] = ()
    if upper - lower > 2 and source.random() < 0.5:
        begin = source.randint(lower, upper - 1)
        window = None
        if windows and source.random() < 0.7:
            low = source.randint(0, size)
            window = (low, source.randint(low, size))
        gaps = (Gap(lower=begin, upper=source.randint(begin, upper), window_bytes=window),)
    return Buffer(
        name=name,
        lower=lower,
        upper=upper,
        size_bytes=size,
        alignment_bytes=alignment,
        gaps=gaps,
        fixed_bytes=alignment * source.randint(0, 2) if source.random() < 0.1 else None,
    )
