"""Two schedules of one instance: what they have different."""

from spmopt.report.contrast.record import contrast_record

__all__ = ["contrast_record"]
