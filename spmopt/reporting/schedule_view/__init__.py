"""Views of a schedule as plain data: nothing is drawn here."""

from spmopt.reporting.schedule_view.record import schedule_record
from spmopt.reporting.schedule_view.times import TIMINGS
from spmopt.reporting.schedule_view.view import ScheduleView

__all__ = ["TIMINGS", "ScheduleView", "schedule_record"]
