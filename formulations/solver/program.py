"""A linear or mixed-integer program as arrays, how to build one, and the result of a solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spmopt.core.table import Bools, Ints

Floats = NDArray[np.float64]
_Figures = Floats | float
"""One of each, or one of all."""


class SolverStatus(StrEnum):
    """Why a solver stopped."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    TIME_LIMIT = "time limit"
    INTERRUPTED = "interrupted"
    OTHER = "other"


@dataclass(frozen=True, kw_only=True, eq=False)
class Matrix:
    """A compressed sparse matrix: the entries of line ``k`` are ``start[k]:start[k + 1]``.

    Lines are columns, or rows with ``by_rows``.
    """

    start: Ints
    index: Ints
    value: Floats
    by_rows: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Program:
    """Minimize ``cost @ x + offset``, ``row_lower <= A x <= row_upper``, ``lower <= x <= upper``.

    Attributes
    ----------
    cost, lower, upper : (n,)
    row_lower, row_upper : (m,)
        Infinite where a side is absent.
    matrix
        ``A``, m rows and n columns.
    integer : (n,) bool or None
        Columns that must be integers; None for a linear program.
    """

    cost: Floats
    lower: Floats
    upper: Floats
    row_lower: Floats
    row_upper: Floats
    matrix: Matrix
    integer: Bools | None = None
    offset: float = 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class SolverResult:
    """Result of a solver; also when it did not finish.

    Attributes
    ----------
    objective
        Of ``primal``; None without a primal solution.
    bound
        Lower bound of the optimum as the solver claims it: the dual bound of an integer
        program, the objective of a linear one solved to optimality, else minus infinity.
    feasible
        ``primal`` meets the constraints within the solver's tolerance.
    primal, column_dual : (n,) or None
    row_dual : (m,) or None
    solver
        Name and version, for a bound's ``proved_by``.
    work_s
        Seconds that its iterations take on an idle machine, about; the same on every machine.
    """

    status: SolverStatus
    solver: str
    objective: float | None = None
    bound: float = -np.inf
    feasible: bool = False
    primal: Floats | None = None
    column_dual: Floats | None = None
    row_dual: Floats | None = None
    work_s: float = 0.0


class ProgramBuilder:
    """Collects columns, rows and entries of a program, block by block.

    The one way in which the formulations build programs. Columns and rows are numbered in the
    order in which they come. Where only some members of a set have a column (or row), ``where``
    marks them, and the others get the number -1: entries at -1 are left out.
    """

    def __init__(self) -> None:
        self._columns: list[tuple[int, Sequence[_Figures]]] = []
        self._rows: list[tuple[int, Sequence[_Figures]]] = []
        self._entries: list[tuple[Ints, Ints, tuple[int, _Figures]]] = []
        self.column_count = self.row_count = 0

    def columns(
        self,
        where: Bools | int,
        *,
        cost: ArrayLike = 0.0,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = np.inf,
        integer: ArrayLike = False,
    ) -> Ints:
        """Add a column for each true element of ``where``, or so many.

        Parameters
        ----------
        where
            Of any shape, as the result; a number for an array of so many.
        cost, lower, upper, integer
            One for all, or an array like ``where``.

        Returns
        -------
        ndarray
            Numbers of the columns, -1 where there is none.
        """
        numbers, count = _number(where, self.column_count)
        self.column_count += count
        self._columns.append((count, [_spread(x, where) for x in (cost, lower, upper, integer)]))
        return numbers

    def rows(
        self, where: Bools | int, lower: ArrayLike = -np.inf, upper: ArrayLike = np.inf
    ) -> Ints:
        """Add a row for each true element of ``where``, or so many; their numbers, or -1."""
        numbers, count = _number(where, self.row_count)
        self.row_count += count
        self._rows.append((count, [_spread(x, where) for x in (lower, upper)]))
        return numbers

    def add(self, row: Ints, column: Ints, value: ArrayLike) -> None:
        """Add entries, element by element; no (row, column) may occur twice.

        Those in a row or column of -1, and those that are 0, are left out.
        """
        some = (row >= 0) & (column >= 0)
        values: Floats | None = None
        if not isinstance(value, float | int):
            values = np.asarray(value, np.float64)
            some = some & (values != 0)
        elif not value:
            return
        # Not ``broadcast_to``, which takes five times as long of small arrays.
        if row.shape != some.shape:
            row = row * some
        if column.shape != some.shape:
            column = column * some
        row, figures = row[some], value if values is None else (values * some)[some]
        self._entries.append((row, column[some], (row.size, figures)))

    def program(self, *, by_rows: bool = False, offset: float = 0.0) -> Program:
        """Return the program, its matrix by columns or ``by_rows``."""
        cost, lower, upper, integer = _join(self.column_count, 4, self._columns)
        row_lower, row_upper = _join(self.row_count, 2, self._rows)
        row, column = (np.concatenate([each[place] for each in self._entries]) for place in (0, 1))
        (value,) = _join(row.size, 1, [(count, [one]) for _, _, (count, one) in self._entries])
        line, index = (row, column) if by_rows else (column, row)
        lines = self.row_count if by_rows else self.column_count
        order = np.argsort(line, kind="stable")
        start = np.concatenate(([0], np.cumsum(np.bincount(line, minlength=lines))))
        return Program(
            cost=cost,
            lower=lower,
            upper=upper,
            row_lower=row_lower,
            row_upper=row_upper,
            matrix=Matrix(start=start, index=index[order], value=value[order], by_rows=by_rows),
            integer=integer.astype(bool) if integer.any() else None,
            offset=offset,
        )


def _spread(values: ArrayLike, where: Bools | int) -> _Figures:
    """Return figures by key, or the one of all."""
    if isinstance(values, float | int):
        return values
    there = np.ones(where, bool) if isinstance(where, int) else where
    array = np.asarray(values, np.float64)
    if array.shape != there.shape:
        array = np.broadcast_to(array, there.shape)
    result: Floats = array[there]
    return result


def _join(count: int, kinds: int, blocks: list[tuple[int, Sequence[_Figures]]]) -> list[Floats]:
    """Return figures of all blocks, each of so many; of each kind one after the other."""
    found, at = [np.empty(count) for _ in range(kinds)], 0
    for size, figures in blocks:
        for each, figure in zip(found, figures, strict=True):
            each[at : at + size] = figure
        at += size
    return found


def _number(where: Bools | int, first: int) -> tuple[Ints, int]:
    """Return numbers from ``first`` on where there is something, else -1; and how many."""
    if isinstance(where, int):
        return np.arange(first, first + where), where
    flat = where.ravel()
    numbers = np.full(flat.size, -1)
    places = np.flatnonzero(flat)
    numbers[places] = np.arange(first, first + places.size)
    return numbers.reshape(where.shape), int(places.size)
