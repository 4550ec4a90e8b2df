"""A linear or mixed-integer program as arrays, how to build one, and what a solver found of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spmopt.core.table import Bools, Ints

Floats = NDArray[np.float64]


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
    """What a solver returned; also when it did not finish.

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
    """

    status: SolverStatus
    solver: str
    objective: float | None = None
    bound: float = -np.inf
    feasible: bool = False
    primal: Floats | None = None
    column_dual: Floats | None = None
    row_dual: Floats | None = None


class ProgramBuilder:
    """Collects columns, rows and entries of a program, block by block.

    The one way in which the formulations build programs. Columns and rows are numbered in the
    order in which they come. Where only some members of a set have a column (or row), ``where``
    marks them, and the others get the number -1: entries at -1 are left out.
    """

    def __init__(self) -> None:
        self._columns: list[tuple[Floats, Floats, Floats, Bools]] = []
        self._rows: list[tuple[Floats, Floats]] = []
        self._entries: list[tuple[Ints, Ints, Floats]] = []
        self.column_count = self.row_count = 0

    def columns(
        self,
        where: Bools | int,
        *,
        cost: ArrayLike = 0.0,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = np.inf,
        integer: bool = False,
    ) -> Ints:
        """Add a column for each true element of ``where``, or so many.

        Parameters
        ----------
        where
            Of any shape, as the result; a number for an array of so many.
        cost, lower, upper
            One for all, or an array like ``where``.

        Returns
        -------
        ndarray
            Numbers of the columns, -1 where there is none.
        """
        there = np.ones(where, bool) if isinstance(where, int) else where
        numbers, self.column_count = _numbered(there, self.column_count)
        price, low, high = (_spread(x, there) for x in (cost, lower, upper))
        self._columns.append((price, low, high, np.full(price.size, integer)))
        return numbers

    def rows(
        self, where: Bools | int, lower: ArrayLike = -np.inf, upper: ArrayLike = np.inf
    ) -> Ints:
        """Add a row for each true element of ``where``, or so many; their numbers, or -1."""
        there = np.ones(where, bool) if isinstance(where, int) else where
        numbers, self.row_count = _numbered(there, self.row_count)
        self._rows.append((_spread(lower, there), _spread(upper, there)))
        return numbers

    def add(self, row: Ints, column: Ints, value: ArrayLike) -> None:
        """Add entries, element by element; no (row, column) may occur twice.

        Those in a row or column of -1, and those that are 0, are left out.
        """
        some = (row >= 0) & (column >= 0)
        if not isinstance(value, float | int):
            values = np.asarray(value, np.float64)
            some = some & (values != 0)
            values = np.broadcast_to(values, some.shape)[some]
        elif value:
            values = np.full(np.count_nonzero(some), float(value))
        else:
            return
        if row.shape != some.shape:
            row = np.broadcast_to(row, some.shape)
        if column.shape != some.shape:
            column = np.broadcast_to(column, some.shape)
        self._entries.append((row[some], column[some], values))

    def program(self, *, by_rows: bool = False, offset: float = 0.0) -> Program:
        """Return the program, its matrix by columns or ``by_rows``."""
        cost, lower, upper, integer = map(np.concatenate, zip(*self._columns, strict=True))
        row_lower, row_upper = map(np.concatenate, zip(*self._rows, strict=True))
        row, column, value = map(np.concatenate, zip(*self._entries, strict=True))
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
            integer=integer if integer.any() else None,
            offset=offset,
        )


def _spread(values: ArrayLike, there: Bools) -> Floats:
    if isinstance(values, float | int):
        return np.full(np.count_nonzero(there), float(values))
    result: Floats = np.broadcast_to(np.asarray(values, np.float64), there.shape)[there]
    return result


def _numbered(there: Bools, first: int) -> tuple[Ints, int]:
    """Return numbers from ``first`` on where ``there``, else -1; and the one after the last."""
    numbers = np.cumsum(there.ravel()).reshape(there.shape) - 1 + first
    return np.where(there, numbers, -1), first + int(there.sum())
