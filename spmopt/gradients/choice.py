"""From a case to the tile, order and partition that are run: by evaluation, without schedules."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from spmopt.core.instance import Instance
from spmopt.core.table import Ints
from spmopt.gradients.case import BEST, WHOLE, Case
from spmopt.policies.double_buffer.figures import Figures
from spmopt.tiles.backward import backward
from spmopt.tiles.cores import on_cores
from spmopt.tiles.evaluate import evaluate
from spmopt.tiles.grid import Grid, Tile
from spmopt.tiles.layer import Layer
from spmopt.tiles.notation import parse_order
from spmopt.tiles.order import Order
from spmopt.tiles.partition import format_partition, made, parse_partition, partitioned
from spmopt.tiles.tiling import choose_tile


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

    if case.listed is not None:
        return np.array(case.listed, np.int64)
    if case.partition == WHOLE:
        return order(grid.layer).through(grid, input_gradient=case.input_gradient)
    cut = parse_partition(case.partition)
    if case.cores == 1:
        return partitioned(grid, cut, order, input_gradient=case.input_gradient)
    return on_cores(grid, cut, order, case.cores, input_gradient=case.input_gradient)


def instance_of(ran: Case) -> Instance:
    """The gradients of one group of a case that names one tile, one order and one partition."""
    grid = ran.grid
    return backward(
        grid,
        ran.machine,
        products(ran, grid),
        element_bytes=ran.element_bytes,
        add_early=ran.add_early,
    )


def choose(case: Case) -> Chosen:
    """Choose the tile of one of :meth:`~spmopt.gradients.case.Case.candidates`, or keep its own.

    Its partition is then the one that is made: a layer has no more parts than rows of tiles.

    Raises
    ------
    InputError
        No tile fits, or the one given does not.
    """
    if case.tile is not None:
        layer, tile = case.layer, case.tile
        tile = Tile(m=min(tile.m, layer.m), k=min(tile.k, layer.k), n=min(tile.n, layer.n))
        fixed = replace(case, tile=tile)
        return Chosen(case=_as_made(fixed), figures=_figures(fixed))
    found = choose_tile(
        case.layer,
        case.machine,
        order=lambda grid: products(case, grid),
        element_bytes=case.element_bytes,
        objective="makespan" if case.objective == "time" else "traffic",
        reuse=case.reuse,
        cores=case.cores,
    )
    return Chosen(case=_as_made(replace(case, tile=found.tile)), figures=found.figures)


def finalists(case: Case, found: Iterable[Chosen]) -> tuple[Chosen, ...]:
    """Those of the candidates of ``case`` that are to be run, the best row of which counts.

    Figures are exact under double buffering: one is left, the first of equals. Under another
    replacement ``best`` leaves one of each order.
    """
    orders: dict[str, list[Chosen]] = {}
    for each in found:
        name = each.case.order if case.order == BEST and not case.is_double_buffered else ""
        orders.setdefault(name, []).append(each)
    return tuple(min(some, key=lambda each: each.value) for some in orders.values())


def _as_made(case: Case) -> Case:
    if case.partition == WHOLE:
        return case
    parts = made(case.grid, parse_partition(case.partition))
    return replace(case, partition=format_partition(parts))


def _figures(case: Case) -> Figures:
    return evaluate(
        case.grid,
        case.machine,
        products(case, case.grid),
        element_bytes=case.element_bytes,
        reuse=case.reuse,
        add_early=case.add_early,
    )
