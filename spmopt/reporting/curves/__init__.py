"""What there is to see of a sweep, as pure data: lines, and bands that hold the optimum."""

from spmopt.reporting.curves.curves import Curves, curves_of, curves_record
from spmopt.reporting.curves.layout import LISTED
from spmopt.reporting.curves.views import Band, Line, Panel, View

__all__ = ["LISTED", "Band", "Curves", "Line", "Panel", "View", "curves_of", "curves_record"]
