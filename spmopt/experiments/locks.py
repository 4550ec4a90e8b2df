"""Locks between processes: of a file that several append to, and of one that says who is alive.

A lock ends with its process, however that happens, on network file systems too. Where the file
system has none, a store is for one process at a time, as without them.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

if sys.platform != "win32":
    from fcntl import LOCK_EX, LOCK_NB, flock


@contextmanager
def locked(path: Path) -> Iterator[BinaryIO]:
    """Open a file to read and append, for this process alone; made if there is none."""
    while True:
        file = path.open("a+b")
        lock(file)
        if _is_current(file, path):
            break
        file.close()  # it was replaced before the lock was had
    with file:
        yield file


def lock(file: BinaryIO, *, wait: bool = True) -> bool:
    """Lock an open file until it is closed; give whether nobody else has it."""
    if sys.platform != "win32":
        try:
            flock(file, LOCK_EX if wait else LOCK_EX | LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks
            return wait
    return True


def _is_current(file: BinaryIO, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.fstat(file.fileno()).st_ino == path.stat().st_ino
    return False


def own_name() -> str:
    """Name this process by host and number."""
    return f"{platform.node() or 'host'}-{os.getpid()}"
