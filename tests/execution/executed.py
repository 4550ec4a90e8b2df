"""Programs executed with hash kernels, beside plain execution."""

from __future__ import annotations

from spmopt.core.result import Totals
from spmopt.core.table import Ints
from spmopt.execution.commands import Program
from spmopt.execution.comparison import Comparison, compare, plain_order
from spmopt.execution.executor import execute, execute_plainly
from spmopt.execution.hashing import hash_kernel, random_contents


def executed(program: Program, operation: Ints, totals: Totals | None = None) -> Comparison:
    """What comes of a program, perhaps with errors, of a schedule that runs ``operation``."""
    problem = program.problem
    kernel, contents = hash_kernel(problem), random_contents(problem, 0)
    expected = execute_plainly(problem, plain_order(problem, operation), contents, kernel)
    return compare(program, execute(program, contents, kernel), expected, totals=totals)
