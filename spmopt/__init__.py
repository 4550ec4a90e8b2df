"""Optimal, verified schedules for software-managed scratchpad memories."""

__version__ = "0.1.0"
