"""Dual values at boundaries of one fusion plan: one program of all of its fused groups, in a row.

Programs of neighbors are coupled where they meet: the bytes that the one leaves on chip, the other
finds. The dual values of these rows are the best that boundaries can have for this fusion plan, all
at once; cutting planes would take hundreds of rounds to get there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from formulations.fusion.boundary_duals import PricedFusedGroup
from formulations.fusion.fused_group import OPTIONS
from formulations.fusion.rows import Shares
from formulations.solver.highs import solve
from formulations.solver.program import Floats, Matrix, Program, SolverStatus
from spmopt.core.table import Ints

_SHARE = 0.3
"""Of the counted time of a program of as many entries: one of blocks in a row takes less."""


class Chain(NamedTuple):
    """Fused groups in a row.

    Attributes
    ----------
    duals
        (count,) in objective units a byte; None where the solver finds none. Boundaries between no
        two of the fused groups have the dual value 0.
    least
        The cost of all; infinite where there are no duals.
    mappings
        By operation with several: those that its fusion tiles run.
    work_s
        Counted seconds.
    """

    duals: Floats | None = None
    least: float = np.inf
    mappings: tuple[tuple[int, Shares], ...] = ()
    work_s: float = 0.0


def chain(priced: Sequence[PricedFusedGroup], count: int) -> Chain:
    """Solve the programs of fused groups in a row as one.

    Parameters
    ----------
    priced
        The programs of fused groups in the order of a fusion plan.
    """
    number = np.concatenate([each.number for each in priced])
    coupled, row = np.unique(number, return_inverse=True)
    program = _in_a_row(priced, row, coupled.size)
    answer = solve(program, options=OPTIONS, brief=True)
    if answer.status is not SolverStatus.OPTIMAL or answer.row_dual is None:
        return Chain(work_s=_SHARE * answer.work_s)
    duals, built = np.zeros(count), priced[0].program
    # What a row takes from the objective for a byte, the byte's dual value gives back.
    # A plan of one group has none.
    duals[coupled] = -answer.row_dual[answer.row_dual.size - coupled.size :] * built.dual
    assert answer.primal is not None
    first, mappings = 0, dict[int, Shares]()
    for each in priced:
        last = first + each.plain.cost.size
        mappings |= each.program.run(answer.primal[first:last])
        first = last
    return Chain(duals, built.value(answer), tuple(mappings.items()), _SHARE * answer.work_s)


def _in_a_row(priced: Sequence[PricedFusedGroup], row: Ints, count: int) -> Program:
    """Return one program of several, and ``count`` rows by which they pay each other nothing."""
    programs = [each.plain for each in priced]
    columns = np.cumsum([0, *(each.cost.size for each in programs)])
    rows = np.cumsum([0, *(each.row_lower.size for each in programs)])
    carried = [each.columns + at for each, at in zip(priced, columns.tolist(), strict=False)]
    entries = [np.diff(each.matrix.start) for each in programs]
    column = np.repeat(np.arange(columns[-1]), np.concatenate(entries))
    inside = [each.matrix.index + at for each, at in zip(programs, rows.tolist(), strict=False)]
    # By columns: the rows of boundaries come after all others.
    every = np.concatenate((column, *carried))
    order = np.argsort(every, kind="stable")
    none = np.zeros(count)
    return Program(
        cost=np.concatenate([each.cost for each in programs]),
        lower=np.concatenate([each.lower for each in programs]),
        upper=np.concatenate([each.upper for each in programs]),
        row_lower=np.concatenate([*(each.row_lower for each in programs), none]),
        row_upper=np.concatenate([*(each.row_upper for each in programs), none]),
        matrix=Matrix(
            start=np.concatenate(([0], np.cumsum(np.bincount(every, minlength=columns[-1])))),
            index=np.concatenate((*inside, rows[-1] + row))[order],
            value=np.concatenate(
                (*(each.matrix.value for each in programs), *(each.sign for each in priced))
            )[order],
        ),
        offset=sum(each.offset for each in programs),
    )
