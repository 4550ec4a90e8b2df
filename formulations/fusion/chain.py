"""Dual values at boundaries of one fusion plan: one program of all of its fused groups, in a row.

Programs of neighbors are coupled where they meet: the bytes that the one leaves on chip, the other
finds. The dual values of these rows are the best that boundaries can have for this fusion plan, all
at once; cutting planes would take hundreds of rounds to get there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from formulations.fusion.boundary_duals import PricedFusedGroup
from formulations.fusion.fused_group import OPTIONS
from formulations.solver.highs import solve
from formulations.solver.program import Floats, Matrix, Program, SolverStatus
from spmopt.core.table import Ints


def chain_duals(
    priced: Sequence[PricedFusedGroup], count: int
) -> tuple[Floats | None, float, float]:
    """Return dual values (count,) in objective units a byte, the cost of all, and counted seconds.

    None, and infinite, where the solver finds none. Boundaries between no two of the fused groups
    have the dual value 0.

    Parameters
    ----------
    priced
        The programs of fused groups in the order of a fusion plan.
    """
    number = np.concatenate([each.number for each in priced])
    coupled, row = np.unique(number, return_inverse=True)
    if not coupled.size:
        return None, np.inf, 0.0
    program = _in_a_row(priced, row, coupled.size)
    answer = solve(program, options=OPTIONS, brief=True)
    if answer.status is not SolverStatus.OPTIMAL or answer.row_dual is None:
        return None, np.inf, answer.work_s
    duals, built = np.zeros(count), priced[0].program
    # What a row takes from the objective for a byte, the byte's dual value gives back.
    duals[coupled] = -answer.row_dual[-coupled.size :] * built.dual
    return duals, built.value(answer), answer.work_s


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
