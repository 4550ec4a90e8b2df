"""Solve a problem: schedulers run, the verifier checks, one bound holds for each order."""

from spmopt.solving.solver import compare, compare_fused, compare_on, solve, solve_by_default

__all__ = ["compare", "compare_fused", "compare_on", "solve", "solve_by_default"]
