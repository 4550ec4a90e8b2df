"""Rows of a program, collected block by block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.residency.whole.columns import Columns
from formulations.solver.program import Floats
from spmopt.core.table import Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """Rows ``lower <= A x <= upper`` (m,), the entries of ``A`` as (row, column, value)."""

    row: Ints
    column: Ints
    value: Floats
    lower: Floats
    upper: Floats


def pairs(
    one: Ints, other: Ints, weights: tuple[float, float], lower: float, upper: float
) -> Block:
    """Rows ``lower <= weights[0] x_one + weights[1] x_other <= upper``."""
    row = np.arange(one.size, dtype=np.int64)
    return Block(
        row=np.concatenate((row, row)),
        column=np.concatenate((one, other)),
        value=np.repeat(np.array(weights, np.float64), one.size),
        lower=np.full(one.size, lower),
        upper=np.full(one.size, upper),
    )


def linked(columns: Columns) -> Block:
    """(W1) A kept tensor is resident at both ends of the gap."""
    gap = np.flatnonzero(columns.kept >= 0)
    kept = np.concatenate((columns.kept[gap], columns.kept[gap]))
    resident = np.concatenate((columns.resident[gap], columns.resident[gap - 1]))
    real = (resident >= 0) & (resident != kept)
    return pairs(kept[real], resident[real], (1, -1), -np.inf, 0)


def stacked(blocks: list[Block]) -> Block:
    """Blocks below each other."""
    first = np.cumsum([0, *(block.lower.size for block in blocks)])
    return Block(
        row=np.concatenate([block.row + first[k] for k, block in enumerate(blocks)]),
        column=np.concatenate([block.column for block in blocks]),
        value=np.concatenate([block.value for block in blocks]),
        lower=np.concatenate([block.lower for block in blocks]),
        upper=np.concatenate([block.upper for block in blocks]),
    )
