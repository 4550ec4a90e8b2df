"""Orders that are searched for, on the tiles of the best of those that have names."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Protocol, cast

from spmopt.core.errors import InputError
from spmopt.core.table import Ints
from spmopt.gradients.case import OPTIMAL, SEARCHED, Case
from spmopt.schedulers.entry import Kind
from spmopt.tiles.notation import format_order
from spmopt.tiles.optimum.local_search import good_order

_FORMULATION = "formulations.orders"  # by name: the program imports no formulation
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
    @property
    def optimal(self) -> bool: ...


class _Search(Protocol):
    def __call__(
        self,
        shape: tuple[int, int, int],
        spm_tiles: int,
        *,
        input_gradient: bool,
        time_limit_s: float,
    ) -> _Found: ...


class _Require(Protocol):
    def __call__(self, shape: tuple[int, int, int], *, input_gradient: bool) -> None: ...


def searched(asked: str, case: Case) -> tuple[Case, tuple[str, ...]]:
    """Return ``case``, which has a tile, in an order found now, and what is known of it.

    Both searches count tiles as if all had the same size, in all of the scratchpad, or in half of
    it for double buffering: ``searched`` walks under Belady's rule, ``optimal`` any order under
    any residency. A grid too large to search all orders keeps the order that it has, with a note.
    """
    if asked == SEARCHED:
        return _walks(case), ()
    if asked != OPTIMAL:
        raise InputError(f"order {asked}: is not searched for")
    try:
        require_small(case)
    except InputError as error:
        return case, (f"{error}; shown is the best named order under double buffering",)
    search = cast("_Search", _formulation("optimal_order"))
    found = search(
        case.grid.shape,
        _spm_tiles(case),
        input_gradient=case.input_gradient,
        time_limit_s=case.time_limit_s,
    )
    return replace(case, order=OPTIMAL, listed=tuple(found.order.tolist())), (_note(case, found),)


def require_small(case: Case) -> None:
    """Raise :class:`InputError` where the grid of ``case`` is too large to search all orders."""
    require = cast("_Require", _formulation("require_small"))
    try:
        require(case.grid.shape, input_gradient=case.input_gradient)
    except InputError as error:
        raise InputError(f"order {OPTIMAL}: {error}") from None


def _formulation(name: str) -> object:
    found: object = getattr(import_module(_FORMULATION), name)
    return found


def _note(case: Case, found: _Found) -> str:
    """What is proved of the order, and of what it is not: other replacements keep other tiles."""
    part = " (half of it)" if case.is_double_buffered else ""
    least = "the least of any order" if found.optimal else f"any order at least {found.bound_tiles}"
    note = (
        f"of equal tiles the order found moves {found.traffic_tiles} in an SPM of "
        f"{_spm_tiles(case)}{part}, {least} under optimal residency"
    )
    if case.entry.kind is Kind.FORMULATION:
        return note
    return f"{note}; under {case.entry.name} another order may move less"


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
