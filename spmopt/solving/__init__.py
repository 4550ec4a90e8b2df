"""Solve a problem: schedulers run, the verifier checks, one bound holds for each order."""

from spmopt.solving.fused import compare_fused, compare_on
from spmopt.solving.params import SolveParams
from spmopt.solving.solver import compare, solve

__all__ = ["SolveParams", "compare", "compare_fused", "compare_on", "solve"]
