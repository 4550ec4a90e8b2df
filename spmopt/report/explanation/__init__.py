"""Explanations of stalls as text, JSON and CSV."""

from spmopt.report.explanation.record import csv_text, explanation_record
from spmopt.report.explanation.sheet import explanation_lines

__all__ = ["csv_text", "explanation_lines", "explanation_record"]
