"""Files of several processes: locked, added to in whole lines, and gone with who wrote them.

A lock ends with its process, however that happens, on network file systems too.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

if sys.platform != "win32":
    from fcntl import LOCK_EX, LOCK_NB, flock


def open_locked(path: Path, *, wait: bool) -> IO[Any]:
    """Open a file to read and append, for this process alone until it is closed; made if missing.

    Raises
    ------
    BlockingIOError
        Another process has it, and is not to be waited for.
    """
    while True:
        # Append mode: where locks are missing, whole lines of two processes still do not mix.
        file = path.open("a+b", buffering=0)
        try:
            _lock(file, wait=wait)
        except BlockingIOError:
            file.close()
            raise
        except OSError:  # a file system without locks
            pass
        if _is_current(file, path):
            return file
        file.close()  # it was replaced before the lock was had


def _lock(file: IO[Any], *, wait: bool) -> None:
    if sys.platform != "win32":
        flock(file, LOCK_EX if wait else LOCK_EX | LOCK_NB)


def _is_current(file: IO[Any], path: Path) -> bool:
    """Return whether an open file is still the one of that name."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    return False


def append(file: IO[Any], data: bytes) -> None:
    """Add to the end of an unbuffered file all of ``data``, or nothing where the disk is full.

    Raises
    ------
    OSError
        It cannot be written.
    """
    end, left = file.seek(0, os.SEEK_END), memoryview(data)
    try:
        while left:
            # An unbuffered file may take less than all of it.
            left = left[file.write(left) :]
    except BaseException:
        with suppress(OSError):
            file.truncate(end)
        raise


def remove_dead(folder: Path, begin: str, end: str) -> None:
    """Remove files of such names that nobody holds a lock on: who wrote them has ended."""
    with suppress(OSError):
        for name in os.listdir(folder):
            if name.startswith(begin) and name.endswith(end):
                _remove_dead(folder / name)


def _remove_dead(path: Path) -> None:
    with suppress(OSError), path.open("r+b") as file:
        # A living writer holds the lock; one that was replaced meanwhile is another file.
        _lock(file, wait=False)
        if _is_current(file, path):
            path.unlink()
