"""Errors that a user can act on: one line each, no traceback at the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spmopt.core.infeasible import Conflict


class SpmoptError(Exception):
    """Base of every error the program raises on purpose."""


class InputError(SpmoptError):
    """Input that cannot be used: says what is wrong, where, and what to do."""


class InfeasibleError(SpmoptError):
    """No legal schedule exists (proved, never a time-out).

    ``conflict`` says why in figures; the error is its line.
    """

    def __init__(self, why: str | Conflict) -> None:
        super().__init__(str(why))
        self.conflict = None if isinstance(why, str) else why


class ScheduleError(SpmoptError):
    """A schedule broke a rule, or its claimed figures are not the recomputed ones."""
