"""The command line; :func:`main` turns every error into one line and an exit code."""

from __future__ import annotations

import sys
from enum import IntEnum
from typing import Any


class Code(IntEnum):
    """Exit codes."""

    OK = 0
    NOT_VERIFIED = 1  # a schedule, or a claim about one, is wrong
    BAD_INPUT = 2
    INFEASIBLE = 3  # proved: no legal schedule exists
    NOTHING_FOUND = 4  # no schedule within the limits
    INTERNAL = 70  # an error of the program
    INTERRUPTED = 130
    BROKEN_PIPE = 141  # whoever read the output has left


def main(arguments: list[str] | None = None) -> int:
    """Run the program with ``arguments`` (default: those of the process); give its exit code."""
    from spmopt.cli.app import app

    try:
        code = int(app(arguments, prog_name="spmopt", standalone_mode=False) or 0)
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:
        return _explain(error)
    return code


def _explain(error: BaseException) -> Code:
    """Print one line on what went wrong."""
    import os
    import traceback

    from typer import Abort, BadParameter

    from spmopt.core.errors import InfeasibleError, InputError, ScheduleError

    message = str(error)
    match error:
        case BrokenPipeError():
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return Code.BROKEN_PIPE
        case _ if isinstance(error, BadParameter.__bases__):  # any error of usage
            message, code = _usage(error), Code.BAD_INPUT
        case InputError():
            code = Code.BAD_INPUT
        case InfeasibleError():
            code = Code.INFEASIBLE
        case ScheduleError():
            code = Code.NOT_VERIFIED
        case KeyboardInterrupt() | Abort():
            message, code = "interrupted", Code.INTERRUPTED
        case _:
            traceback.print_exception(error)
            message, code = "this is an error of the program, please report it", Code.INTERNAL
    print("error:", " ".join(message.split()), file=sys.stderr)
    return code


def _usage(error: Any) -> str:
    """What typer says; the class is of click, or of typer's own copy of it."""
    return str(error.format_message())
