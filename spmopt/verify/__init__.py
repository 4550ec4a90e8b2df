"""The verifier: a schedule's rules, its replay and its bound, without scheduler or solver."""

from spmopt.verify.bound import bound
from spmopt.verify.check import Report, require_legal, verify
from spmopt.verify.descriptors import descriptors
from spmopt.verify.replay import Replay, replay
from spmopt.verify.view import View
from spmopt.verify.violation import Violation

__all__ = [
    "Replay",
    "Report",
    "View",
    "Violation",
    "bound",
    "descriptors",
    "replay",
    "require_legal",
    "verify",
]
