"""Bases for blocks: as they are, cut as little as can be, or longer where room is left over."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise

import numpy as np

from formulations.contiguous.blocks import Block
from formulations.contiguous.memory import SpmMap, Taken
from formulations.contiguous.window import StepWindow
from formulations.placement.place import place
from formulations.solver.program import Floats
from spmopt.core.placement import Buffer, Gap
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline

_LIMIT_S = 2.0  # where all blocks fit, that is mostly found at once


def fit(
    blocks: list[Block],
    pages: int,
    scratch_pages: Ints,
    request: Request,
) -> bool:
    """Give each block a base, the scratch at the top; false if no bases were found soon."""
    busy = np.flatnonzero(scratch_pages).tolist()
    buffers = [
        *(_buffer(number, block) for number, block in enumerate(blocks)),
        *(_scratch(step, int(scratch_pages[step]), pages) for step in busy),
    ]
    own = Request(
        time_limit_s=min(_LIMIT_S, request.remaining_s()), stop=request.stop, params=request.params
    )
    found = place(buffers, pages, own).placement
    if found is None:
        return False
    for block, base in zip(blocks, found.offsets_bytes, strict=False):
        block.base = base
    return True


def _buffer(number: int, block: Block) -> Buffer:
    """Its peak all the time, but for windows in which it is less."""
    return Buffer(
        name=str(number),
        lower=block.begin,
        upper=block.end,
        size_bytes=block.peak,
        gaps=tuple(_gaps(block)),
    )


def _gaps(block: Block) -> Iterator[Gap]:
    first = np.flatnonzero(np.diff(block.heights, prepend=-1))
    last = np.append(first[1:], block.heights.size)
    for begin, end in zip(first.tolist(), last.tolist(), strict=True):
        height = int(block.heights[begin])
        if height < block.peak:
            yield Gap(
                lower=block.begin + begin,
                upper=block.begin + end,
                window_bytes=(0, height) if height else None,
            )


def _scratch(step: int, pages: int, top: int) -> Buffer:
    return Buffer(
        name=f"scratch of step {step}",
        lower=step,
        upper=step + 1,
        size_bytes=pages,
        fixed_bytes=top - pages,
    )


_FEW = 3000  # bases looked at
_IDLE = 0.3  # weight of a page between no two uses, one between two having weight 1
_FORBIDDEN = 1e12  # more than the pages of all blocks
_SHAKEN = 0.3  # deviation, of the logarithm

Order = Callable[[Block], tuple[float, ...]]

ORDERS: Mapping[str, Order] = {
    "peak": lambda block: (-block.peak, block.begin),
    "area": lambda block: (-block.area,),
    "begin": lambda block: (block.begin, -block.heights.size),
}
"""Orders in which blocks are packed; those with a required-resident operand come first in each."""


def shake(random: np.random.Generator) -> Order:
    """By area, each made greater or less by chance."""
    return lambda block: (-block.area * random.lognormal(0.0, _SHAKEN),)


def pack(
    blocks: list[Block],
    memory: SpmMap,
    order: Order,
    owners: Iterable[int] | None = None,
) -> bool:
    """Give each block a base, cut its heights to fit; false if a resident operand does not fit.

    A block goes where the least is lost: pages between two uses, which are then moved again.
    With ``owners`` only these do, and ``memory`` has the others.
    """
    ranks = sorted(
        range(len(blocks)) if owners is None else owners,
        key=lambda k: (not blocks[k].required_resident.size, order(blocks[k])),
    )
    complete = True
    for owner in ranks:
        block = blocks[owner]
        taken = memory.around(block.begin, block.end, owner)
        bases, loss = _losses(block, taken, memory.pages)
        best = int(loss.argmin())
        if loss[best] >= _FORBIDDEN:
            complete = False
            continue
        block.base = int(bases[best])
        block.heights = cut(block, _room(block, taken, memory.pages))
        memory.take(owner, int(block.base), block.begin, block.heights)
    return complete


def _losses(block: Block, taken: Taken, pages: int) -> tuple[Ints, Floats]:
    """Bases, lowest first, and the loss at each."""
    bases = np.sort(np.concatenate(([0], taken.high, taken.low - block.peak)))
    bases = bases[(bases >= 0) & (bases < pages) & (np.diff(bases, prepend=-1) > 0)]
    if bases.size > _FEW:
        bases = bases[np.linspace(0, bases.size - 1, _FEW).astype(np.int64)]
    loss = np.zeros(bases.size)
    used = set(block.uses.tolist())
    for begin, end in pairwise(sorted({block.begin, *used, block.end})):
        # To the use at its end, which needs the pages too.
        last = min(end + 1, block.end)
        wanted = int(block.heights[begin - block.begin : last - block.begin].max())
        weight = 1.0 if begin in used and end in used and end < block.end else _IDLE
        loss += weight * np.maximum(0, wanted - _room_above(bases, taken, begin, last, pages))
    for step in block.required_resident.tolist():
        full = block.heights[step - block.begin]
        short = _room_above(bases, taken, step, step + 1, pages) < full
        loss[short] += _FORBIDDEN
    return bases, loss


def _room_above(bases: Ints, taken: Taken, begin: int, end: int, pages: int) -> Ints:
    """Pages from each base on that are free in all steps ``[begin, end)``."""
    low, high = taken.where((taken.begin < end) & (taken.end > begin)).free_runs(pages)
    if not low.size:
        return np.zeros_like(bases)
    run = np.searchsorted(low, bases, side="right") - 1
    room: Ints = np.where(run >= 0, high[np.maximum(run, 0)] - bases, 0)
    return np.maximum(room, 0)


def _room(block: Block, taken: Taken, pages: int) -> Ints:
    """Pages from the base on that are free in each step of the block."""
    room = np.full(block.heights.size, pages - block.base)
    above = taken.high > block.base
    limits = np.maximum(taken.low[above] - block.base, 0)
    begin = np.maximum(taken.begin[above] - block.begin, 0)
    end = np.minimum(taken.end[above] - block.begin, room.size)
    binding = np.flatnonzero(limits < block.peak)
    for k in binding[np.argsort(-limits[binding], kind="stable")].tolist():
        room[begin[k] : end[k]] = limits[k]
    return room


def cut(block: Block, room: Ints) -> Ints:
    """Heights within ``room``: pages cut off come back at a use, or as they first came."""
    if (block.heights <= room).all():
        return block.heights
    wanted, uses = block.heights.tolist(), set((block.uses - block.begin).tolist())
    heights = []
    held = before = 0
    for k, (height, limit) in enumerate(zip(wanted, room.tolist(), strict=True)):
        grown = height if k in uses else held + max(0, height - before)
        held = min(height, limit, grown)
        before = height
        heights.append(held)
    return np.array(heights, np.int64)


def reuses(line: Timeline, pages: Ints, gain: Floats) -> Ints:
    """(4, r) Tensor, first and last step, and pages of bytes used again: by gain for its time.

    ``pages`` (m,) are of each tensor, ``gain`` (a,) of a page kept from an access to the next.
    """
    access = np.flatnonzero((line.next >= 0) & line.live_after & (gain > 0))
    tensor, begin, end = line.tensor[access], line.step[access], line.step[line.next[access]]
    order = np.argsort(-gain[access] / (end - begin), kind="stable")
    return np.stack((tensor, begin, end, pages[tensor]))[:, order]


def fill(blocks: list[Block], memory: SpmMap, window: StepWindow, again: Ints) -> None:
    """Keep more bytes that are used ``again``, where pages are free until then.

    ``blocks`` have bases, as they are in ``memory``; they grow, and there are more of them, in
    steps of ``window`` only. They lose their uses.
    """
    of_tensor: defaultdict[int, list[int]] = defaultdict(list)
    for owner, block in enumerate(blocks):
        of_tensor[block.tensor].append(owner)
    inside = (again[1] >= window.begin) & (again[2] < window.end)
    for tensor, begin, last, pages in again[:, inside].T.tolist():
        end = last + 1
        met = [k for k in of_tensor[tensor] if blocks[k].begin <= end and blocks[k].end >= begin]
        if not met:
            if _add(blocks, memory, (tensor, begin, end), pages):
                of_tensor[tensor].append(len(blocks) - 1)
            continue
        block = blocks[met[0]]
        # Of several, or next to one, none can grow.
        inside = block.begin < end and block.end > begin
        if len(met) == 1 and inside and block.base >= 0:
            _grow(block, met[0], memory, (begin, end), pages)


def _add(blocks: list[Block], memory: SpmMap, where: tuple[int, int, int], pages: int) -> bool:
    """A new block in the smallest run that holds all of it, else in the largest, if any."""
    tensor, begin, end = where
    low, high = memory.around(begin, end, -2).free_runs(memory.pages)
    if not low.size:
        return False
    room = high - low
    enough = np.flatnonzero(room >= pages)
    run = enough[room[enough].argmin()] if enough.size else room.argmax()
    heights = np.full(end - begin, min(pages, int(room[run])))
    dirty = np.zeros_like(heights)
    blocks.append(
        Block(tensor=tensor, begin=begin, heights=heights, dirty=dirty, base=int(low[run]))
    )
    memory.take(len(blocks) - 1, int(low[run]), begin, heights)
    return True


def _grow(block: Block, owner: int, memory: SpmMap, span: tuple[int, int], pages: int) -> None:
    """Make the block as high as it can be in the steps ``span``, and last as long."""
    begin, end = span
    inside = slice(max(begin - block.begin, 0), max(end - block.begin, 0))
    covered = block.begin <= begin and end <= block.end
    least = int(block.heights[inside].min()) if covered else 0
    if least >= pages:
        return
    taken = memory.around(begin, end, owner)
    above = taken.low[taken.high > block.base]
    room = min(pages, int(above.min(initial=memory.pages)) - block.base)
    if room <= least:
        return
    first, last = min(begin, block.begin), max(end, block.end)
    heights = np.zeros(last - first, np.int64)
    heights[block.begin - first : block.end - first] = block.heights
    kept = heights[begin - first : end - first]
    np.maximum(kept, room, out=kept)
    dirty = np.zeros(last - first, np.int64)
    dirty[block.begin - first : block.end - first] = block.dirty_most
    block.begin, block.heights, block.dirty = first, heights, dirty
    memory.take(owner, int(block.base), first, heights)
