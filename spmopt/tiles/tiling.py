"""The tile of a layer, chosen for the scratchpad by what its order costs.

Of the tiles of :mod:`spmopt.tiles.tiling` those are tried that cannot grow along any axis, as
products (three tiles) or as pairs of products that share a tile of dY (five tiles, which
interleaved orders want in one batch): large tiles are read less often. From the best of them the
search goes on to tiles one size up or down along an axis, as long as that finds better ones. All
are tried where they are at most 100.

On the small machine of Kim et al. (MICRO 2023), four orders of each layer of ResNet-50, the search
evaluates 30 % of all tiles; it misses the best one once in 84 times, by 0.1 %. ``thorough`` tries
all. What sizes leave out that are no multiples is measured in the tests, on small layers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import prod

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.instance import Instance
from spmopt.core.machine import Machine
from spmopt.core.table import Ints
from spmopt.core.timeline import Access, Timeline, links
from spmopt.policies.double_buffer.figures import Figures, figures
from spmopt.tiles.bounds import least_touched
from spmopt.tiles.layer import Grid, Layer, Tile
from spmopt.tiles.order import Order
from spmopt.tiles.passes import require_room
from spmopt.tiles.program import INPUTS, Program

OBJECTIVES = ("makespan", "traffic")
_FEW = 100
OrderOfGrid = Order | Callable[[Grid], Ints]
"""An order, or what gives the tile products of a grid in order, those of a partition for one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The tile chosen, and why.

    Attributes
    ----------
    figures
        Under double buffering.
    objective
        What it was chosen by.
    tried, candidates
        Tiles that were evaluated, and all that there are to try.
    """

    tile: Tile
    figures: Figures
    objective: str
    tried: int
    candidates: int

    def recorded(self, instance: Instance) -> Instance:
        """Return ``instance`` with a source that says that its tiles were chosen, and how."""
        return replace(instance, source=f"{instance.source}, {self}")

    def __str__(self) -> str:
        return (
            f"chosen by {self.objective} under double buffering ({self.tried} of "
            f"{self.candidates} sizes tried)"
        )


def choose_tile(
    layer: Layer,
    machine: Machine,
    *,
    order: OrderOfGrid,
    element_bytes: int = 4,
    objective: str = "makespan",
    input_gradient: bool = True,
    reuse: str = "shared",
    cores: int = 1,
    thorough: bool = False,
) -> Choice:
    """Return the best tile under double buffering, the same one every time.

    Parameters
    ----------
    objective
        ``makespan``, ties by traffic, or ``traffic``, ties by makespan; then the larger tile.
    thorough
        Try all tiles.
    input_gradient
        Whether dX is computed; heeded where ``order`` is an :class:`~spmopt.tiles.order.Order`.
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

    def figures(sizes: Sizes) -> Figures:
        grid = Grid(layer=layer, tile=_tile(sizes))
        products = _products(order, grid, input_gradient)
        return evaluate(grid, machine, products, element_bytes=element_bytes, reuse=reuse)

    space = tile_space(layer, Room(machine=machine, element_bytes=element_bytes, cores=cores))
    return _Search(figures, objective).run(space, thorough=thorough)


def _products(order: OrderOfGrid, grid: Grid, input_gradient: bool) -> Ints:
    if isinstance(order, Order):
        return order.through(grid, input_gradient=input_gradient)
    return order(grid)


class _Search:
    """Figures of the tiles tried, each evaluated once."""

    def __init__(self, figures: Callable[[Sizes], Figures], objective: str) -> None:
        self._figures, self._objective = figures, objective
        self._found: dict[Sizes, Figures] = {}

    def run(self, space: Space, *, thorough: bool) -> Choice:
        """Return the best tile found."""
        if thorough or len(space.tiles) <= _FEW:
            best = min(space.tiles, key=self._value)
        else:
            best = self._descend(space, min(space.largest(), key=self._value))
        return Choice(
            tile=_tile(best),
            figures=self._found[best],
            objective=self._objective,
            tried=len(self._found),
            candidates=len(space.tiles),
        )

    def _descend(self, space: Space, best: Sizes) -> Sizes:
        """Go on to the best neighbour as long as it is better."""
        while True:
            near = min((best, *space.neighbours(best)), key=self._value)
            if near == best:
                return best
            best = near

    def _value(self, sizes: Sizes) -> tuple[int, ...]:
        """What to minimise; no two tiles have the same."""
        if sizes not in self._found:
            self._found[sizes] = self._figures(sizes)
        found = self._found[sizes]
        time, traffic = found.makespan_cycles, found.traffic_bytes
        first = (time, traffic) if self._objective == "makespan" else (traffic, time)
        return (*first, *(-size for size in sizes))


def _tile(sizes: Sizes) -> Tile:
    m, k, n = sizes
    return Tile(m=m, k=k, n=n)


def evaluate(
    grid: Grid,
    machine: Machine,
    order: Ints,
    *,
    element_bytes: int = 4,
    reuse: str = "shared",
    add_early: bool = False,
) -> Figures:
    """Traffic and makespan of an order by the policy ``double-buffer``.

    Parameters
    ----------
    grid, machine, order, element_bytes, add_early
        As for :func:`~spmopt.tiles.passes.backward`, or :func:`~spmopt.tiles.passes.forward`.
    reuse
        The policy's option.

    Raises
    ------
    InputError
        Not such an order, elements without bytes, or tiles of an operation that do not fit in the
        SPM.
    """
    program = Program.of(grid, machine, order, element_bytes=element_bytes, add_early=add_early)
    require_room(program)
    return figures(machine, timeline(program), shared=reuse == "shared")


def timeline(program: Program) -> Timeline:
    """Arrays of the instance of ``program`` in its own order, all operands resident."""
    tensor = program.tensor
    operations, accesses, tensors = program.place.size, tensor.size, program.size_bytes.size
    keep = np.zeros(tensors, bool)
    in_dram = np.zeros(tensors, bool)
    for matrix, sizes in program.tiles.size_bytes.items():
        first = program.tiles.first[matrix]
        (keep if matrix in INPUTS else in_dram)[first : first + sizes.size] = True
    previous, following, first_access, last_access = links(tensor, tensors)
    nothing = np.zeros(operations, np.int64)
    return Timeline(
        operation=np.arange(operations),
        mode=nothing,
        compute_cycles=program.compute_cycles,
        scratch_bytes=nothing,
        macs=program.macs,
        spm_read_bytes=program.moved_bytes(without=Access.WRITE),
        spm_write_bytes=program.moved_bytes(without=Access.READ),
        first=program.first,
        step=np.arange(operations).repeat(np.diff(program.first)),
        tensor=tensor,
        kind=program.kind,
        passes=np.ones(accesses, np.int64),
        stationary=np.ones(accesses, bool),
        previous=previous,
        next=following,
        live_after=(following >= 0) | keep[tensor],  # only a first access is a blind write
        size_bytes=program.size_bytes,
        in_dram=in_dram,
        keep=keep,
        first_access=first_access,
        last_access=last_access,
    )


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
    fewest = min(_product_count(layer, tile) for tile in fitting)
    if fewest > MOST_PRODUCTS:
        raise too_many(layer)
    most = min(MOST_PRODUCTS, _TIMES_FEWEST * fewest)
    tiles = frozenset(tile for tile in fitting if _product_count(layer, tile) <= most)
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

    Numbers above :data:`~spmopt.tiles.tiling.MOST_PRODUCTS` are left out.
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


def _product_count(layer: Layer, tile: Sizes) -> int:
    m, k, n = (-(-length // size) for length, size in zip(_lengths(layer), tile, strict=True))
    return m * k * n


MOST_PRODUCTS = 500_000
"""Of one group of a layer, for each gradient."""


def require_few(grid: Grid) -> None:
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
    half its surface (:func:`~spmopt.tiles.bounds.least_touched`); and of few products
    one has a large volume.
    """
    box = (layer.m, layer.k, layer.n)
    volume = np.array(prod(box) / MOST_PRODUCTS)
    if least_touched(volume, box) > elements:
        raise too_many(layer)


def too_many(layer: Layer) -> InputError:
    """The error of a layer of which no tile that fits makes few enough products."""
    return InputError(
        f"layer {layer.name}: M {layer.m}, K {layer.k}, N {layer.n} take more than "
        f"{MOST_PRODUCTS:,} tile products a gradient in any tile that fits in half of the SPM, "
        "more than are run; give a larger --spm or a smaller layer"
    )
