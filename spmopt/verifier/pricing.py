"""Rows of a linear program at prices, in exact integers: what remains of the cost is least."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from spmopt.core.errors import InputError
from spmopt.core.pieces.certificate import Row

Quantity = tuple[str | int, ...]
Terms = list[tuple[Quantity, int]]


class Pricing:
    """A cost to which multiples of rows are added, one by one.

    Any prices prove a bound: each row holds, and what remains of the cost is least where each
    quantity is at the one or the other end of what it can be.

    Attributes
    ----------
    total
        What does not depend on any quantity.
    cost
        Of each quantity, one unit.
    """

    def __init__(self, name: str, prices: Mapping[Row, int]) -> None:
        self.name, self.prices = name, prices
        self.seen: set[Row] = set()
        self.total = 0
        self.cost: dict[Quantity, int] = {}
        self._sides: dict[Quantity, tuple[int, int | None]] = {}

    def new(self, *name: str | int, most: int | None, least: int = 0, cost: int = 0) -> Quantity:
        """Add a quantity that may be from ``least`` to ``most``; a unit costs so much."""
        assert name not in self.cost, name
        self.cost[name], self._sides[name] = cost, (least, most)
        return name

    def most(self, terms: Terms) -> int:
        """Return the most that quantities are together."""
        return sum(self._sides[quantity][1] or 0 for quantity, _ in terms)

    def row(
        self, name: Row, terms: Iterable[tuple[Quantity, int]], least: int | None, most: int | None
    ) -> None:
        """Add a multiple of a row: of its lower side at a positive price, else of its upper one.

        Raises
        ------
        InputError
            The row has no such side.
        """
        self.seen.add(name)
        price = self.prices.get(name, 0)
        if not price:
            return
        side = least if price > 0 else most
        if side is None:
            raise InputError(f"{self.name}: row {name} has no side for its price")
        self.total += price * side
        for quantity, factor in terms:
            self.cost[quantity] -= price * factor

    def least(self) -> int:
        """Return the least of what remains.

        Raises
        ------
        InputError
            The prices leave a cost below any bound, or are of rows that there are not.
        """
        unknown = self.prices.keys() - self.seen
        if unknown:
            raise InputError(f"{self.name}: no row is called {min(map(str, unknown))}")
        for quantity, cost in self.cost.items():
            least, most = self._sides[quantity]
            if cost >= 0:
                self.total += cost * least
            elif most is None:
                raise InputError(f"{self.name}: prices are too high for {quantity}")
            else:
                self.total += cost * most
        return self.total


def minus(terms: Terms) -> Terms:
    """Return the terms, each the other way round."""
    return times(-1, terms)


def times(factor: int, terms: Terms) -> Terms:
    """Return the terms, each so many times."""
    return [(quantity, factor * each) for quantity, each in terms]
