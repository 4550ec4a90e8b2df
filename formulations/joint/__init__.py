"""Order, residency, transfer times and addresses in one model; see README.md."""

from formulations.joint.schedule import FoundSchedule, JointSettings, ProvedBound, schedule, search

__all__ = ["FoundSchedule", "JointSettings", "ProvedBound", "schedule", "search"]
