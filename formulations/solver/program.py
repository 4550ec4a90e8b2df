"""A linear or mixed-integer program as arrays, and what a solver found of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spmopt.core.table import Bools, Ints

Floats = NDArray[np.float64]


class Ending(StrEnum):
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
    """Minimise ``cost @ x + offset``, ``row_lower <= A x <= row_upper``, ``lower <= x <= upper``.

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
class Answer:
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
    nodes, iterations
        Nodes of the search tree; simplex, interior-point and first-order iterations.
    solver
        Name and version, for a bound's ``proved_by``.
    """

    ending: Ending
    objective: float | None
    bound: float
    feasible: bool
    primal: Floats | None
    column_dual: Floats | None
    row_dual: Floats | None
    nodes: int
    iterations: int
    seconds: float
    solver: str


def compressed(line: Ints, index: Ints, value: ArrayLike, lines: int, *, by_rows: bool) -> Matrix:
    """Compress triplets: entry ``k`` stands in ``line[k]`` at ``index[k]``.

    No (line, index) may occur twice. ``lines`` is the number of columns, or rows with
    ``by_rows``.
    """
    order = np.argsort(line, kind="stable")
    start = np.zeros(lines + 1, np.int64)
    np.cumsum(np.bincount(line, minlength=lines), out=start[1:])
    values = np.broadcast_to(np.asarray(value, np.float64), line.shape)
    return Matrix(start=start, index=index[order], value=values[order], by_rows=by_rows)
