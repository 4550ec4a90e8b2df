"""The program on a terminal of its own: what it prints to whom, as it is."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Thread

AT_ONCE = (
    "-c",
    "import sys; from spmopt.cli import main; from spmopt.cli.terminal import progress;"
    "progress.DELAY_S = 0.0;"
    "sys.argv[0] = 'spmopt'; sys.exit(main())",
)
"""The program, without the second that goes by before anything moves."""
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_TALK = {"NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TTY_COMPATIBLE", "TTY_INTERACTIVE"}


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What came out: ``screen`` of the terminal, ``piped`` of stdout if that is a pipe."""

    code: int
    screen: str
    piped: str

    @property
    def text(self) -> str:
        """The screen without escapes."""
        return _ESCAPES.sub("", self.screen)


def on_terminal(
    *words: str,
    columns: int = 100,
    piped: bool = False,
    program: tuple[str, ...] = ("-m", "spmopt"),
    environ: Mapping[str, str] | None = None,
) -> Seen:
    """Run with a terminal for stderr, and for stdout too unless it is ``piped``."""
    environ = environ or {}
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in _TALK}
    process = subprocess.Popen(
        [sys.executable, *program, *words],
        stdin=other,
        stdout=subprocess.PIPE if piped else other,
        stderr=other,
        env={**kept, "TERM": "xterm-256color", **environ},
    )
    os.close(other)
    seen = bytearray()

    def read() -> None:
        try:
            while data := os.read(main, 65536):
                seen.extend(data)
        except OSError:  # the other side is closed
            return

    reader = Thread(target=read)
    reader.start()
    out = process.stdout.read() if process.stdout is not None else b""
    code = process.wait()
    reader.join()
    os.close(main)
    coding = environ.get("PYTHONIOENCODING", "utf-8")
    return Seen(code=code, screen=seen.decode(coding), piped=out.decode(coding))
