"""What there is to see of a sweep, as pure data: lines, and bands that hold the optimum."""

from spmopt.report.curves.curves import Curves, curves_of, curves_record
from spmopt.report.curves.layout import LISTED
from spmopt.report.curves.views import Band, Line, Panel, View

__all__ = ["LISTED", "Band", "Curves", "Line", "Panel", "View", "curves_of", "curves_record"]
