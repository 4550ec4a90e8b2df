"""Solve a problem: schedulers run, the verifier checks, one bound holds for each order."""

from spmopt.solving.params import SolveParams
from spmopt.solving.solver import compare, compare_fused, compare_on, solve, solve_by_default

__all__ = ["SolveParams", "compare", "compare_fused", "compare_on", "solve", "solve_by_default"]
