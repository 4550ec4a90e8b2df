"""What there is to see of a search of machines, as pure data: trials, front, what matters."""

from spmopt.reporting.fronts.front import Axis, Front, Limit, Share, Trial, Worth
from spmopt.reporting.fronts.record import front_record

__all__ = ["Axis", "Front", "Limit", "Share", "Trial", "Worth", "front_record"]
