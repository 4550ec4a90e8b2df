"""Orders that are searched for, on the tiles of the best of those that have names."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Protocol, cast

from spmopt.core.errors import InputError
from spmopt.core.table import Ints
from spmopt.gradients.case import OPTIMAL, SEARCHED, Case
from spmopt.tiles.notation import format_order
from spmopt.tiles.optimum.local_search import good_order

_OPTIMAL = "formulations.orders", "optimal_order"  # by name: the program imports no formulation
_PRODUCTS = 2_000_000
"""Tile products that a local search may go through, about 20 s."""
_SEARCHES = (60, 1500)
_OPERANDS = 3


class _Found(Protocol):
    @property
    def order(self) -> Ints: ...
    @property
    def traffic_tiles(self) -> int: ...
    @property
    def bound_tiles(self) -> int: ...


class _Search(Protocol):
    def __call__(
        self,
        shape: tuple[int, int, int],
        spm_tiles: int,
        *,
        input_gradient: bool,
        time_limit_s: float,
    ) -> _Found: ...


def searched(asked: str, case: Case) -> tuple[Case, tuple[str, ...]]:
    """Return ``case``, which has a tile, in an order found now, and what is known of it.

    Both searches count tiles as if all had the same size, in all of the scratchpad, or in half of
    it for double buffering: ``searched`` walks under Belady's rule, ``optimal`` any order under
    any residency.

    Raises
    ------
    InputError
        Too many tile products to search all orders.
    """
    if asked == SEARCHED:
        return _walks(case), ()
    if asked != OPTIMAL:
        raise InputError(f"order {asked}: is not searched for")
    module, name = _OPTIMAL
    search = cast("_Search", getattr(import_module(module), name))
    try:
        found = search(
            case.grid.shape,
            _spm_tiles(case),
            input_gradient=case.input_gradient,
            time_limit_s=case.time_limit_s,
        )
    except InputError as error:
        raise InputError(f"layer {case.layer.name}: order optimal: {error}") from None
    count = f"of equal tiles it moves {found.traffic_tiles} in an SPM of {_spm_tiles(case)}"
    proved = found.bound_tiles == found.traffic_tiles
    note = f"{count}, the least" if proved else f"{count}, at least {found.bound_tiles}"
    return replace(case, order=OPTIMAL, listed=tuple(found.order.tolist())), (note,)


def _walks(case: Case) -> Case:
    grid = case.grid
    fewest, most = _SEARCHES
    order = good_order(
        grid,
        _spm_tiles(case),
        input_gradient=case.input_gradient,
        evaluations=min(most, max(fewest, _PRODUCTS // (2 * grid.products))),
        time_limit_s=float("inf"),
    ).order
    return replace(case, order=format_order(order))


def _spm_tiles(case: Case) -> int:
    """Tiles that the scratchpad holds, of the largest ones; at least those of a product."""
    machine, tile = case.machine, case.grid.tile
    largest = max(tile.m * tile.k, tile.k * tile.n, tile.m * tile.n) * case.element_bytes
    pages = machine.spm_pages // (2 if case.is_double_buffered else 1)
    return max(_OPERANDS, pages // -(-largest // machine.page_bytes))
