"""What an order of tile products costs under double buffering, quickly and exactly.

The figures are those of the verified schedule of ``solve(backward(grid, machine, order),
"double-buffer")``; neither the instance nor the schedule is made. They serve to choose: what is
shown is verified.
"""

from __future__ import annotations

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.machine import Machine
from spmopt.core.table import Ints
from spmopt.core.timeline import Access, Timeline, links, listed_timeline
from spmopt.policies.double_buffer.figures import Figures, figures
from spmopt.tiles.backward import backward
from spmopt.tiles.grid import Grid
from spmopt.tiles.matrices import INPUTS, Tiles, product_cycles

_OPERANDS = 3


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
        As for :func:`~spmopt.tiles.backward.backward`; an order on several cores is slower, as
        its instance is made.
    reuse
        The policy's option.

    Raises
    ------
    InputError
        The tiles of a product do not fit in the SPM.
    """
    if order.ndim > 1:
        instance = backward(grid, machine, order, element_bytes=element_bytes, add_early=add_early)
        arrays = listed_timeline(instance)
    else:
        arrays = tile_timeline(grid, machine, order, element_bytes=element_bytes)
        _require_room(grid, machine, arrays)
    return figures(machine, arrays, shared=reuse == "shared")


def tile_timeline(grid: Grid, machine: Machine, order: Ints, *, element_bytes: int = 4) -> Timeline:
    """Arrays of the instance that :func:`~spmopt.tiles.backward.backward` makes, on one core."""
    steps = order.size
    gradients = ("dX", "dW") if steps == 2 * grid.products else ("dW",)
    tiles = Tiles.of(grid, gradients, element_bytes)
    operands = tiles.operands(grid, order)
    tensor = operands.reshape(-1)
    previous, following, first_access, last_access = links(tensor, tiles.count)
    kind: Ints = np.full((steps, _OPERANDS), Access.READ, np.int64)
    kind[:, -1] = np.where(
        previous.reshape(steps, _OPERANDS)[:, -1] < 0, Access.WRITE, Access.UPDATE
    )
    kind = kind.reshape(-1)
    keep = np.repeat(
        [matrix in INPUTS for matrix in tiles.size_bytes],
        [size.size for size in tiles.size_bytes.values()],
    )
    nothing = np.zeros(steps, np.int64)
    return Timeline(
        operation=np.arange(steps),
        mode=nothing,
        compute_cycles=product_cycles(grid, machine)[order],
        scratch_bytes=nothing,
        macs=nothing,
        spm_read_bytes=nothing,
        spm_write_bytes=nothing,
        first=np.arange(0, tensor.size + 1, _OPERANDS),
        step=np.repeat(np.arange(steps), _OPERANDS),
        tensor=tensor,
        kind=kind,
        passes=np.ones(tensor.size, np.int64),
        stationary=np.ones(tensor.size, bool),
        previous=previous,
        next=following,
        live_after=np.where(following >= 0, kind[following] != Access.WRITE, keep[tensor]),
        size_bytes=np.concatenate([size.reshape(-1) for size in tiles.size_bytes.values()]),
        in_dram=~keep,
        keep=keep,
        first_access=first_access,
        last_access=last_access,
    )


def _require_room(grid: Grid, machine: Machine, arrays: Timeline) -> None:
    page, tile = machine.page_bytes, grid.tile
    pages = -(-arrays.size_bytes // page)
    need = int(pages[arrays.tensor].reshape(-1, _OPERANDS).sum(axis=1).max())
    if need > machine.spm_pages:
        raise InputError(
            f"layer {grid.layer.name}: a product of tiles of m {tile.m}, k {tile.k}, n {tile.n} "
            f"needs {need * page} bytes of SPM in pages of {page}, but there are "
            f"{machine.spm_pages * page}; give smaller tiles or a larger --spm"
        )
