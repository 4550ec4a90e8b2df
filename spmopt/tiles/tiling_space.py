"""Tile sizes that may be chosen for the scratchpad.

*Along an axis.* For every number of tiles the smallest size that makes so few of them, rounded up
to a multiple of the array's rows or columns: a product on part of an array takes the cycles of one
on all of it, and with the same number of tiles smaller ones leave more room. The whole axis is
always among them. Without an array sizes are multiples of a power of two, at most 64 of them. Where
no such tile fits, multiples are halved until one does.

*Tiles.* The three tiles of a product fit in half of the scratchpad (double buffering), and there
are at most 16 times as many products as there must be, no more than
:data:`~spmopt.tiles.limit.MOST_PRODUCTS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.machine import Machine
from spmopt.tiles.layer import Layer
from spmopt.tiles.limit import MOST_PRODUCTS, require_large_tiles, too_many

Sizes = tuple[int, int, int]
"""Along M, K and N."""
_MOST_SIZES = 64
_TIMES_FEWEST = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Half of the scratchpad, shared by ``cores`` products at the same time."""

    machine: Machine
    element_bytes: int
    cores: int

    @property
    def elements(self) -> int:
        """What each product's tiles have at most, together."""
        half_bytes = self.machine.spm_pages // 2 * self.machine.page_bytes
        return half_bytes // (self.cores * self.element_bytes)

    def has(self, sizes: Sizes, *, pair: bool = False) -> bool:
        """Whether the tiles of a product fit, or those of a pair with the same tile of dY."""
        m, k, n = sizes
        others = self._pages(m * k) + self._pages(k * n)
        need = self._pages(m * n) + (2 if pair else 1) * others
        return self.cores * need <= self.machine.spm_pages // 2

    def _pages(self, elements: int) -> int:
        return -(-elements * self.element_bytes // self.machine.page_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """Sizes along M, K and N, and the tiles of them that may be chosen."""

    axes: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
    tiles: frozenset[Sizes]
    room: Room

    def largest(self) -> list[Sizes]:
        """Tiles that cannot grow along any axis, as products or as pairs."""
        found = []
        for tile in sorted(self.tiles):
            larger = list(self._steps(tile, 1))
            if any(self._is_largest(tile, larger, pair) for pair in (False, True)):
                found.append(tile)
        return found

    def neighbours(self, tile: Sizes) -> list[Sizes]:
        """Tiles one size up or down along one axis."""
        near = (*self._steps(tile, 1), *self._steps(tile, -1))
        return sorted(other for other in near if other in self.tiles)

    def _is_largest(self, tile: Sizes, larger: list[Sizes], pair: bool) -> bool:
        has = self.room.has
        return has(tile, pair=pair) and not any(has(other, pair=pair) for other in larger)

    def _steps(self, tile: Sizes, step: int) -> Iterator[Sizes]:
        for axis, sizes in enumerate(self.axes):
            place = sizes.index(tile[axis]) + step
            if 0 <= place < len(sizes):
                m, k, n = (sizes[place] if a == axis else tile[a] for a in range(3))
                yield m, k, n


def tile_space(layer: Layer, room: Room) -> Space:
    """Tiles for ``layer``.

    Raises
    ------
    InputError
        None fits, or those that do make too many products.
    """
    require_tiles(layer, room)
    machine = room.machine
    unit_m, unit_k, unit_n = (_units(machine, length) for length in _lengths(layer))
    while True:
        axes = (
            axis_sizes(layer.m, unit_m),
            axis_sizes(layer.k, unit_k),
            axis_sizes(layer.n, unit_n),
        )
        fitting = [tile for tile in product(*axes) if room.has(tile)]
        if fitting:
            break
        if max(*unit_m, *unit_k, *unit_n) == 1:  # smaller ones make too many products
            raise too_many(layer)
        unit_m, unit_k, unit_n = map(_halves, (unit_m, unit_k, unit_n))
    fewest = min(_products(layer, tile) for tile in fitting)
    if fewest > MOST_PRODUCTS:
        raise too_many(layer)
    most = min(MOST_PRODUCTS, _TIMES_FEWEST * fewest)
    tiles = frozenset(tile for tile in fitting if _products(layer, tile) <= most)
    return Space(axes=axes, tiles=tiles, room=room)


def require_tiles(layer: Layer, room: Room) -> None:
    """Raise :class:`InputError` at once where no tile fits, or those must be too many."""
    machine = room.machine
    if not room.has((1, 1, 1)):
        half = machine.spm_pages // 2
        pages = "1 page" if half == 1 else f"{half} pages"
        raise InputError(
            f"layer {layer.name}: no tile fits in half of the SPM, {pages} of "
            f"{machine.page_bytes} bytes; give a larger --spm or a smaller --page"
        )
    require_large_tiles(layer, room.elements)


def axis_sizes(length: int, units: tuple[int, ...]) -> tuple[int, ...]:
    """Sizes along an axis: the whole of it, and multiples of ``units`` for each number of tiles.

    Numbers above :data:`~spmopt.tiles.limit.MOST_PRODUCTS` are left out.
    """
    found = [np.array([length])]
    for unit in units:
        least = -(-length // np.arange(1, min(MOST_PRODUCTS, -(-length // unit)) + 1))
        found.append(np.minimum(length, -(-least // unit) * unit))
    sizes: list[int] = np.unique(np.concatenate(found)).tolist()
    return tuple(sizes)


def _lengths(layer: Layer) -> Sizes:
    return layer.m, layer.k, layer.n


def _units(machine: Machine, length: int) -> tuple[int, ...]:
    """What the sizes are multiples of."""
    if machine.array is not None:
        return machine.array.rows, machine.array.columns
    unit = 1
    while length > unit * _MOST_SIZES:
        unit *= 2
    return (unit,)


def _halves(units: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(max(1, unit // 2) for unit in units)


def _products(layer: Layer, tile: Sizes) -> int:
    m, k, n = (-(-length // size) for length, size in zip(_lengths(layer), tile, strict=True))
    return m * k * n
