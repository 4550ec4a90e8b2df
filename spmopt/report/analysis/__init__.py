"""An analysis as columns, as a JSON record, as CSV, and as lines for people."""

from spmopt.report.analysis.record import analysis_record, csv_text
from spmopt.report.analysis.sheet import analysis_parts, draw_analysis

__all__ = ["analysis_parts", "analysis_record", "csv_text", "draw_analysis"]
