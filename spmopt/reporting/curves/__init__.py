"""Charts of a sweep as plain data: lines, and bands that hold the optimum."""

from spmopt.reporting.curves.curves import Curves, curves_of, curves_tables
from spmopt.reporting.curves.layout import LISTED, Band, Chart, Panel, Series

__all__ = ["LISTED", "Band", "Chart", "Curves", "Panel", "Series", "curves_of", "curves_tables"]
