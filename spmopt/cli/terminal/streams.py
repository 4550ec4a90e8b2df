"""The streams of the process, which may be closed, full, or without a reader."""

from __future__ import annotations

import os
import sys
from codecs import backslashreplace_errors, register_error
from contextlib import suppress
from io import TextIOWrapper
from typing import TextIO

_SPELLED = "spmopt-spelled"
_ASCII = {
    **dict(zip("▁▂▃▄▅▆▇█", ".:-=+*#@", strict=True)),
    **{"─": "-", "━": "-", "µ": "u", "≥": ">=", "≤": "<=", "…": "..."},
}
"""Substitutes for characters that the encoding of the terminal lacks."""


def replace_closed() -> None:
    """Replace a closed stdout or stderr, whose number the next file would take."""
    for name in ("stdout", "stderr"):
        # Python sets them to None if the descriptor is closed; the next file would take its number.
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))


def spell_out() -> None:
    """Have characters that the encoding of a stream lacks replaced by others, or by escapes."""
    register_error(_SPELLED, _spell)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            with suppress(OSError):  # its target was replaced by a pipe
                stream.reconfigure(errors=_SPELLED)


def _spell(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    known = _ASCII.get(error.object[error.start])
    if known is not None:
        return known, error.start + 1
    escaped, _ = backslashreplace_errors(
        UnicodeEncodeError(error.encoding, error.object, error.start, error.start + 1, error.reason)
    )
    return escaped, error.start + 1


def discard(stream: TextIO) -> None:
    """Redirect ``stream`` to nothing, so that its buffer cannot fail at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def escape(text: str) -> str:
    """Escape characters that are not printable, see :func:`spmopt.reporting.tables.visible`."""
    from spmopt.reporting.tables import visible

    return "\n".join(map(visible, text.split("\n")))


def complain(text: str) -> None:
    """Print to stderr, if that can be: no message is worth the result."""
    try:
        print(escape(text), file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)
