"""How far each of several orders of a layer is from the best possible."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from spmopt.core.instance import Instance
from spmopt.core.machine import Machine
from spmopt.core.result import relative_gap
from spmopt.tiles.backward import backward
from spmopt.tiles.grid import Grid
from spmopt.tiles.optimum.io_bound import traffic_bound
from spmopt.tiles.order import Order


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderGap:
    """What an order moves, and what every order must.

    Attributes
    ----------
    order
        Its name.
    bound_bytes
        Of the traffic of all orders, whatever stays in the SPM.
    """

    order: str
    traffic_bytes: int
    compulsory_bytes: int
    bound_bytes: int

    @property
    def gap(self) -> float | None:
        """Relative distance to the bound."""
        return relative_gap(Fraction(self.traffic_bytes), Fraction(self.bound_bytes))


def order_gaps(
    grid: Grid,
    machine: Machine,
    orders: Mapping[str, Order],
    traffic_of: Callable[[Instance], int],
    *,
    element_bytes: int = 4,
    input_gradient: bool = True,
    resident: bool = True,
) -> tuple[OrderGap, ...]:
    """Compare ``orders`` with the bound over all orders, in their order.

    Parameters
    ----------
    traffic_of
        Bytes that the schedule of an instance moves, of one that was verified.
    element_bytes, resident
        As :func:`~spmopt.tiles.backward.backward` takes them.
    input_gradient
        Whether dX is computed, too.
    """
    bound = traffic_bound(grid, machine, element_bytes=element_bytes, input_gradient=input_gradient)
    return tuple(
        OrderGap(
            order=name,
            traffic_bytes=traffic_of(
                backward(
                    grid,
                    machine,
                    order.through(grid, input_gradient=input_gradient),
                    element_bytes=element_bytes,
                    resident=resident,
                )
            ),
            compulsory_bytes=bound.compulsory_bytes,
            bound_bytes=bound.size_bytes,
        )
        for name, order in orders.items()
    )
