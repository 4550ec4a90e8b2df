"""From a case to the tile, order and partition that are run: by evaluation, without schedules."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from spmopt.core.table import Ints
from spmopt.gradients.case import SEARCHED, WHOLE, Case
from spmopt.policies.double_buffer.figures import Figures
from spmopt.tiles.cores import on_cores
from spmopt.tiles.evaluate import evaluate
from spmopt.tiles.grid import Grid, Tile
from spmopt.tiles.layer import Layer
from spmopt.tiles.notation import format_order, parse_order
from spmopt.tiles.optimum.local_search import good_order
from spmopt.tiles.order import Order
from spmopt.tiles.partition import parse_partition, partitioned
from spmopt.tiles.tiling import choose_tile

_PRODUCTS = 2_000_000
"""Tile products that a search for an order may go through, about 20 s."""
_SEARCHES = (60, 1500)
_OPERANDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A case with tile, order and partition, and what it costs under double buffering."""

    case: Case
    figures: Figures

    @property
    def value(self) -> tuple[int, int]:
        """What the choice minimises: the objective, ties by the other one."""
        time, traffic = self.figures.makespan_cycles, self.figures.traffic_bytes
        return (time, traffic) if self.case.objective == "time" else (traffic, time)


def products(case: Case, grid: Grid) -> Ints:
    """Tile products of ``grid`` in the order of a case that names one order and one partition.

    Returns
    -------
    Ints
        (n,), or (steps, cores); see :func:`spmopt.tiles.backward.backward`.
    """

    def order(layer: Layer) -> Order:
        return parse_order(case.order, layer)

    if case.partition == WHOLE:
        return order(grid.layer).through(grid, input_gradient=case.input_gradient)
    cut = parse_partition(case.partition)
    if case.cores == 1:
        return partitioned(grid, cut, order, input_gradient=case.input_gradient)
    return on_cores(grid, cut, order, case.cores, input_gradient=case.input_gradient)


def choose(case: Case) -> Chosen:
    """Choose the tile of one of :meth:`~spmopt.gradients.case.Case.candidates`, or keep its own.

    Raises
    ------
    InputError
        No tile fits, or the one given does not.
    """
    if case.tile is not None:
        layer, tile = case.layer, case.tile
        tile = Tile(m=min(tile.m, layer.m), k=min(tile.k, layer.k), n=min(tile.n, layer.n))
        fixed = replace(case, tile=tile)
        return Chosen(case=fixed, figures=_figures(fixed))
    found = choose_tile(
        case.layer,
        case.machine,
        order=lambda grid: products(case, grid),
        element_bytes=case.element_bytes,
        objective="makespan" if case.objective == "time" else "traffic",
        reuse=case.reuse,
        cores=case.cores,
    )
    return Chosen(case=replace(case, tile=found.tile), figures=found.figures)


def best(found: Iterable[Chosen]) -> Chosen:
    """Return the best one; the first of equals."""
    return min(found, key=lambda each: each.value)


def to_run(asked: Case, chosen: Chosen) -> tuple[Case, ...]:
    """Return what is run, and the best row of which is taken.

    That is the case chosen and, for ``searched``, one in an order found now. The search counts
    tiles under Belady's rule as if all had the same size, in all of the scratchpad, or in half of
    it for double buffering.
    """
    case = replace(chosen.case, replacement=asked.replacement)
    if asked.order != SEARCHED:
        return (case,)
    grid, machine = case.grid, case.machine
    sizes = grid.tile
    largest = max(sizes.m * sizes.k, sizes.k * sizes.n, sizes.m * sizes.n) * case.element_bytes
    room = (
        machine.spm_pages
        // (2 if case.is_double_buffered else 1)
        // -(-largest // machine.page_bytes)
    )
    fewest, most = _SEARCHES
    order = good_order(
        grid,
        max(_OPERANDS, room),
        input_gradient=case.input_gradient,
        evaluations=min(most, max(fewest, _PRODUCTS // (2 * grid.products))),
        time_limit_s=float("inf"),
    ).order
    return case, replace(case, order=format_order(order))


def _figures(case: Case) -> Figures:
    return evaluate(
        case.grid,
        case.machine,
        products(case, case.grid),
        element_bytes=case.element_bytes,
        reuse=case.reuse,
        add_early=case.add_early,
    )
