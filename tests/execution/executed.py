"""Programs executed with hash kernels, beside plain execution."""

from __future__ import annotations

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.fusion.fused_groups import FusionPlan
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.result import Totals
from spmopt.core.table import Ints
from spmopt.execution.commands import Program
from spmopt.execution.comparison import Comparison, compare, plain_order
from spmopt.execution.computations import by_graph
from spmopt.execution.executor import execute, execute_plainly
from spmopt.execution.graph_kernel import GraphKernel
from spmopt.execution.hashing import hash_kernel, random_contents
from tests.execution.slopes import ran


def executed(program: Program, operation: Ints, totals: Totals | None = None) -> Comparison:
    """What comes of a program, perhaps with errors, of a schedule that runs ``operation``."""
    problem = program.problem
    kernel, contents = hash_kernel(problem), random_contents(problem, 0)
    expected = execute_plainly(problem, plain_order(problem, operation), contents, kernel)
    return compare(program, execute(program, contents, kernel), expected, totals=totals)


def check_parts(found: TileableGraph, fusion_plan: FusionPlan, data: str) -> None:
    """Compare all that is in memory at the end with what whole operations leave there."""
    problem, _ = found.problem(fusion_plan)
    try:
        wanted = by_graph(found, fusion_plan, problem, data, 1)
    except InputError as error:  # a limit of kernels, which run states in a line
        assert "no value shows along which axes" in str(error)  # noqa: PT017
        return
    assert isinstance(wanted.kernel, GraphKernel)
    made = ran(wanted.kernel, wanted.contents)
    for tensor, one, other, dtype in zip(
        problem.tensors, made.contents, wanted.expected.contents, wanted.kernel.dtypes, strict=True
    ):
        if not (one.size and other.size) or np.array_equal(one, other):
            continue
        assert data == "normal", tensor.name
        assert dtype is not None
        assert dtype.kind == "f", tensor.name
        np.testing.assert_allclose(
            one.view(dtype), other.view(dtype), 1e-6, 1e-9, err_msg=tensor.name
        )
