"""Pictures of a schedule: axes are given, or belong to a figure of their own."""

from spmopt.reporting.plots.schedule.addresses import Boxes, plot_map
from spmopt.reporting.plots.schedule.over_time import plot_lanes, plot_occupancy
from spmopt.reporting.plots.schedule.save import PICTURES, figure_of, save_picture

__all__ = [
    "PICTURES",
    "Boxes",
    "figure_of",
    "plot_lanes",
    "plot_map",
    "plot_occupancy",
    "save_picture",
]
