"""Files of JSON and other text, written whole or not at all.

Input passes :mod:`spmopt.core.validation`.
"""

from __future__ import annotations

import gzip
import os
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from spmopt.core.errors import InputError
from spmopt.core.validation import exists, is_file, is_folder, reason
from spmopt.io.locks import append, open_locked, remove_dead

_PART = ".new"
"""How names of files end that are being written, after the number of the process."""
_LEVEL = 6  # 9 takes five times as long and saves a twentieth


def write_json(path: Path, document: Mapping[str, object]) -> None:
    """Write ``document`` to ``path``, which holds the old content or the whole new one.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    write_text(path, msgspec.json.encode(document).decode() + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text as :func:`write_bytes` writes bytes, in UTF-8."""
    write_bytes(path, text.encode())


def write_packed(path: Path, text: str) -> None:
    """Write a text as :func:`write_text`, by gzip; the same text gives the same bytes."""
    # Without a time the same text gives the same bytes.
    write_bytes(path, gzip.compress(text.encode(), _LEVEL, mtime=0))


def write_bytes(path: Path, content: bytes) -> None:
    """Write through a file beside ``path``, then rename it over ``path``.

    A link stays a link, and a file that is replaced keeps its mode; a pipe or a device is written
    to as it is.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    try:
        if exists(path) and not is_file(path):
            path.write_bytes(content)  # a pipe or a device
        else:
            real = Path(os.path.realpath(path))
            remove_dead(real.parent, f".{real.name}.", _PART)
            replace_file(real, content)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({reason(error)})") from None


def require_writable(path: Path) -> None:
    """Fail before the work whose result is to be written to ``path``, not after it.

    Raises
    ------
    InputError
        No file can be written there.
    """
    try:
        if str(path) == "-" or (path.parts[:2] == ("/", "dev") and is_file(path)):
            raise InputError(f"{path}: is a stream; name a file, or print by --json")
        if is_folder(path):
            raise InputError(f"{path}: is a folder; name a file in it")
        require_folder(path.parent)
        if exists(path) and not is_file(path):
            writable = os.access(path, os.W_OK)
        else:
            real = Path(os.path.realpath(path))
            remove_dead(real.parent, f".{real.name}.", _PART)
            part = _part(real)
            # Permissions of a folder (read-only mounts, quotas) show only when a file is made.
            part.touch()
            part.unlink(missing_ok=True)
            writable = True
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({reason(error)})") from None
    if not writable:
        raise InputError(f"{path}: cannot be written (no permission)")


def require_folder(folder: Path) -> None:
    """Create a folder where there is none yet.

    Raises
    ------
    InputError
        It cannot be created.
    """
    if exists(folder) and not is_folder(folder):
        raise InputError(f"{folder}: is a file, but a folder is needed; name or create one")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be created ({reason(error)})") from None


def replace_file(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Put a new file in place of one; it keeps the mode of that, and is whole at any time.

    Parameters
    ----------
    durable
        Whether it is on the disk before it is in place, so that it is whole after a power cut too.

    Raises
    ------
    OSError
        It cannot be written.
    """
    part = _part(path)
    with open_locked(part, wait=True) as file:
        try:
            with suppress(OSError):  # there is none, or the file system has no mappings
                part.chmod(stat.S_IMODE(path.stat().st_mode))
            # A process of this number that was killed may have left a part.
            file.truncate(0)
            append(file, content)
            # Before the rename: else a power cut can leave the new name with no content.
            if durable:
                os.fsync(file.fileno())
            if sys.platform == "win32":
                file.close()  # there an open file cannot be renamed
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


def remove_parts(folder: Path) -> None:
    """Remove partial files that killed processes left in a folder."""
    remove_dead(folder, ".", _PART)


def _part(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}{_PART}")
