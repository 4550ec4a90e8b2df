"""Files of JSON and other text, written whole or not at all, and not over a stream in use."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Never

import msgspec

from spmopt.core.errors import InputError

_FOLDERS = ("/dev/fd", "/proc/self/fd")
_STANDARD = {1: "standard output", 2: "standard error"}


def read_json(path: Path) -> object:
    """Read one JSON value.

    Raises
    ------
    InputError
        The file cannot be read, or is not JSON (truncated, for one).
    """
    try:
        return json.loads(
            path.read_text(encoding="utf-8"),
            parse_constant=_refuse_constant,
            parse_float=_finite,
            object_pairs_hook=_refuse_duplicates,
        )
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path}: not a complete JSON file ({error}); it may be truncated: write it again"
        ) from None


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


def write_bytes(path: Path, content: bytes) -> None:
    """Write through a file beside ``path``, then rename it over ``path``.

    A link stays a link; what is no file (a pipe, a device) is written to as it is.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)
        else:
            _replace(path.resolve(), content)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None


def require_writable(path: Path) -> None:
    """Fail before the work whose result is to be written to ``path``, not after it.

    Raises
    ------
    InputError
        No file can be written there.
    """
    try:
        _require_no_stream(path)
        if path.is_dir():
            raise InputError(f"{path}: is a folder; name a file in it")
        require_folder(path.parent)
        if path.exists() and not path.is_file():
            writable = os.access(path, os.W_OK)
        else:
            part = _part(path.resolve())
            part.touch()
            part.unlink()
            writable = True
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
    if not writable:
        raise InputError(f"{path}: cannot be written (no permission)")


def require_folder(folder: Path) -> None:
    """Create a folder where there is none yet.

    Raises
    ------
    InputError
        It cannot be created.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file, but a folder is needed; name or create one")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be created ({error.strerror})") from None


def _part(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def _replace(path: Path, content: bytes) -> None:
    part = _part(path)
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _finite(text: str) -> float:
    number = float(text)
    return number if isfinite(number) else _refuse_constant(text)


def _refuse_constant(name: str) -> Never:
    raise ValueError(f"{name} is no JSON number, or too large")


def _refuse_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("an object has the same field twice")
    return fields


def _require_no_stream(path: Path) -> None:
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
    """Return the number of the stream that ``path`` is a name of, perhaps by way of links."""
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
