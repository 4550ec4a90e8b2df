"""Pictures of a schedule: axes are given, or belong to a figure of their own."""

from spmopt.report.plots.schedule.addresses import plot_map
from spmopt.report.plots.schedule.boxes import Boxes
from spmopt.report.plots.schedule.lanes import plot_lanes
from spmopt.report.plots.schedule.lead import plot_lead
from spmopt.report.plots.schedule.occupancy import plot_occupancy
from spmopt.report.plots.schedule.price import plot_price
from spmopt.report.plots.schedule.roofline import plot_roofline
from spmopt.report.plots.schedule.save import PICTURES, save_picture

__all__ = [
    "PICTURES",
    "Boxes",
    "plot_lanes",
    "plot_lead",
    "plot_map",
    "plot_occupancy",
    "plot_price",
    "plot_roofline",
    "save_picture",
]
