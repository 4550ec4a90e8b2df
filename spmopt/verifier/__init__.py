"""The verifier: a schedule's rules, its replay and its bound, without scheduler or solver."""

from spmopt.verifier.arrays import ScheduleArrays
from spmopt.verifier.bound import bound
from spmopt.verifier.check import Report, require_legal, verify
from spmopt.verifier.descriptors import descriptors
from spmopt.verifier.replay import Replay, replay
from spmopt.verifier.violation import Violation

__all__ = [
    "Replay",
    "Report",
    "ScheduleArrays",
    "Violation",
    "bound",
    "descriptors",
    "replay",
    "require_legal",
    "verify",
]
