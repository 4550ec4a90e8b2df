"""Charts of a sweep as plain data: lines, and bands that hold the optimum."""

from spmopt.reporting.curves.curves import Curves, curves_of, curves_tables
from spmopt.reporting.curves.layout import FUSED, LISTED, Band, Chart, Panel, Series

__all__ = [
    "FUSED",
    "LISTED",
    "Band",
    "Chart",
    "Curves",
    "Panel",
    "Series",
    "curves_of",
    "curves_tables",
]
