"""The tile of a layer, chosen for the scratchpad by the cost of its order.

*Sizes along an axis.* For every number of tiles the smallest size that makes so few of them,
rounded up to a multiple of the array's rows or columns: a product on part of an array takes the
cycles of one on all of it, and with the same number of tiles smaller ones leave more room. The
whole axis is always among them. Without an array sizes are multiples of a power of two, at most 64
of them. Where no such tile fits, multiples are halved until one does.

*Tiles.* The three tiles of a product fit in half of the scratchpad (double buffering), and there
are at most 16 times as many products as there must be, no more than :data:`MOST_PRODUCTS`.

*Search.* Those are tried that cannot grow along any axis, as products (three tiles) or as pairs of
products that share a tile of dY (five tiles, which interleaved orders want in one batch): large
tiles are read less often. From the best of them the search goes on to tiles one size up or down
along an axis, as long as that finds better ones. All are tried where they are at most 100.

On the small machine of Kim et al. (MICRO 2023), four orders of each layer of ResNet-50, the search
evaluates 30 % of all tiles; it misses the best one once in 84 times, by 0.1 %. ``thorough`` tries
all. What sizes leave out that are no multiples is measured in the tests, on small layers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.machine import Machine
from spmopt.core.table import Ints
from spmopt.policies.double_buffer.figures import Figures, figures
from spmopt.tiles.bounds import least_touched
from spmopt.tiles.fetches import require_room
from spmopt.tiles.layer import Layer, Tile, TileGrid
from spmopt.tiles.program import PassProgram

OBJECTIVES = ("time", "traffic")
MOST_PRODUCTS = 500_000
"""Of one group of a layer, for each gradient, that are run at most. A problem, its schedule and
its verification take about 2.5 kB and 0.15 ms for each: the most of both are 2.5 GB and minutes."""
_FEW = 100
_MOST_SIZES = 64
_TIMES_FEWEST = 16
Sizes = tuple[int, int, int]
"""Along M, K and N."""


def evaluate(
    grid: TileGrid,
    machine: Machine,
    order: Ints,
    *,
    element_bytes: int = 4,
    reuse: str = "shared",
    add_early: bool = False,
) -> Figures:
    """Compute traffic and makespan of an order by the policy ``double-buffer``, exactly.

    They are those of the verified schedule of the problem; neither it nor the schedule is made.
    They serve to choose: figures that are shown are verified.

    Parameters
    ----------
    grid, machine, order, element_bytes, add_early
        As for :func:`~spmopt.tiles.fetches.backward` or :func:`~spmopt.tiles.fetches.forward`.
    reuse
        The policy's option.

    Raises
    ------
    InputError
        Not such an order, elements without bytes, or tiles of an operation that do not fit in the
        SPM.
    """
    program = PassProgram.of(grid, machine, order, element_bytes=element_bytes, add_early=add_early)
    require_room(program)
    return figures(machine, program.line, reuse=reuse)


@dataclass(frozen=True, slots=True, kw_only=True)
class TileChoice:
    """The tile chosen, its figures under double buffering, and how many were tried of how many."""

    tile: Tile
    figures: Figures
    tried: int
    candidates: int


def choose_tile(
    layer: Layer,
    machine: Machine,
    *,
    order: Callable[[TileGrid], Ints],
    element_bytes: int = 4,
    objective: str = "time",
    reuse: str = "shared",
    cores: int = 1,
    thorough: bool = False,
) -> TileChoice:
    """Return the best tile under double buffering, the same one every time.

    Parameters
    ----------
    order
        Gives the tile products of a grid in order, as :func:`evaluate` takes them.
    objective
        ``time``, ties by traffic, or ``traffic``, ties by time; then the larger tile.
    thorough
        Try all tiles.
    reuse
        Option of the policy ``double-buffer``.
    cores
        Products at the same time, which share the half.

    Raises
    ------
    InputError
        No tile fits, or an unknown objective.
    """
    if objective not in OBJECTIVES:
        raise InputError(f"objective {objective!r}: tiles are chosen by {' or '.join(OBJECTIVES)}")
    found: dict[Sizes, Figures] = {}

    def value(sizes: Sizes) -> tuple[int, ...]:
        """Return the key to minimize; no two tiles have the same."""
        if sizes not in found:
            grid = TileGrid(layer=layer, tile=Tile.of(sizes))
            found[sizes] = evaluate(
                grid, machine, order(grid), element_bytes=element_bytes, reuse=reuse
            )
        time, traffic = found[sizes].makespan_cycles, found[sizes].traffic_bytes
        first = (time, traffic) if objective == "time" else (traffic, time)
        return (*first, *(-size for size in sizes))

    half = HalfSpm(layer=layer, machine=machine, element_bytes=element_bytes, cores=cores)
    space = tile_space(half)
    if thorough or len(space.tiles) <= _FEW:
        best = min(space.tiles, key=value)
    else:
        # From the tiles that cannot grow: large tiles are read less often.
        best, before = min(space.largest(), key=value), None
        while best != before:
            best, before = min((best, *space.neighbors(best)), key=value), best
    return TileChoice(
        tile=Tile.of(best),
        figures=found[best],
        tried=len(found),
        candidates=len(space.tiles),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfSpm:
    """Half of the scratchpad for a layer, shared by ``cores`` products at the same time."""

    layer: Layer
    machine: Machine
    element_bytes: int
    cores: int

    @property
    def elements(self) -> int:
        """What each product's tiles have at most, together."""
        half_bytes = self.machine.spm_pages // 2 * self.machine.page_bytes
        return half_bytes // (self.cores * self.element_bytes)

    def has(self, sizes: Sizes, *, pair: bool = False) -> bool:
        """Give whether the tiles of a product fit, or those of a pair with the same tile of dY."""
        m, k, n = sizes
        size, page = self.element_bytes, self.machine.page_bytes
        others = -(-_of_map(self.layer, m, k) * size // page) - (-k * n * size // page)
        need = (2 if pair else 1) * others - (-m * n * size // page)
        return self.cores * need <= self.machine.spm_pages // 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TileSpace:
    """Sizes along M, K and N, and the tiles of them that may be chosen."""

    axes: tuple[tuple[int, ...], ...]
    tiles: frozenset[Sizes]
    half: HalfSpm

    def largest(self) -> list[Sizes]:
        """Return tiles that cannot grow along any axis, as products or as pairs."""
        has = self.half.has
        return [
            tile
            for tile in sorted(self.tiles)
            if any(
                has(tile, pair=pair)
                and not any(has(other, pair=pair) for other in self._steps(tile, 1))
                for pair in (False, True)
            )
        ]

    def neighbors(self, tile: Sizes) -> list[Sizes]:
        """Return tiles one size up or down along one axis."""
        near = (*self._steps(tile, 1), *self._steps(tile, -1))
        return sorted(other for other in near if other in self.tiles)

    def _steps(self, tile: Sizes, step: int) -> Iterator[Sizes]:
        for axis, sizes in enumerate(self.axes):
            place = sizes.index(tile[axis]) + step
            if 0 <= place < len(sizes):
                m, k, n = (sizes[place] if a == axis else tile[a] for a in range(3))
                yield m, k, n


def tile_space(half: HalfSpm) -> TileSpace:
    """Return tiles for the layer of ``half``.

    Raises
    ------
    InputError
        None fits, or those that do make too many products.
    """
    require_tiles(half)
    layer = half.layer
    units = [_units(half.machine, length) for length in layer.sizes]
    while True:
        m, k, n = map(axis_sizes, layer.sizes, units)
        fitting = {tile: _products(layer, tile) for tile in product(m, k, n) if half.has(tile)}
        if fitting:
            break
        if all(unit == 1 for several in units for unit in several):
            raise _too_many(layer)  # smaller ones make too many products
        # Finer sizes, as multiples of the array do not fit.
        units = [tuple(max(1, unit // 2) for unit in several) for several in units]
    fewest = min(fitting.values())
    if fewest > MOST_PRODUCTS:
        raise _too_many(layer)
    # Many more products than needed are slow to evaluate, and seldom better.
    most = min(MOST_PRODUCTS, _TIMES_FEWEST * fewest)
    tiles = frozenset(tile for tile, products in fitting.items() if products <= most)
    return TileSpace(axes=(m, k, n), tiles=tiles, half=half)


def axis_sizes(length: int, units: tuple[int, ...]) -> tuple[int, ...]:
    """Return sizes along an axis: the whole of it, multiples of ``units`` for each tile count.

    Numbers above :data:`MOST_PRODUCTS` are left out.
    """
    found = [np.array([length])]
    for unit in units:
        least = -(-length // np.arange(1, min(MOST_PRODUCTS, -(-length // unit)) + 1))
        found.append(np.minimum(length, -(-least // unit) * unit))
    return tuple(np.unique(np.concatenate(found)).tolist())


def require_tiles(half: HalfSpm) -> None:
    """Raise :class:`InputError` at once where no tile fits, or those must be too many."""
    layer, machine = half.layer, half.machine
    if not half.has((1, 1, 1)):
        pages = machine.spm_pages // 2
        raise InputError(
            f"layer {layer.name}: no tile fits in half of the SPM, "
            f"{'1 page' if pages == 1 else f'{pages} pages'} of {machine.page_bytes} bytes; "
            "give a larger --spm or a smaller --page"
        )
    if layer.window is None:  # the rule below holds where one row alone uses each element
        require_large_tiles(layer, half.elements)


def require_few(grid: TileGrid) -> None:
    """Raise :class:`InputError` where ``grid`` has more than :data:`MOST_PRODUCTS`."""
    tile = grid.tile
    if grid.products > MOST_PRODUCTS:
        raise InputError(
            f"layer {grid.layer.name}: tiles of {tile.m}x{tile.k}x{tile.n} make "
            f"{grid.products:,} tile products a gradient, at most {MOST_PRODUCTS:,} are run; give "
            "a larger --tile"
        )


def require_large_tiles(layer: Layer, elements: int) -> None:
    """Raise :class:`InputError` where tiles of so many elements make too many products.

    No tile of dY, X and W together (m n + m k + k n) below what a brick of its volume m k n has for
    half its surface (:func:`~spmopt.tiles.bounds.least_touched`); and of few products one has a
    large volume.
    """
    volume = np.array(prod(layer.sizes) / MOST_PRODUCTS)
    if least_touched(volume, layer.sizes) > elements:
        raise _too_many(layer)


def _too_many(layer: Layer) -> InputError:
    return InputError(
        f"layer {layer.name}: M {layer.m}, K {layer.k}, N {layer.n} take more than "
        f"{MOST_PRODUCTS:,} tile products a gradient in any tile that fits in half of the SPM, "
        "more than are run; give a larger --spm or a smaller layer"
    )


@lru_cache(maxsize=4096)
def _of_map(layer: Layer, m: int, k: int) -> int:
    """Count elements of the largest tile of X of this size."""
    if layer.window is None or m * k == 1:
        return m * k
    return int(TileGrid(layer=layer, tile=Tile(m=m, k=k, n=layer.n)).map_elements.max())


def _units(machine: Machine, length: int) -> tuple[int, ...]:
    """Return the common divisor of sizes along an axis."""
    if machine.array is not None:
        return machine.array.rows, machine.array.columns
    unit = 1
    while length > unit * _MOST_SIZES:
        unit *= 2
    return (unit,)


def _products(layer: Layer, tile: Sizes) -> int:
    return prod(-(-length // size) for length, size in zip(layer.sizes, tile, strict=True))
