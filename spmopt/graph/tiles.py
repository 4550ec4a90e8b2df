"""Which tiles of a matrix product cross the DRAM boundary least.

The rule of PROBLEM.md, section 1, ``tiled``, with its open choices decided here:

* A (m, k) and B (k, n) are the inputs of the product, C (m, n) its result. Sizes are those of the
  tensors, so a convolution counts its feature map and not its im2col matrix.
* Either one of the three is required-resident and the others stream once, by rows of what they
  share; or the product goes in tiles ``tm x tk x tn``, and the innermost loop keeps a tile of one
  operand while tiles of the other two stream past. An operand is read once for each tile along the
  dimension that it lacks, the kept one once: with C kept, A goes ``n / tn`` times and B ``m / tm``
  times. C in p passes moves ``2 p - 1`` times, partial sums included (``2 p`` where it is added
  to). Along the innermost loop tiles are one row thick, which leaves most for the kept one.
* Buffers are two rows, or two tiles, of each operand that is not required-resident (of feature maps
  no less than the lines that windows need, see :mod:`.buffers`). A product in slices (batched, or
  the groups of a convolution) goes slice by slice, and none of its operands that has slices is
  required-resident.
* Tiles hold whole channels, with all elements of a window: a part of them needs as much of the
  feature map, which would pass once for each part.
* Beside tiles of new positions a feature map has its halo, so that none is read again: that of the
  tile's channels; but of all channels where others come between a tile of positions and the next,
  which is so where these are not along the innermost loop. Tiles of all positions have none.
* Bypassing tensors are neither required-resident nor kept, and have no buffer: the registers of
  the array take it as it streams.
* Of all that fits the least traffic is taken, then the least room, then B kept before C before A.
  Required-resident operands, in whole pages, and all buffers take no more than ``SHARE`` of the
  pages, rounded down, but no less than one. Buffers of other operands than the product's (a bias)
  shrink to a quarter of that; where not even tiles of one element fit, their buffers shrink to the
  room there.

So traffic never rises with the scratchpad: mappings for a smaller one fit a larger one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil, gcd, isqrt
from operator import mul
from typing import NamedTuple, TypeVar

import numpy as np

from spmopt.core.machine import Machine
from spmopt.core.operation import REQUIRED_RESIDENT, Operand
from spmopt.core.table import Ints
from spmopt.graph.buffers import Lines, Window
from spmopt.graph.operators.spec import Gemm
from spmopt.graph.tiling import Tiling

SHARE = Fraction(1, 2)
"""Of the pages. With 1/4, 1/2 and 3/4 ``page`` takes these times (ms), and the best of tiles of
1, 2 or 4 images (training: 2 or 4) those in brackets; on rtx2080ti BERT-large, sequence 512, batch
8, 24 MB: 216.5, 216.9, 218.6 (204.1 each); ResNet-50 training, 4 MB: 91.8, 91.9, 92.0 (77.4, 79.4,
79.9); inference, 4 MB: 26.7, 26.7, 26.8 (21.4 each). ResNet-50, batch 4, small-npu, 1 MB: 50.5,
47.8, 47.6 (49.7, 46.1, 46.2). A larger share saves passes, and takes room from resident tensors.
"""
DIMENSIONS = ((0, 1), (1, 2), (0, 2))
"""Of A, B and C, among m, k and n."""
LACKS = (2, 0, 1)
_BEFORE = (1, 2, 0)
"""B before C before A."""
_ROUNDED = 1 + 1e-12
"""Sums of bytes may differ by so much, rounded, where they are the same."""
Number = TypeVar("Number", int, Ints)
_Found = tuple[int, int, int, tuple[int, int, int]]
"""Traffic, bytes of buffers, the operand that is kept, and fetches."""


def budget_bytes(machine: Machine) -> int:
    """Return the room for resident operands and buffers of one operation, in whole pages."""
    share = machine.spm_pages * SHARE.numerator // SHARE.denominator
    return max(share, 1) * machine.page_bytes


@dataclass(frozen=True, slots=True)
class ProductTensors:
    """The operands of a matrix product, and the rooms that they and others need.

    Attributes
    ----------
    inputs, outputs
        Tensors of the node, in the positions that ``gemm`` names.
    sizes
        Bytes of every tensor.
    maps
        Lines of feature maps, by tensor.
    others
        Bytes of buffers of operands that are no part of the product.
    bypassing
        Tensors that are never in the scratchpad.
    ratios
        Bytes that move per byte, of tensors that are compressed in DRAM.
    keep
        Of A, B and C those that may be kept, the first of equals first.
    """

    gemm: Gemm
    inputs: Sequence[int]
    outputs: Sequence[int]
    sizes: Sequence[int] | Mapping[int, int]
    maps: Mapping[int, Lines]
    others: int = 0
    bypassing: Collection[int] = ()
    ratios: Mapping[int, Fraction] = field(default_factory=dict)
    keep: tuple[int, ...] = _BEFORE

    @property
    def roles(self) -> tuple[list[int], ...]:
        """The tensors of A, B and C."""
        return self.gemm.roles(self.inputs, self.outputs)

    @property
    def product(self) -> Product:
        """Their sizes."""
        gemm, sizes, roles = self.gemm, self.sizes, self.roles
        taps, lines = gemm.taps, [[self.maps.get(t) for t in role] for role in roles]
        return Product(
            # Of a window with its elements one channel is the least tile.
            dimensions=(gemm.m // taps[0], gemm.k // taps[1], gemm.n // taps[2]),
            whole=tuple(sum(sizes[t] for t in role) for role in roles),
            # Groups are slices here: one of them is worked through before the next.
            slices=gemm.slices if max(gemm.slices) > 1 else (gemm.batch,) * 3,
            lines=tuple(sum(each.size_bytes for each in role if each) for role in lines),
            windows=tuple(
                sum_windows([each.window for each in role if each and each.window])
                for role in lines
            ),
            added=any(t in self.inputs for t in roles[2]),
            may_stay=tuple(k for k in self.keep if not any(t in self.bypassing for t in roles[k])),
            buffered=tuple(k for k in range(3) if not all(t in self.bypassing for t in roles[k])),
            moved=tuple(sum(map(self.moving_bytes, role)) for role in roles),
        )

    def moving_bytes(self, tensor: int) -> int:
        """Return the bytes that move when all of a tensor crosses once."""
        return ceil(self.sizes[tensor] * self.ratios.get(tensor, 1))

    def required_resident(self, machine: Machine, kept: int, buffers: int) -> tuple[int, Tiling]:
        """Return the tiling that keeps one operand whole, and its pages."""
        role = self.roles[kept]
        pages = sum(map(machine.pages, (*(self.sizes[t] for t in role), buffers)))
        operands = dict.fromkeys(role, REQUIRED_RESIDENT)
        return pages, Tiling(operands=operands, scratch_bytes=buffers)


def least_traffic(tensors: ProductTensors, machine: Machine, room: int | None = None) -> Tiling:
    """Choose the resident operand, the fetches of the rest, and the buffers (see the module).

    In a ``room``, by default :func:`budget_bytes`.
    """
    product = tensors.product
    budget = budget_bytes(machine) if room is None else room
    # A quarter at most, so that tiles of the product always have room.
    others = min(tensors.others, budget // 4)
    whole = [
        (*tensors.required_resident(machine, kept, product.row_buffers(kept) + others), place)
        for place, kept in enumerate(product.may_stay)
        if tensors.gemm.slices[kept] == 1
    ]
    fitting = [each for each in whole if each[0] * machine.page_bytes <= budget]
    if fitting:
        # Least room first, then the order of `_BEFORE`: every choice moves the same traffic.
        return min(fitting, key=lambda each: (each[0], each[2]))[1]
    _, buffers, _, fetches = _best_tiles(product, budget - others)
    operands = stream_operands(tensors.roles, fetches)
    return Tiling(operands=operands, scratch_bytes=min(buffers + others, budget))


def stream_operands(roles: Sequence[Sequence[int]], fetches: Sequence[int]) -> dict[int, Operand]:
    """Return how the tensors of A, B and C are used, by fetches of each."""
    often = Counter[int]()
    for role, count in zip(roles, fetches, strict=True):
        for tensor in dict.fromkeys(role):
            # One tensor in two roles (x times x) is fetched for each: their tiles differ.
            often[tensor] += count
    return {tensor: Operand(fetches=count) for tensor, count in often.items()}


class _Term(NamedTuple):
    """Buffer of an operand: two tiles and a halo, at least lines, at most the whole."""

    sides: tuple[int, int]
    whole: int
    elements: int
    lines: int
    across: int
    parts: int
    limit: int
    halo: int
    seam: int


@dataclass(frozen=True, kw_only=True)
class Product:
    """Sizes of a product: ``lines`` are 0 of other tensors than feature maps.

    ``windows``: those that slide over each operand, if any.
    ``may_stay`` and ``buffered``: operands that the scratchpad may keep, and those that it buffers.
    ``moved``: bytes that each moves, fewer of a compressed one; none given are all of it.
    ``serial``: those that move while a tile of one buffer computes nothing; none given are these.
    """

    dimensions: tuple[int, int, int]
    whole: tuple[int, ...]
    slices: tuple[int, ...]
    lines: tuple[int, ...]
    added: bool
    windows: tuple[Window | None, ...] = (None, None, None)
    may_stay: tuple[int, ...] = _BEFORE
    buffered: tuple[int, ...] = (0, 1, 2)
    moved: tuple[int, ...] = ()
    serial: tuple[int, ...] = ()

    @cached_property
    def waits(self) -> tuple[int, ...]:
        """Bytes that move while nothing is computed if a tile of each, kept, has one buffer."""
        a, b, c = self.crossing
        # A result that is added to comes in, too.
        return self.serial or (a, b, (1 + self.added) * c)

    @cached_property
    def crossing(self) -> tuple[int, ...]:
        """Bytes that move when all of each operand crosses once."""
        return self.moved or self.whole

    @cached_property
    def positions(self) -> int:
        """The dimension of positions in feature maps, which both of them have; -1: none."""
        maps = [set(DIMENSIONS[k]) for k in range(3) if self.lines[k]]
        shared = set.intersection(*maps) if len(maps) == 2 else set[int]()
        # X and Y of a convolution share the positions; weights have no lines.
        return next(iter(shared), -1)

    def row_buffers(self, kept: int) -> int:
        """Return the buffers of the other two, which stream by rows of the shared axis."""
        shared = LACKS[kept]
        rows = (
            # Two rows: one in use, one on its way.
            max(-(-2 * self.whole[k] // self.dimensions[shared]), self._lines(k, shared))
            for k in self.buffered
            if k != kept
        )
        sizes = (self.whole[k] for k in self.buffered if k != kept)
        return sum(map(min, rows, sizes))

    def _lines(self, operand: int, along: int) -> int:
        return self.lines[operand] if along == self.positions else 0

    @cached_property
    def terms(self) -> tuple[_Term, ...]:
        """Terms of :meth:`buffers`, which a search asks thousands of times."""
        found = list[_Term]()
        for k in self.buffered:
            p, q = DIMENSIONS[k]
            across = q if p == self.positions else p
            limit = -(-self.whole[k] // self.slices[k])
            window = self.windows[k] or Window(self.whole[k], 0, 0)
            elements = self.dimensions[p] * self.dimensions[q] * self.slices[k]
            # In lowest terms: a tile's bytes times all elements would exceed 64 bits at 5 GB.
            shared = gcd(window.stepped_bytes, elements)
            whole, elements = window.stepped_bytes // shared, elements // shared
            # Of odd numbers that still do, as of int4, a tile has a millionth more at most.
            bits = max((whole * elements).bit_length() - 60, 0) // 2
            term = _Term(
                sides=(p, q),
                whole=-(-whole >> bits),
                elements=elements >> bits,
                lines=self.lines[k] if self.positions >= 0 else 0,
                across=across,
                parts=self.dimensions[across] * self.slices[k],
                # Larger than the operand (or two of its slices) no buffer need be.
                limit=limit if self.slices[k] == 1 else 2 * limit,
                halo=window.halo_bytes,
                seam=window.seam_bytes,
            )
            found.append(term)
        return tuple(found)

    def buffers(self, tile: Sequence[Ints | int], kept: int, copies: Ints | int = 2) -> Ints:
        """Return the bytes of two tiles of each operand, and halos; no more than all of it.

        Of one tile, or of many at once. Tiles of the operand ``kept``, of which there are
        ``copies``, stay while the innermost loop passes the others.
        """
        total: Ints = np.zeros((), np.int64)
        for k, term in zip(self.buffered, self.terms, strict=True):
            p, q = term.sides
            often = copies if k == kept else 2
            found = often * -(-term.whole * tile[p] * tile[q] // term.elements)
            if term.lines:
                channels, positions = tile[term.across], tile[self.positions]
                of_halo = self.dimensions[term.across] if self.returns(k, kept) else channels
                least = found + often * -(-term.seam * channels // term.parts)
                least = least - -term.halo * of_halo // term.parts
                least = np.maximum(least, -(-term.lines * channels // term.parts))
                # Tiles of all positions need no lines.
                found = np.where(positions < self.dimensions[self.positions], least, found)
            total = total + np.minimum(found, term.limit)
        return total

    def returns(self, operand: int, kept: int) -> bool:
        """Whether other channels come between a tile of positions of an operand and the next."""
        return operand != kept and LACKS[kept] != self.positions >= 0

    @property
    def least_buffers(self) -> int:
        """The bytes of the tiles that need least: of one element, or of all positions."""
        found = [self.buffers((1, 1, 1), kept) for kept in self.may_stay]
        for kept in self.may_stay:
            if LACKS[kept] != self.positions >= 0:
                tile = [1, 1, 1]
                tile[self.positions] = self.dimensions[self.positions]
                found.append(self.buffers(tile, kept))
        return int(min(found))

    def largest(self, kept: int, rooms: Ints, copies: Sequence[int]) -> tuple[Ints, list[Ints]]:
        """Return buffers (c, s, r) and fetches of tiles of ``kept``, the largest for each room.

        For each number of ``copies`` of the kept tile, and of tiles along its shorter side. Where
        not even the least fits, the buffers exceed the room.
        """
        first, second = sorted(DIMENSIONS[kept], key=self.dimensions.__getitem__)
        size = _tile_sizes(self.dimensions[first])[:, None]
        others = _tile_sizes(self.dimensions[second])
        often = np.array(copies, np.int64)[:, None, None]
        tile: list[Ints | int] = [1, 1, 1]
        tile[first] = size

        def buffers(other: Ints) -> Ints:
            tile[second] = other
            return self.buffers(tile, kept, often)

        low = np.zeros((len(copies), size.size, rooms.size), np.int64)
        high = np.full_like(low, others.size - 1)
        # Buffers grow with the tile, so the largest that fits is found by bisection.
        while (low < high).any():
            middle = (low + high + 1) // 2
            fits = buffers(others[middle]) <= rooms
            low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
        if self.positions == second:
            # Tiles of all positions may need less room than smaller ones, which need lines.
            low = np.where(buffers(others[-1:]) <= rooms, others.size - 1, low)
        needed = buffers(others[low])
        # Each operand is fetched once per tile of the dimension that it lacks.
        trips = [-(-length // each) for length, each in zip(self.dimensions, tile, strict=True)]
        fetches = [1 if k == kept else trips[LACKS[k]] for k in range(3)]
        return needed, [np.broadcast_to(each, low.shape) for each in fetches]

    def passes(self, fetches: Sequence[Number]) -> list[Number]:
        """Return how often each operand crosses, by how often it is fetched."""
        a, b, c = fetches
        # p passes over C write p times and read p - 1 times; an addend is read once more.
        return [a, b, 2 * c - (not self.added)]


def sum_windows(windows: Sequence[Window]) -> Window | None:
    """Return windows that slide over several maps at once, as over X and dX."""
    if not windows:
        return None
    stepped, halos, seams = (sum(each) for each in zip(*windows, strict=True))
    return Window(stepped, halos, seams)


@lru_cache(4096)
def _best_tiles(product: Product, room: int) -> _Found:
    """Return the best tiles in a room; if none fit, those in the least that any need.

    Many operations of a network have the same sizes.
    """
    found = list[_Found]()
    for kept in product.may_stay:
        (needed,), fetches = product.largest(kept, np.array([room]), (2,))
        times = product.passes([each[0] for each in fetches])
        traffic = sum(
            each * float(size) for each, size in zip(times, product.crossing, strict=True)
        )
        traffic = np.where(needed <= room, traffic, np.inf)
        least = traffic.min()
        for place in np.flatnonzero((traffic <= least * _ROUNDED) & np.isfinite(traffic)).tolist():
            a, b, c = (int(each[0, place, 0]) for each in fetches)
            # Exactly, which 64 bits may not hold.
            exact = sum(map(mul, product.passes([a, b, c]), product.crossing))
            found.append((exact, int(needed[place, 0]), _BEFORE.index(kept), (a, b, c)))
    return min(found) if found else _best_tiles(product, product.least_buffers)


def sizes_of_tiles(length: int) -> Iterator[int]:
    """Yield the least size of a tile for each number of tiles along a dimension."""
    root = isqrt(length)
    # Below the root all sizes differ in their number of tiles, above it all numbers differ.
    small = {-(-length // -(-length // size)) for size in range(1, root + 1)}
    counts = range(1, -(-length // (root + 1)) + 1)
    yield from sorted(small | {-(-length // count) for count in counts})


@lru_cache(256)
def _tile_sizes(length: int) -> Ints:
    return np.array([*sizes_of_tiles(length)], np.int64)
