"""The command line; :func:`main` turns every error into one line and an exit code."""

from __future__ import annotations

import gc
import sys

from spmopt.cli.codes import Code, print_version

__all__ = ["Code", "main"]
_OBJECTS = 100_000
"""Objects between two searches for garbage: those of large networks are many, and none is."""


def main(arguments: list[str] | None = None) -> int:
    """Run the program with ``arguments`` (default: those of the process); give its exit code."""
    from spmopt.cli.former import replace_former
    from spmopt.cli.terminal.interrupt import Interrupted, leaving
    from spmopt.cli.terminal.streams import replace_closed, spell_out
    from spmopt.experiments.interrupts import ignore_endings

    words, notes = replace_former(sys.argv[1:] if arguments is None else arguments)
    # Problems are acyclic and live to the end: frequent collections find nothing.
    gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])
    replace_closed()
    spell_out()
    with leaving() as pressed:
        try:
            code = _run(words, notes)
        except BaseException as error:
            ignore_endings()
            # A library may have made an error of its own of it.
            is_interrupt = pressed() or isinstance(error, Interrupted)
            code = _report_interrupt(words, error) if is_interrupt else _explain(error)
    if arguments is None:
        ignore_endings()
        _end(code)
    return code


def _run(words: list[str], notes: list[str]) -> int:
    if words in (["--version"], ["-V"]):
        # To import the parser for this took a quarter of a second.
        print_version()
        sys.stdout.flush()
        return Code.OK
    from spmopt.cli.app import application
    from spmopt.cli.terminal.output import print_message, silence

    app = application(words)
    command, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
    printing = bound.arguments.get("printing")
    with silence(printing is not None and printing.quiet):
        for note in notes:
            print_message(note)
        code = int(command(*bound.args, **bound.kwargs) or 0)
    sys.stdout.flush()
    return code


def _report_interrupt(words: list[str], error: BaseException) -> Code:
    """Print one line: interrupted without a result, or the loss that ``error`` reports."""
    from spmopt.cli.terminal.interrupt import Interrupted
    from spmopt.cli.terminal.streams import complain

    schedules = words[:1] in (["solve"], ["compare"], ["ablate"])
    nothing = "interrupted before any schedule was found" if schedules else "interrupted"
    complain((isinstance(error, Interrupted) and str(error)) or nothing)
    return Code.INTERRUPTED


def _end(code: int) -> None:
    """Do not wait for a solver that would not stop, nor end Python beneath it."""
    import os
    import threading

    if threading.active_count() > 1:
        sys.stdout.flush()
        # Solver threads of libraries cannot be ended; Python would wait for them at exit.
        os._exit(code)


def _explain(error: BaseException) -> Code:
    """Print the error in one line, and lines to paste that mend it."""
    import traceback

    from cyclopts import CycloptsError

    from spmopt.cli.terminal.streams import complain, discard
    from spmopt.core.errors import (
        ArgumentError,
        ContradictionError,
        InfeasibleError,
        InputError,
        ScheduleError,
    )
    from spmopt.core.validation import describe, shorten

    message = str(error)
    match error:
        case BrokenPipeError():
            discard(sys.stdout)
            return Code.BROKEN_PIPE
        # An error of a stream, as a full disk behind a pipe: the shell opened it, not this program.
        case OSError(filename=None) if error.errno is not None:  # files have names
            discard(sys.stdout)
            message, code = f"the output cannot be written ({error.strerror})", Code.BAD_INPUT
        case CycloptsError():
            from spmopt.cli.usage import usage

            message, code = usage(error), Code.BAD_INPUT
        case ArgumentError():
            from spmopt.cli.options import flag

            message, code = f"{flag(error.parameter)}{error.problem}", Code.BAD_INPUT
        case InputError():
            code = Code.BAD_INPUT
        case InfeasibleError():
            code = Code.INFEASIBLE
        case ScheduleError() if not isinstance(error, ContradictionError):
            code = Code.NOT_VERIFIED
        case KeyboardInterrupt():
            message, code = "interrupted", Code.INTERRUPTED
        case _ if (told := describe(error)) is not None:
            message, code = told, Code.BAD_INPUT
        case _:
            # Anything else is a fault of the program; the report needs the trace.
            complain("".join(traceback.format_exception(error)).rstrip())
            message, code = "this is an error of the program, please report it", Code.INTERNAL
    complain("error: " + shorten(" ".join(message.split())))
    for row in _more(error):
        complain(shorten(f"  {row}"))
    return code


def _more(error: BaseException) -> list[str]:
    """Return the lines below the error."""
    from spmopt.core.errors import MissingRuleError

    return error.paste.splitlines() if isinstance(error, MissingRuleError) else []
