"""Lower bound on the traffic of any order of the tile products, for any residency.

BOUNDS.md in this folder states the bound and proves it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, gcd, prod

import numpy as np
from numpy.typing import NDArray

from spmopt.core.machine import Machine
from spmopt.core.table import Ints
from spmopt.tiles.layer import TileGrid

Floats = NDArray[np.float64]
Sides = tuple[int, int, int]
_ROUNDING = 1 - 1e-12  # relative; a hundred times the error of powers and roots of doubles


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficBound:
    """A lower bound on traffic over all orders and all residencies.

    Attributes
    ----------
    size_bytes
        The bound.
    compulsory_bytes
        Every tile of an input and of a result once: its lower bound.
    """

    size_bytes: int
    compulsory_bytes: int


def traffic_bound(
    grid: TileGrid, machine: Machine, *, element_bytes: int = 4, input_gradient: bool = True
) -> TrafficBound:
    """Bound the traffic of the gradients of one layer in tiles (BOUNDS.md, theorem).

    It holds for every legal schedule of :func:`~spmopt.tiles.fetches.backward`, of any order and
    any residency: parts of tiles kept, tiles resident or streamed, partial sums spilled. Elements
    of a feature map that two tiles share move with each of them.

    Parameters
    ----------
    grid
        The layer in tiles, ragged or not.
    machine
        Its SPM counts, in whole pages.
    element_bytes
        Bytes of an element of every matrix.
    input_gradient
        Whether dX is computed, too.
    """
    spm = machine.spm_pages * machine.page_bytes
    deep = 2 if input_gradient else 1
    rows, inner, columns = grid.sides
    box = (grid.layer.m, grid.layer.n, deep * grid.layer.k)
    counts = [int((side == side[0]).sum()) for side in (rows, inner, columns)]
    tile = (int(rows[0]), int(columns[0]), int(inner[0]))
    equal = (counts[0] * tile[0], counts[2] * tile[1], deep * counts[1] * tile[2])
    compulsory = _compulsory(grid, grid.shape, deep) * element_bytes
    # Ragged tiles at the far edges are left out of the box of equal tiles.
    rest = compulsory - _compulsory(grid, (counts[0], counts[1], counts[2]), deep) * element_bytes
    share = _least_share(grid)
    found = [(rest, _of_equal_tiles(equal, tile, spm, element_bytes, share))]
    if equal != box:
        found.append((0, _of_ragged_tiles(box, prod(tile), spm, element_bytes, share)))
    proved = (more + ceil(float(values.max()) * _ROUNDING) for more, values in found)
    return TrafficBound(size_bytes=max(compulsory, *proved), compulsory_bytes=compulsory)


def makespan_bound(machine: Machine, compute_cycles: int, traffic_bytes: int) -> int:
    """Return cycles that no schedule with at least so much computing and traffic stays under (R6).

    All the computing, or the transfers at full bandwidth: with ``duplex`` half of them each way.
    """
    channel = -(-traffic_bytes // 2) if machine.duplex else traffic_bytes
    return max(compute_cycles, -(-channel * machine.clock_hz // machine.dram_bytes_per_s))


def least_touched(volume: Floats, box: tuple[float, float, float]) -> Floats:
    """Bound elements of all matrices that products of so many elements touch.

    Half the surface of the most compact brick of that volume in ``box``: a cube; where the box
    is too thin for it, as thick as the box and square; or as long as need be.
    """
    thin, wide, _ = sorted(box)
    cube = 3 * np.cbrt(volume) ** 2
    plate = volume / thin + 2 * np.sqrt(thin * volume)
    bar = volume / thin + volume / wide + thin * wide
    return np.where(volume <= thin**3, cube, np.where(volume <= thin * wide**2, plate, bar))


def _compulsory(grid: TileGrid, tiles: Sides, deep: int) -> int:
    """Count elements of the first tiles along M, K and N: of dY, of X and dX, of W and dW."""
    i, k, _ = tiles
    rows, inner, columns = (
        int(side[:count].sum()) for side, count in zip(grid.sides, tiles, strict=True)
    )
    return rows * columns + deep * (int(grid.map_elements[:i, :k].sum()) + inner * columns)


def _least_share(grid: TileGrid) -> float:
    """Return the least part of a tile of X that is left of it when each element counts once."""
    rows, inner, _ = grid.sides
    return float((grid.map_elements / np.multiply.outer(rows, inner)).min())


def _touch(volume: Floats, box: Sides, share: float) -> Floats:
    """Bound touched elements where X and dX have ``share`` of their matrices' elements, or more."""
    rows, columns, depth = box
    return share * least_touched(volume / share, (rows, columns / share, depth))


def _of_equal_tiles(
    box: Sides, tile: Sides, spm_bytes: int, element_bytes: int, share: float
) -> Floats:
    """(h,) Bound bytes with 1, 2, ... phases of equally many products, up to one."""
    rows, columns, depth = tile
    # Whole tiles move, so bytes are multiples of the gcd of their sizes.
    granule = gcd(rows * columns, columns * depth, rows * depth) if share == 1 else 1
    products = prod(box) // prod(tile)
    phases: Ints = np.arange(1, products + 1)
    # A schedule is cut into phases whose numbers of products differ by one at most.
    few, longer = np.divmod(products, phases)

    def footprint(count: Ints) -> Floats:
        """Round up to whole tiles, so to whole granules."""
        volume: Floats = count.astype(np.float64) * prod(tile)
        least: Floats = np.ceil(_touch(volume, box, share) * _ROUNDING / granule)
        return least * granule

    elements = longer * footprint(few + 1) + (phases - longer) * footprint(few)
    return elements * element_bytes - (phases - 1) * float(spm_bytes)


def _of_ragged_tiles(
    box: Sides, largest: int, spm_bytes: int, element_bytes: int, share: float
) -> Floats:
    """(h,) Bound bytes with 1, 2, ... phases; their volumes differ by up to two products."""
    phases: Ints = np.arange(1, max(1, prod(box) // largest) + 1)
    volume: Floats = prod(box) / phases.astype(np.float64)
    most: Floats = volume + largest
    least: Floats = volume - largest
    lower, upper = _touch(least, box, share), _touch(most, box, share)
    elements = phases * (lower + upper) / 2
    elements[0] = 0  # one phase proves the compulsory, which is known
    return elements * element_bytes - (phases - 1) * float(spm_bytes)
