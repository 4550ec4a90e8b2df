"""Pictures of a schedule: axes are given, or belong to a figure of their own."""

from spmopt.reporting.plots.schedule.addresses import Boxes, plot_map
from spmopt.reporting.plots.schedule.over_time import (
    plot_dual,
    plot_gain,
    plot_lanes,
    plot_occupancy,
)
from spmopt.reporting.plots.schedule.roofline import plot_roofline
from spmopt.reporting.plots.schedule.save import PICTURES, save_picture

__all__ = [
    "PICTURES",
    "Boxes",
    "plot_dual",
    "plot_gain",
    "plot_lanes",
    "plot_map",
    "plot_occupancy",
    "plot_roofline",
    "save_picture",
]
