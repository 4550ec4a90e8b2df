"""Programs are what their blocks of columns, rows and entries say."""

from __future__ import annotations

import numpy as np
import pytest

from formulations.solver.program import Floats, Program, ProgramBuilder
from tests.checked import need


def dense(program: Program) -> Floats:
    """(m, n) The matrix."""
    matrix = program.matrix
    table = np.zeros((program.row_lower.size, program.cost.size))
    line = np.repeat(np.arange(matrix.start.size - 1), np.diff(matrix.start))
    place = (line, matrix.index) if matrix.by_rows else (matrix.index, line)
    table[place] = matrix.value
    return table


@pytest.mark.parametrize("by_rows", [False, True])
def test_blocks(by_rows: bool) -> None:
    build = ProgramBuilder()
    there = np.array([[True, False], [True, True]])
    x = build.columns(there, cost=[[1, 9], [2, 3]], upper=[4.0, 5.0])
    y = build.columns(2, lower=-1.0, integer=True)
    assert x.tolist() == [[0, -1], [1, 2]]
    assert y.tolist() == [3, 4]
    row = build.rows(np.array([True, False, True]), 0.0, [6.0, 7.0, 8.0])
    assert row.tolist() == [0, -1, 1]
    build.add(row[:2, None], x.T, [[1.0, 2.0], [3.0, 4.0]])
    build.add(row, np.array([3, 4, 4]), [0.0, 5.0, -6.0])
    program = build.program(by_rows=by_rows, offset=2.5)
    assert dense(program).tolist() == [[1, 2, 0, 0, 0], [0, 0, 0, 0, -6]]
    assert program.cost.tolist() == [1, 2, 3, 0, 0]
    assert program.lower.tolist() == [0, 0, 0, -1, -1]
    assert program.upper.tolist() == [4, 4, 5, np.inf, np.inf]
    assert program.row_upper.tolist() == [6, 8]
    assert need(program.integer).tolist() == [False, False, False, True, True]
    assert program.offset == 2.5
    assert program.matrix.value.size == 3  # zeros and what has no row or column are left out


def test_a_linear_program_has_no_integers() -> None:
    build = ProgramBuilder()
    build.add(build.rows(1), build.columns(1), 1.0)
    assert build.program().integer is None
