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
    _replace_closed_streams()
    from spmopt.cli.app import app

    try:
        code = int(app(arguments, prog_name="spmopt", standalone_mode=False) or 0)
        sys.stdout.flush()
    except SystemExit as error:
        # Typer's help is printed by rich, which leaves this way once nobody reads it.
        return _explain(error.__context__ or error)
    except (Exception, KeyboardInterrupt) as error:
        return _explain(error)
    return code


def _replace_closed_streams() -> None:
    """Whoever closed stdout or stderr wants nothing from it, least of all in the next file."""
    import os

    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))


def _explain(error: BaseException) -> Code:
    """Print one line on what went wrong."""
    import traceback

    from typer import Abort, BadParameter

    from spmopt.core.errors import InfeasibleError, InputError, ScheduleError

    message = str(error)
    match error:
        case BrokenPipeError():
            _discard_output()
            return Code.BROKEN_PIPE
        case OSError(filename=None) if error.errno is not None:  # files have names
            _discard_output()
            message, code = f"the output cannot be written ({error.strerror})", Code.BAD_INPUT
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


def _discard_output() -> None:
    """Nothing more can be written to stdout, not even what is in its buffer, at the end."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage(error: Any) -> str:
    """What typer says; the class is of click, or of typer's own copy of it."""
    return str(error.format_message())
