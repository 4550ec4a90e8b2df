"""The streams of the process, which may be closed, full, or read by nobody."""

from __future__ import annotations

import os
import sys
from typing import TextIO


def replace_closed() -> None:
    """Whoever closed stdout or stderr wants nothing from it, least of all in the next file."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))


def discard(stream: TextIO) -> None:
    """Nothing more can be written to ``stream``, not even what is in its buffer, at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def complain(text: str) -> None:
    """Print to stderr, if that can be: no message is worth the result."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)
