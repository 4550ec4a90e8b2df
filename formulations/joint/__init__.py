"""Order, residency, transfer times and addresses in one model; see README.md."""

from formulations.joint.schedule import schedule
from formulations.joint.search import Found, Proved, Settings, search

__all__ = ["Found", "Proved", "Settings", "schedule", "search"]
