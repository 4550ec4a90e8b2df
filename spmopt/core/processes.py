"""Processes by name: machine, name space, number and start; and whether one of them has ended."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from functools import cache
from pathlib import Path

_DEAD = ("Z", "X")
"""States of processes that have ended and are not yet waited for."""


def own_name() -> str:
    """Name this process so that no other one, of any machine or time, has the same name."""
    return _with_name(os.getpid())


@cache
def _with_name(number: int) -> str:
    found = _stat(number)
    return f"{machine()}:{number}" + (f".{found[1]}" if found else "")


def machine() -> str:
    """Name this machine and name space: numbers of processes mean something within one only."""
    space = Path("/proc/self/ns/pid")
    return f"{platform.node()}:{space.readlink() if space.is_symlink() else ''}"


def number_here(name: str) -> int | None:
    """Return the number of a process, if it is one of this machine."""
    where, _, rest = name.rpartition(":")
    number = rest.partition(".")[0]
    known = where == machine() and number.isdecimal() and number.isascii() and len(number) < 10
    return int(number) if known else None


def has_ended(name: str) -> bool:
    """Return whether a process is known to have ended; one of another machine never is.

    Numbers are given out anew, so that one that began at another time is another process. One that
    nobody has waited for has ended all the same.
    """
    number = number_here(name)
    if number is None:
        return False
    try:
        # Signal 0 only asks whether the process exists.
        os.kill(number, 0)
    except ProcessLookupError:
        return True
    except OSError:  # it is another user's
        pass
    found, began = _stat(number), name.rpartition(":")[2].partition(".")[2]
    return found is not None and (found[0] in _DEAD or (began != "" and began != found[1]))


def _stat(number: int) -> tuple[str, str] | None:
    """Return the state of a process, and when it began; None where the system does not say."""
    with suppress(OSError, IndexError):
        # What is before the last bracket is its program's name, which may hold anything.
        fields = Path(f"/proc/{number}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return fields[0], fields[19]
    return None
