"""Blocks of queries and keys in which attention is computed, as one operation.

For each block of queries all blocks of keys and values pass by, or those of one head are held from
one block of queries to the next. The scratchpad has two blocks of each operand and result, the
scores of a block, and of each query in it a maximum, a sum and, where keys are in several blocks,
the context so far, in the type of sums. Where the softmax is causal, blocks of keys of which no
query of a block sees any are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import gcd, prod
from typing import NamedTuple, Self

import numpy as np

from spmopt.core.machine import Machine, SystolicArray
from spmopt.core.operation import Operand
from spmopt.core.table import Ints
from spmopt.graph.cycles import compute_cycles
from spmopt.graph.operators.attention import CAUSAL, score_axes
from spmopt.graph.operators.attributes import integer
from spmopt.graph.operators.spec import Attributes, Gemm, Shape, Shapes

_FIRST_SLACK, _NEAR = 10, 32
"""Parts: the first way moves least of those that compute within a tenth of the fastest; a way
that saves less than a part of 32 of another is not offered beside it."""
_FEW = 8
"""Rows of a block: up to so many each number is tried."""
_SMALL, _DIGITS = 16, 4
"""Room that counts: a part of the scratchpad is as good as none, and four binary digits tell it."""


class Blocks(NamedTuple):
    """One way to compute attention.

    Attributes
    ----------
    scratch_bytes
        Room of all blocks.
    cycles
        Of both products, of softmax, and of rescaling.
    fetches
        How often keys and values are fetched.
    masks
        How often each mask is fetched.
    scores
        How many are computed.
    """

    scratch_bytes: int
    cycles: int
    fetches: int
    masks: tuple[int, ...] = ()
    scores: int = 0

    def coarse_room(self, room: int) -> int:
        """Return the bytes of all blocks rounded up, in a scratchpad of ``room`` bytes."""
        needed = max(self.scratch_bytes, room // _SMALL)
        unit = 1 << max(needed.bit_length() - _DIGITS, 0)
        return -(-needed // unit) * unit


class Mask(NamedTuple):
    """An operand of scores beside queries and keys, which broadcasts to them.

    Attributes
    ----------
    size
        Bytes.
    slices
        Parts that belong to different heads.
    changes
        How often the part changes from one head to the next, and at the first.
    rows, keys
        Of a part: how many rows and keys there are numbers for; 1: the same for all.
    """

    size: int
    slices: int
    changes: int
    rows: int
    keys: int

    @classmethod
    def of(cls, shape: Shape, size: int, scores: Shape, heads: Sequence[bool]) -> Self:
        """Return the mask of a shape; ``heads``: which axes of ``scores`` are those of heads."""
        own = (1,) * (len(scores) - len(shape)) + shape
        axes = [at for at, of_heads in enumerate(heads) if of_heads]
        last = max((at for at in axes if own[at] > 1), default=-1)
        return cls(
            size=size,
            slices=prod(own[at] for at in axes),
            changes=prod(scores[at] for at in axes if at <= last),
            rows=prod(own[at] for at, of_heads in enumerate(heads[:-1]) if not of_heads),
            keys=own[-1],
        )

    @property
    def slice_bytes(self) -> int:
        """Bytes of one head."""
        return -(-self.size // self.slices)

    def hold(self) -> tuple[int, int]:
        """Return the room of whole slices, and how often each is fetched."""
        room = self.slice_bytes * (1 if self.slices == 1 else 2)
        return room, self.changes // self.slices

    def stream(self, attention: Attention, queries: int, keys: Ints) -> tuple[Ints, Ints]:
        """Return the room of two blocks, and how often each is fetched, for numbers of keys."""
        rows, several = attention.first.m, -(-attention.first.m // queries)
        numbers = self.rows * self.keys
        # In lowest terms: bytes times queries times keys would exceed 64 bits.
        shared = gcd(self.slice_bytes, numbers)
        part = self.slice_bytes // shared * min(queries, self.rows) * np.minimum(keys, self.keys)
        room = np.minimum(2 * -(-part // (numbers // shared)), self.size)
        # Each block of queries takes its own rows, or those that all share anew.
        times = -(-rows // self.rows) if self.rows > 1 else several
        own, often = self.hold()
        held = (keys >= self.keys) & (queries >= self.rows and (several == 1 or self.rows == 1))
        fetches = -(-attention.first.batch * times // self.slices)
        return np.where(held, own, room), np.where(held, often, fetches)


class Visible(NamedTuple):
    """How many keys are visible to blocks of queries.

    Attributes
    ----------
    keys : (k,)
        Different numbers.
    blocks, rows : (k,)
        Blocks of queries to which so many are visible, and their rows.
    """

    keys: Ints
    blocks: Ints
    rows: Ints

    def key_blocks(self, keys: int, most: int) -> KeyBlocks:
        """Return the blocks of so many of ``most`` keys that they meet."""
        blocks = -(-self.keys // keys)
        met = np.minimum(blocks * keys, most)
        return KeyBlocks(
            blocks=int(self.blocks @ blocks),
            keys=int(self.blocks @ met),
            scores=int(self.rows @ met),
            again=int(self.rows @ np.maximum(blocks - 1, 0)),
        )


class KeyBlocks(NamedTuple):
    """Blocks of keys that meet blocks of queries, of one head and all its queries.

    Attributes
    ----------
    blocks, keys
        How many, and their keys.
    scores
        Of them and the queries that they meet.
    again
        Queries, each as often as its context is rescaled.
    """

    blocks: int
    keys: int
    scores: int
    again: int


@dataclass(frozen=True, kw_only=True)
class Attention:
    """Sizes of an attention.

    Attributes
    ----------
    first, second
        Its products, of the same heads, queries and keys.
    sizes
        Bytes of queries, keys, values and context.
    masks
        Further operands.
    work
        Operations of the vector unit, without rescaling.
    sum_bytes
        Of an element of sums.
    element_type
        Of products; None: any.
    causal
        How many rows of scores in a row are of one token, and how many rows until the tokens come
        again; 0: each row sees all keys.
    hidden
        Keys after the last token.
    """

    first: Gemm
    second: Gemm
    sizes: tuple[int, ...]
    masks: tuple[Mask, ...] = ()
    work: int = 0
    sum_bytes: int
    element_type: str | None
    causal: tuple[int, int] = (0, 0)
    hidden: int = 0

    @classmethod
    def of(
        cls,
        products: Sequence[Gemm],
        inputs: Shapes,
        sizes: Sequence[int],
        attributes: Attributes,
        *,
        work: int,
        sum_bytes: int,
        element_type: str | None,
    ) -> Self:
        """Return the attention of operands of some shapes; ``sizes``: theirs, and the context's."""
        scores, heads = score_axes(inputs, attributes)
        first, second = products
        causal, hidden = (integer(attributes, name, 0) for name in CAUSAL)
        return cls(
            first=first,
            second=second,
            sizes=(*sizes[:3], sizes[-1]),
            masks=tuple(
                Mask.of(shape, size, scores, heads)
                for shape, size in zip(inputs[3:], sizes[3:-1], strict=True)
            ),
            work=work,
            sum_bytes=sum_bytes,
            element_type=element_type,
            causal=(causal, scores[-2]) if causal else (0, 0),
            hidden=hidden,
        )

    def visible_to(self, queries: int) -> Visible:
        """Return the keys that are visible to blocks of so many queries, of one head."""
        rows, every = self.first.m, self.first.n
        each, period = self.causal
        if not each:
            return Visible(np.array([every]), np.array([-(-rows // queries)]), np.array([rows]))
        ends = np.minimum(np.arange(queries, rows + queries, queries), rows)
        begins = ends - np.diff(ends, prepend=0)
        # The last row of a block sees most, unless the tokens come again within it.
        last = np.where(begins // period < (ends - 1) // period, period - 1, (ends - 1) % period)
        # Fusion tiles of some rows are alike: each costs as much as the last one.
        most = np.clip(every - self.hidden - (period - 1 - last) // each, 0, every)
        keys, place, blocks = np.unique(most, return_inverse=True, return_counts=True)
        return Visible(keys, blocks, np.bincount(place.ravel(), ends - begins).astype(np.int64))

    def products(self, blocks: Blocks) -> list[Gemm]:
        """Return both products, of as many queries as have that many scores."""
        first = self.first
        rows = -(-blocks.scores // (first.batch * first.n))
        return [replace(each, m=rows) for each in (first, self.second)]

    def operands(self, used: Sequence[int], blocks: Blocks) -> dict[int, Operand]:
        """Return how tensors are used: those of queries, keys, values and masks, by place."""
        often = Counter[int]()
        for tensor, times in zip(used, (1, *[blocks.fetches] * 2, *blocks.masks), strict=True):
            # One tensor in two places is fetched for each: their blocks differ.
            often[tensor] += times
        return {tensor: Operand(fetches=times) for tensor, times in often.items()}

    def rooms(self, queries: int, keys: Ints) -> Iterator[tuple[Ints, list[Ints]]]:
        """Yield the bytes that blocks of so many queries and keys need, and fetches of masks.

        Numbers for each row or each key may be held; planes of them stream.
        """
        heads, rows, every = self.first.batch, self.first.m, self.first.n
        context = np.where(keys < every, self.second.n, 0)
        room = queries * (keys + 2 + context) * self.sum_bytes
        for size in (self.sizes[0], self.sizes[3]):
            room += min(2 * -(-size * queries // (heads * rows)), size)
        for size in self.sizes[1:3]:
            room += np.minimum(2 * -(-size * keys // (heads * every)), size)
        streamed = [each.stream(self, queries, keys) for each in self.masks]
        held = [
            of_block if each.rows > 1 and each.keys > 1 else each.hold()
            for each, of_block in zip(self.masks, streamed, strict=True)
        ]
        for masks in (held, streamed) if self.masks else (held,):
            fetches = [np.broadcast_to(times, keys.shape) for _, times in masks]
            yield room + sum(own for own, _ in masks), fetches

    def cycles(self, machine: Machine, queries: int, keys: int, met: KeyBlocks) -> int:
        """Return the cycles of such blocks."""
        first, second = self.first, self.second
        count = first.batch * met.blocks
        products = (
            Gemm(m=queries, k=first.k, n=keys, batch=count),
            Gemm(m=queries, k=keys, n=second.n, batch=count),
        )
        # A product and a sum of each element of the context.
        rescaling = 2 * met.again * first.batch * second.n
        work = -(-self.work * met.scores // (first.m * first.n))
        return compute_cycles(machine, work + rescaling, None) + sum(
            compute_cycles(machine, 2 * each.macs, each, self.element_type) for each in products
        )

    def blocks(
        self, machine: Machine, queries: int, keys: Sequence[int], most: int
    ) -> Iterator[Blocks]:
        """Yield the figures of such blocks that need no more than ``most`` bytes."""
        known: dict[int, tuple[int, int, int]] = {}
        for rooms, masks in self.rooms(queries, np.array(keys)):
            for at in (rooms <= most).nonzero()[0].tolist():
                count = keys[at]
                if count not in known:
                    met = _visible(self, queries).key_blocks(count, self.first.n)
                    cycles = self.cycles(machine, queries, count, met)
                    times = -(-met.keys // self.first.n) if count < self.first.n else 1
                    known[count] = cycles, times, self.first.batch * met.scores
                cycles, times, scores = known[count]
                fetches = tuple([int(each[at]) for each in masks])
                yield Blocks(int(rooms[at]), cycles, times, fetches, scores)


@lru_cache(16)
def _visible(attention: Attention, queries: int) -> Visible:
    return attention.visible_to(queries)


@lru_cache(512)
def attention_blocks(attention: Attention, machine: Machine, most: int) -> tuple[Blocks, ...]:
    """Return ways to compute attention, up to the whole scratchpad, none worse than another.

    The first moves least of those that compute nearly as fast as any, in no more than ``most``
    bytes where any does, else in the fewest: few queries against all keys at once would move least,
    and leave an array empty. Where not even one score at a time fits the scratchpad, blocks shrink
    to ``most``.
    """
    room, sizes = machine.spm_pages * machine.page_bytes, attention.sizes
    keys = _sizes(machine, attention.first.n, 2)
    found = {
        each
        for queries in _sizes(machine, attention.first.m, 8)
        for each in attention.blocks(machine, queries, keys, room)
    }
    if not found:
        least = min(int(rooms[0]) for rooms, _ in attention.rooms(1, np.ones(1, np.int64)))
        every = [*attention.blocks(machine, 1, [1], least)]
        found = {each._replace(scratch_bytes=most) for each in every}
    fastest = min((each.cycles for each in found if each.scratch_bytes <= most), default=0)

    def order(each: Blocks) -> tuple[object, ...]:
        # Nothing here may depend on the bandwidth: problems are lowered once for all of them.
        slow = _FIRST_SLACK * (each.cycles - fastest) > fastest
        masks = zip(each.masks, attention.masks, strict=True)
        moved = each.fetches * (sizes[1] + sizes[2])
        moved += sum(times * mask.size for times, mask in masks)
        return max(each.scratch_bytes - most, 0), slow, moved, each.cycles, each

    first, best = min(found, key=order), _leave_near(found, room)
    return (first, *(each for each in best if each != first))


def _leave_near(found: Collection[Blocks], room: int) -> list[Blocks]:
    """Leave out ways that hardly take or fetch less than one in no more room, in anything."""
    every = sorted(found, key=lambda each: (each.coarse_room(room), each[1:]))
    figures = np.array([(*each[1:3], *each.masks, each.scores) for each in every])
    best, left = list[Blocks](), np.arange(len(every))
    while left.size:
        one = figures[left[0]]
        best.append(every[left[0]])
        left = left[(_NEAR * one > (_NEAR + 1) * figures[left]).any(axis=1)]
    return best


def _sizes(machine: Machine, count: int, parts: int) -> list[int]:
    """Return sizes of blocks of so many rows, ``parts`` to a half, and such as fill an array.

    They are the same for all scratchpads, so that a larger one never offers less.
    """
    blocks, sizes = 1, set(range(1, min(count, _FEW) + 1))
    while blocks < count:
        sizes.update(-(-parts * count // (each * blocks)) for each in range(parts, 2 * parts))
        blocks *= 2
    array = machine.array
    sides = {array.rows, array.columns} if isinstance(array, SystolicArray) else set[int]()
    for side in sides:
        for times in (side, 3 * side):
            sizes.update(times << shift for shift in range(16) if times << shift < count)
    return sorted(sizes)
