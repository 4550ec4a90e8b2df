"""Exit codes, and the version, which need no command."""

from __future__ import annotations

from enum import IntEnum


class Code(IntEnum):
    """Exit codes."""

    OK = 0
    NOT_VERIFIED = 1  # a schedule, or a claim about one, is wrong
    BAD_INPUT = 2
    INFEASIBLE = 3  # proved: no legal schedule exists
    NOTHING_FOUND = 4  # within the limits: no placement; or no schedule, and no bound
    INTERNAL = 70  # an error of the program
    INTERRUPTED = 130
    BROKEN_PIPE = 141  # the reader of the output has closed it


def print_version() -> None:
    """Print the version."""
    from spmopt import __version__

    print(f"spmopt {__version__}")
