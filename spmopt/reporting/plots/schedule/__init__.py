"""Pictures of a schedule: axes are given, or belong to a figure of their own."""

from spmopt.reporting.plots.schedule.addresses import plot_map
from spmopt.reporting.plots.schedule.boxes import Boxes
from spmopt.reporting.plots.schedule.lanes import plot_lanes
from spmopt.reporting.plots.schedule.lead import plot_lead
from spmopt.reporting.plots.schedule.occupancy import plot_occupancy
from spmopt.reporting.plots.schedule.price import plot_price
from spmopt.reporting.plots.schedule.roofline import plot_roofline
from spmopt.reporting.plots.schedule.save import PICTURES, save_picture

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
