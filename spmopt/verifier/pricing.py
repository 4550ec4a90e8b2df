"""Rows of a linear program at dual values, in exact integers: the rest of the cost is least."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from spmopt.core.errors import InputError
from spmopt.core.fusion.certificate import Row
from spmopt.core.table import Bools, Ints

Terms = list[tuple[int, int]]
"""Quantities by number, each with its factor."""
Sizes = NDArray[np.object_]
"""Bytes as Python's integers, which no sum or product makes too large."""
_EXACT = 2.0**61
"""Magnitude below which sums of 64 bits are exact, with room for how this is estimated."""


class Pricing:
    """A cost to which multiples of rows are added.

    Any dual values prove a bound: each row holds, and the rest of the cost is least where each
    quantity is at one end of its range. Quantities and rows have numbers; rows without a dual value
    are -1, and nothing is done for them.

    Attributes
    ----------
    total
        The constant part.
    """

    def __init__(self, name: str, duals: Mapping[Row, int]) -> None:
        self.name, self.duals = name, duals
        self.total = 0
        self._series: dict[Row, dict[str | int | tuple[int, int], int]] = {}
        for row, dual in duals.items():
            self._series.setdefault(row[:-1], {})[row[-1]] = dual
        self._known = set[Row]()
        self._least, self._most = list[int](), list[int | None]()
        self._dual: list[int] = []
        self._entries: list[tuple[Ints, Ints, Ints]] = []
        self._single: list[tuple[int, int, int]] = []

    def new(self, most: int, least: int = 0, cost: int = 0) -> int:
        """Add a quantity that may be from ``least`` to ``most``; a unit costs so much."""
        self._least.append(least)
        self._most.append(most)
        number = len(self._most) - 1
        if cost:
            self._single.append((self.costing(cost), number, 1))
        return number

    def several(self, where: Bools, most: Sizes | int | None, least: Sizes | None = None) -> Ints:
        """Add a quantity for each true element of ``where``; -1 of the others."""
        numbers = np.full(where.shape, -1)
        count, first = int(where.sum()), len(self._most)
        numbers[where] = np.arange(first, first + count)
        if isinstance(most, np.ndarray):
            self._most += np.broadcast_to(most, where.shape)[where].tolist()
        else:
            self._most += [most] * count
        self._least += [0] * count if least is None else least[where].tolist()
        return numbers

    def most(self, terms: Terms) -> int:
        """Return the most that quantities are together."""
        return sum(self._most[quantity] or 0 for quantity, _ in terms)

    def row(self, name: Row, terms: Terms, least: int | None, most: int | None) -> None:
        """Add a multiple of a row: of its lower side at a positive dual, else of its upper one.

        Raises
        ------
        InputError
            The row has no such side.
        """
        dual = self.duals.get(name)
        if dual is not None:
            self.extend(self._dual_columns(name, dual, least, most), terms)

    def extend(self, number: int, terms: Terms) -> None:
        """Add quantities to a row, each so many times; -1 is none."""
        if number >= 0:
            self._single += [(number, quantity, factor) for quantity, factor in terms]

    def rows(
        self,
        names: list[Row],
        where: Bools,
        least: Sizes | None,
        most: Sizes | None,
    ) -> Ints:
        """Add multiples of rows: of each name, those of places in its line of ``where``.

        A place is the last part of a row's name; it may be the first of places and the end.

        Returns
        -------
        ndarray
            Their numbers, for :meth:`add`; -1 of those without a dual value.

        Raises
        ------
        InputError
            A row has no side for its dual value.
        """
        numbers = np.full(where.shape, -1)
        for line, name in enumerate(names):
            duals = self._series.get(name)
            for place, dual in duals.items() if duals else ():
                steps = (place, place + 1) if isinstance(place, int) else place
                if isinstance(steps, str) or not 0 <= steps[0] < steps[1] <= where.shape[1]:
                    continue
                here = slice(*steps)
                if not where[line, here].all():
                    continue
                if (numbers[line, here] >= 0).any():
                    raise InputError(f"{self.name}: row {(*name, place)} has two dual values")
                sides = [None if side is None else sum(side[line, here]) for side in (least, most)]
                numbers[line, here] = self._dual_columns((*name, place), dual, *sides)
        return numbers

    def _dual_columns(self, name: Row, dual: int, least: int | None, most: int | None) -> int:
        self._known.add(name)
        # A positive multiple of a row >= its lower side, a negative one of a row <= its upper side:
        # both add a term that is at most 0 to the cost.
        side = least if dual > 0 else most
        # A row without that side says nothing at such a dual value.
        if dual and side is None:
            raise InputError(f"{self.name}: row {name} has no side for its dual value")
        self.total += dual * (side or 0)
        return self._number(dual) if dual else -1

    def raise_values(self, rows: Ints, sides: Iterable[int]) -> None:
        """Raise the sides of rows that were added, by so much each."""
        for number, side in zip(rows.tolist(), sides, strict=True):
            if number >= 0:
                self.total += self._dual[number] * side

    def costing(self, cost: int) -> int:
        """Return a row by which each unit of a quantity in it costs so much."""
        # A cost is a row without sides: quantities in it cost so much each.
        return self._number(-cost) if cost else -1

    def together(self, rows: Ints) -> Ints:
        """Return one row: additions to it go to each of some rows."""
        dual = sum(self._dual[number] for number in rows.tolist() if number >= 0)
        return np.array([self._number(dual) if dual else -1], np.int64)

    def onward(self, rows: Ints, *, back: bool = False) -> Ints:
        """Return as many rows: additions to one go to it and those after, or before."""
        duals = [self._dual[number] if number >= 0 else 0 for number in rows.tolist()]
        partial_sums = list(accumulate(duals if back else reversed(duals)))
        partial_sums = partial_sums if back else partial_sums[::-1]
        return np.array([self._number(dual) if dual else -1 for dual in partial_sums], np.int64)

    def _number(self, dual: int) -> int:
        self._dual.append(dual)
        return len(self._dual) - 1

    def add(self, rows: Ints, quantities: Ints, factor: int | Ints = 1) -> None:
        """Add quantities to rows, one by one, each so many times; -1 is none."""
        some = (rows >= 0) & (quantities >= 0)
        if not some.any():
            return
        # Not ``broadcast_arrays``, which takes ten times as long of small arrays.
        if rows.shape != some.shape:
            rows = np.broadcast_to(rows, some.shape)
        if quantities.shape != some.shape:
            quantities = np.broadcast_to(quantities, some.shape)
        rows, quantities = rows[some], quantities[some]
        factors = factor[some] if isinstance(factor, np.ndarray) else np.full(rows.size, factor)
        self._entries.append((rows, quantities, factors))

    def least(self) -> int:
        """Return the least value of the rest.

        Raises
        ------
        InputError
            The dual values leave a cost below any bound, or are of rows that there are not.
        """
        if len(self._known) < len(self.duals):
            unknown = self.duals.keys() - self._known
            raise InputError(f"{self.name}: no row is called {min(map(str, unknown))}")
        cost = self._costs()
        total, most, least = self.total, self._most, self._least
        for number in np.flatnonzero(cost < 0).tolist():
            upper = most[number]
            if upper is None:
                raise InputError(f"{self.name}: dual values of the time of a step are too high")
            total += int(cost[number]) * upper
        return total + sum(
            int(cost[number]) * least[number]
            for number in np.flatnonzero(cost > 0).tolist()
            if least[number]
        )

    def _costs(self) -> Ints:
        """Return the final cost of each quantity, of 64 bits or as Python's integers."""
        single = np.array(self._single, np.int64).reshape(-1, 3).T
        parts = [*self._entries, (single[0], single[1], single[2])]
        rows, quantities, factor = (np.concatenate(each) for each in zip(*parts, strict=True))
        kind: type = object
        if max(map(abs, self._dual), default=0) < _EXACT:
            size = np.abs(np.array(self._dual, np.float64))[rows] * np.abs(factor)
            kind = np.int64 if np.bincount(quantities, size).max(initial=0) < _EXACT else object
        cost: Ints = np.zeros(len(self._most), kind)
        np.subtract.at(cost, quantities, np.array(self._dual, kind)[rows] * factor.astype(kind))
        return cost


def minus(terms: Terms) -> Terms:
    """Return the terms, each the other way round."""
    return times(-1, terms)


def times(factor: int, terms: Terms) -> Terms:
    """Return the terms, each so many times."""
    return [(quantity, factor * each) for quantity, each in terms]
