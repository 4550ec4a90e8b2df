"""Names of files that are streams of this process, as ``-`` and ``/dev/stdout``."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from spmopt.core.errors import InputError

_FOLDERS = ("/dev/fd", "/proc/self/fd")
_STANDARD = {1: "standard output", 2: "standard error"}


def require_no_stream(path: Path) -> None:
    """Refuse a name of standard output, and one of a file that a stream of ours is open on.

    Such a file would be replaced, and what the stream says besides would go into the old one. A
    pipe under another name (``/dev/fd/63``) holds nothing that could be lost.

    Raises
    ------
    InputError
        It is one of them.
    """
    number = 1 if path == Path("-") else _descriptor(path)
    regular = path.is_file()
    if number is None and regular:
        number = next((k for k in _STANDARD if _is_open_on(k, path)), None)
    if number == 1 or (number is not None and regular):
        stream = _STANDARD.get(number, f"descriptor {number}")
        raise InputError(f"{path}: is where {stream} goes; name another file")


def _descriptor(path: Path) -> int | None:
    """Number of the stream that ``path`` is a name of, perhaps by way of links."""
    folders = [Path(name).resolve() for name in _FOLDERS if Path(name).is_dir()]
    passed: set[Path] = set()
    while path not in passed:
        passed.add(path)
        if path.parent.resolve() in folders and path.name.isdecimal():
            return int(path.name)
        if path.is_symlink():
            path = path.parent / path.readlink()
    return None


def _is_open_on(number: int, path: Path) -> bool:
    try:
        own = os.fstat(number)
        return stat.S_ISREG(own.st_mode) and os.path.samestat(own, path.stat())
    except OSError:
        return False
