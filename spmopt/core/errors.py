"""Errors that a user can act on: one line each, no traceback at the command line."""


class SpmoptError(Exception):
    """Base of every error the program raises on purpose."""


class InputError(SpmoptError):
    """Input that cannot be used: says what is wrong, where, and what to do."""


class InfeasibleError(SpmoptError):
    """No legal schedule exists (proved, never a time-out)."""


class ScheduleError(SpmoptError):
    """A schedule broke a rule, or its claimed figures are not the recomputed ones."""
