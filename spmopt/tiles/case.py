"""Case of one layer: an order of its tile products, and a replacement under it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

from spmopt.core.errors import InputError, unknown
from spmopt.core.machine import Machine
from spmopt.core.objective import Objective, objective_named
from spmopt.core.problem import Problem
from spmopt.core.table import Ints
from spmopt.policies.double_buffer.figures import Figures
from spmopt.schedulers.registry import Kind, SchedulerEntry, find
from spmopt.tiles.fetches import backward
from spmopt.tiles.layer import Layer, Tile, TileGrid
from spmopt.tiles.order import ALGORITHM_1, ORDERS, Order, format_order, parse_order
from spmopt.tiles.partition import (
    AXIS_NAMES,
    make,
    on_cores,
    parse_partition,
    partition,
)
from spmopt.tiles.tiling import OBJECTIVES, choose_tile, evaluate, require_few

BEST, WHOLE = "best", "none"
"""An order or a partition chosen by evaluation; no partition."""
ORDER_NAMES = (*ORDERS, ALGORITHM_1, BEST)
DOUBLE_BUFFER = "double-buffer"
_PARTS = (2, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerCase:
    """The gradients of a layer, in an order of tile products, under a replacement.

    Attributes
    ----------
    machine
        Of all cores together (:func:`spmopt.tiles.partition.scale`).
    order
        Notation of :mod:`spmopt.tiles.order` (``sequential``, ``algorithm-1``, ...); ``best``:
        of :data:`~spmopt.tiles.order.ORDERS`, each on its own tiles, the best one under the
        replacement.
    replacement
        A scheduler with its options, as ``double-buffer:reuse=none``.
    partition
        ``none``, ``m/2`` and so on; ``best``: of none and of cuts into 2 and 4 parts, on several
        cores of cuts into one part a core, the best one under double buffering, for each order.
    tile
        None: chosen for the order, by ``objective`` under double buffering, with the options of
        the replacement if it is that.
    input_gradient
        Whether dX is computed.
    add_early
        See :func:`spmopt.tiles.fetches.backward`.
    objective
        ``time`` or ``traffic``; heeded by choices, and by replacements that optimize.
    tolerance, time_limit_s
        Of the replacement, for each product of the layer.

    Raises
    ------
    InputError
        A text that is no order, replacement or partition, or that does not fit the others; a tile
        that makes too many products.
    """

    layer: Layer
    machine: Machine
    order: str = "sequential"
    replacement: str = DOUBLE_BUFFER
    partition: str = WHOLE
    cores: int = 1
    tile: Tile | None = None
    element_bytes: int = 4
    input_gradient: bool = True
    add_early: bool = False
    objective: str = "time"
    tolerance: float = 1e-4
    time_limit_s: float = 60.0

    def __post_init__(self) -> None:
        if self.cores < 1:
            raise InputError(f"{self.cores} cores; give at least 1")
        if self.element_bytes < 1:
            raise InputError(f"elements of {self.element_bytes} bytes; give at least 1")
        if self.objective not in OBJECTIVES:
            raise InputError(f"objective {self.objective!r}: choose {' or '.join(OBJECTIVES)}")
        if self.machine.compression:
            raise InputError(
                f"machine {self.machine.name}: tiles are not compressed; leave compression out"
            )
        if self.entry.kind is Kind.RELAXATION:
            raise InputError(
                f"replacement {self.replacement}: gives a bound, no schedule; name another"
            )
        self.entry.require(self.goal, bounders=False)
        self._require_order()
        if self.tile is not None:
            require_few(self.grid)

    def _require_order(self) -> None:
        if self.partition not in (WHOLE, BEST):
            parse_partition(self.partition)
        name = self.order.partition(":")[0]
        if name not in ORDER_NAMES:
            raise unknown("order", name, ORDER_NAMES)
        if self.order != BEST:
            parse_order(self.order, self.layer)
        if self.cores > 1 and self.partition == WHOLE:
            raise InputError(
                f"{self.cores} cores need a partition; give one, as m/{self.cores}, or best"
            )

    @property
    def entry(self) -> SchedulerEntry:
        """The replacement."""
        return find(self.replacement)

    @property
    def is_double_buffered(self) -> bool:
        """Whether the replacement is double buffering."""
        return self.entry.target == find(DOUBLE_BUFFER).target

    @property
    def reuse(self) -> str:
        """Option of the double buffering under which choices are made: the replacement's own."""
        return self.entry.chosen.get("reuse", "shared") if self.is_double_buffered else "shared"

    @property
    def goal(self) -> Objective:
        """The objective, as schedulers take it."""
        return objective_named(self.objective, self.machine)

    @property
    def grid(self) -> TileGrid:
        """The layer in tiles; raises :class:`InputError` before they are chosen."""
        if self.tile is None:
            raise InputError(f"layer {self.layer.name}: no tile; give one or have it chosen")
        return TileGrid(layer=self.layer, tile=self.tile)

    def candidates(self) -> tuple[LayerCase, ...]:
        """Make cases with one order and one partition each, the best of which is to be chosen."""
        orders = tuple(ORDERS) if self.order == BEST else (self.order,)
        cuts: tuple[str, ...] = (self.partition,)
        if self.partition == BEST:
            # Several cores: one part each.
            parts = _PARTS if self.cores == 1 else (self.cores,)
            each = tuple(f"{axis}/{count}" for axis, count in product(AXIS_NAMES, parts))
            cuts = (WHOLE, *each) if self.cores == 1 else each
        return tuple(
            replace(self, order=self._with_name(order, cut), partition=cut)
            for order, cut in product(orders, cuts)
        )

    def _with_name(self, order: str, cut: str) -> str:
        """Name an order that has no choice left, but of the order of each piece."""
        return format_order(parse_order(order, self.layer)) if cut == WHOLE else order


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenCase:
    """A case with tile, order and partition, and its cost under double buffering."""

    case: LayerCase
    figures: Figures

    @property
    def value(self) -> tuple[int, int]:
        """Objective of the choice: the objective, ties by the other one."""
        time, traffic = self.figures.makespan_cycles, self.figures.traffic_bytes
        return (time, traffic) if self.case.objective == "time" else (traffic, time)


def leaves_order(order: str) -> bool:
    """Return whether an order is one that is chosen, and not only a way of writing one."""
    return order.partition(":")[0] in (BEST, ALGORITHM_1)


def products(case: LayerCase, grid: TileGrid) -> Ints:
    """Order tile products of ``grid`` by a case that names one order and one partition.

    Returns
    -------
    Ints
        (n,), or (steps, cores); see :func:`spmopt.tiles.fetches.backward`.
    """

    def order(layer: Layer) -> Order:
        return parse_order(case.order, layer)

    if case.partition == WHOLE:
        return order(grid.layer).through(grid, input_gradient=case.input_gradient)
    cut = parse_partition(case.partition)
    if case.cores == 1:
        return partition(grid, cut, order, input_gradient=case.input_gradient)
    return on_cores(grid, cut, order, case.cores, input_gradient=case.input_gradient)


def problem_of(ran: LayerCase) -> Problem:
    """Make gradients of one group of a case that names one tile, one order and one partition."""
    grid = ran.grid
    return backward(
        grid,
        ran.machine,
        products(ran, grid),
        element_bytes=ran.element_bytes,
        add_early=ran.add_early,
    )


def choose(case: LayerCase) -> ChosenCase:
    """Choose the tile of one of :meth:`~spmopt.tiles.case.LayerCase.candidates`, or keep its own.

    Its partition is then the one that is made: a layer has no more parts than rows of tiles.

    Raises
    ------
    InputError
        No tile fits, or the one given does not.
    """
    if case.tile is not None:
        # A tile larger than the layer is the layer.
        m, k, n = map(min, case.tile.sizes, case.layer.sizes)
        fixed = replace(case, tile=Tile(m=m, k=k, n=n))
        figures = evaluate(
            fixed.grid,
            case.machine,
            products(fixed, fixed.grid),
            element_bytes=case.element_bytes,
            reuse=case.reuse,
            add_early=case.add_early,
        )
        return ChosenCase(case=_as_made(fixed), figures=figures)
    found = choose_tile(
        case.layer,
        case.machine,
        order=partial(products, case),
        element_bytes=case.element_bytes,
        objective=case.objective,
        reuse=case.reuse,
        cores=case.cores,
    )
    return ChosenCase(case=_as_made(replace(case, tile=found.tile)), figures=found.figures)


def finalists(case: LayerCase, found: Iterable[ChosenCase]) -> tuple[ChosenCase, ...]:
    """Choose the candidates of ``case`` that are to be run, the best row of which counts.

    Figures are exact under double buffering: one is left, the first of equals. Under another
    replacement ``best`` leaves one of each order.
    """
    orders: dict[str, list[ChosenCase]] = {}
    for each in found:
        name = each.case.order if case.order == BEST and not case.is_double_buffered else ""
        orders.setdefault(name, []).append(each)
    return tuple(min(some, key=lambda each: each.value) for some in orders.values())


def _as_made(case: LayerCase) -> LayerCase:
    if case.partition == WHOLE:
        return case
    return replace(case, partition=str(make(case.grid, parse_partition(case.partition))))
