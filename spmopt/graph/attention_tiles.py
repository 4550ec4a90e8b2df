"""Blocks of queries and keys in which attention is computed, as one operation.

For each block of queries all blocks of keys and values pass by, or those of one head are held from
one block of queries to the next. The scratchpad has two blocks of each operand and result, the
scores of a block, and of each query in it a maximum, a sum and, where keys are in several blocks,
the context so far, in the type of sums.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import NamedTuple

from spmopt.core.machine import Machine
from spmopt.graph.cycles import compute_cycles
from spmopt.graph.operators.spec import Gemm
from spmopt.graph.tile_choice import rooms_of


class Blocks(NamedTuple):
    """One way to compute attention.

    Attributes
    ----------
    scratch_bytes
        Room of all blocks.
    fetches
        How often keys and values are fetched.
    cycles
        Of both products.
    rescaled
        How often the context of a query is rescaled.
    """

    scratch_bytes: int
    fetches: int
    cycles: int
    rescaled: int


@dataclass(frozen=True, kw_only=True)
class Attention:
    """Sizes of an attention.

    Attributes
    ----------
    first, second
        Its products; equal slices of both belong together.
    sizes
        Bytes of queries, keys, values and context.
    planes
        Bytes of each further operand that has a number for each score, of one head.
    held
        Bytes of further operands that are on chip all the time.
    sum_bytes
        Of an element of sums.
    element_type
        Of products; None: any.
    """

    first: Gemm
    second: Gemm
    sizes: tuple[int, ...]
    planes: tuple[int, ...]
    held: int
    sum_bytes: int
    element_type: str | None

    def room(self, queries: int, key_blocks: int) -> int:
        """Return the bytes that blocks of so many queries, and so many blocks of keys, need."""
        heads, rows, keys = self.first.batch, self.first.m, -(-self.first.n // key_blocks)
        total = self.held
        for size in (self.sizes[0], self.sizes[3]):
            total += min(2 * -(-size * queries // (heads * rows)), size)
        for size in self.sizes[1:3]:
            total += min(2 * -(-size * keys // (heads * self.first.n)), size)
        for size in self.planes:
            total += min(2 * -(-size * queries * keys // (rows * self.first.n)), size)
        own = keys + 2 + (self.second.n if key_blocks > 1 else 0)
        return total + queries * own * self.sum_bytes

    def blocks(self, machine: Machine, queries: int, key_blocks: int) -> Blocks:
        """Return the figures of such blocks."""
        first, second = self.first, self.second
        several, keys = -(-first.m // queries), -(-first.n // key_blocks)
        count = first.batch * several * key_blocks
        cycles = sum(
            compute_cycles(machine, 2 * product.macs, product, self.element_type)
            for product in (
                Gemm(m=queries, k=first.k, n=keys, batch=count),
                Gemm(m=queries, k=keys, n=second.n, batch=count),
            )
        )
        fetches = several if key_blocks > 1 else 1
        return Blocks(self.room(queries, key_blocks), fetches, cycles, key_blocks - 1)


@lru_cache(512)
def attention_blocks(attention: Attention, machine: Machine, most: int) -> tuple[Blocks, ...]:
    """Return ways to compute attention, up to the whole scratchpad, none worse than another.

    The first computes fastest, then moves least, of those that need no more than ``most`` bytes: a
    few queries against all keys at once would move least, and leave an array empty. Where not even
    one score at a time fits there, its blocks shrink to that room.
    """
    found = set(_largest(attention, machine))
    if all(each.scratch_bytes > most for each in found):
        found.add(attention.blocks(machine, 1, attention.first.n)._replace(scratch_bytes=most))
    best = [
        each
        for each in found
        if not any(other != each and _no_worse(other, each) for other in found)
    ]

    def order(each: Blocks) -> tuple[bool, int, int, int, int]:
        # Nothing here may depend on the bandwidth: problems are lowered once for all of them.
        return (each.scratch_bytes > most, each.cycles, each.fetches, each.rescaled, each[0])

    return tuple(sorted(best, key=order))


def _largest(attention: Attention, machine: Machine) -> Iterator[Blocks]:
    """Yield the figures of the most queries that fit in each room, by the number of key blocks."""
    rows, keys = attention.first.m, attention.first.n
    counts = [1]
    while counts[-1] < keys:
        counts.append(min(2 * counts[-1], keys))
    room = machine.spm_pages * machine.page_bytes
    for most in rooms_of(room).tolist():
        for count in counts:
            queries = bisect_right(range(1, rows + 1), most, key=partial(_room, attention, count))
            if queries:
                # The fewest queries in as many blocks.
                least = -(-rows // -(-rows // queries))
                yield attention.blocks(machine, least, count)


def _room(attention: Attention, key_blocks: int, queries: int) -> int:
    return attention.room(queries, key_blocks)


def _no_worse(one: Blocks, other: Blocks) -> bool:
    return all(mine <= its for mine, its in zip(one, other, strict=True))
