"""Analyses of a schedule: where bytes, time and reuse go (Tsai 2021, chapters 3 to 5)."""

from spmopt.analysis.analysis import Analysis
from spmopt.analysis.breakdown import Breakdown
from spmopt.analysis.reuse import Scope
from spmopt.analysis.scopes import ScopeFigures
from spmopt.analysis.stalls import Cause
from spmopt.analysis.tensors import TensorFigures
from spmopt.analysis.uses import UseFigures

__all__ = ["Analysis", "Breakdown", "Cause", "Scope", "ScopeFigures", "TensorFigures", "UseFigures"]
