"""What there is to see of a schedule, as pure data: nothing is drawn here."""

from spmopt.report.picture.picture import Picture
from spmopt.report.picture.record import picture_record
from spmopt.report.picture.times import TIMINGS

__all__ = ["TIMINGS", "Picture", "picture_record"]
