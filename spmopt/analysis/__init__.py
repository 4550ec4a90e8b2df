"""Analyses of a schedule: its time, its bytes, its stalls (Tsai 2021, chapters 3 to 5)."""

from spmopt.analysis.analysis import Analysis
from spmopt.analysis.breakdown import Breakdown
from spmopt.analysis.stalls import Cause
from spmopt.analysis.tensors import Columns

__all__ = ["Analysis", "Breakdown", "Cause", "Columns"]
