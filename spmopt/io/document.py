"""JSON documents with a format and a version, written whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from spmopt.core.errors import InputError
from spmopt.io.fields import Fields
from spmopt.io.streams import require_no_stream

VERSION = 1
"""Version of every format; raised when a file of the old one can no longer be read."""

Json = Mapping[str, object]
_TAKEN_BY = {
    "spmopt-instance": "; an instance is for 'spmopt solve' and 'spmopt compare'",
    "spmopt-result": "; a result is for 'spmopt verify' and 'spmopt analyze'",
}


def header(kind: str) -> dict[str, object]:
    """Return the first fields of a document of ``kind``: instance, schedule or result."""
    return {"format": f"spmopt-{kind}", "version": VERSION}


def body(
    value: object, where: str, kind: str, names: Iterable[str], extra: Sequence[str] = ()
) -> Fields:
    """Check the header of a document and return its fields; those in ``extra`` may be missing.

    Raises
    ------
    InputError
        Another format or version, a missing or an unknown field.
    """
    if not isinstance(value, dict):
        raise InputError(f"{where or 'document'}: must be an object")
    found, version = value.get("format"), value.get("version")
    if found != f"spmopt-{kind}":
        hint = "" if where else _TAKEN_BY.get(str(found), "")
        raise InputError(f"{where or 'document'}: format is {found!r}, not 'spmopt-{kind}'{hint}")
    if version != VERSION:
        raise InputError(
            f"{where or 'document'}: version is {version!r}, but this program reads {VERSION}; "
            "write the file again, or use the version of spmopt that wrote it"
        )
    return Fields.of(value, where, ("format", "version", *names), extra)


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
            object_pairs_hook=_refuse_duplicates,
        )
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path}: not a complete JSON file ({error}); it may be truncated: write it again"
        ) from None


def write_json(path: Path, document: Json) -> None:
    """Write ``document`` to ``path``, which holds the old content or the whole new one.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    write_text(path, text + "\n")


def write_text(path: Path, text: str) -> None:
    """Write through a file beside ``path``, then rename it over ``path``.

    A link stays a link; what is no file (a pipe, a device) is written to as it is.

    Raises
    ------
    InputError
        The file cannot be written.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
        else:
            _replace(path.resolve(), text)
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
        require_no_stream(path)
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
    """Raise :class:`InputError` unless there is such a folder."""
    if folder.is_dir():
        return
    if folder.exists():
        raise InputError(f"{folder}: is a file, but a folder is needed; name or create one")
    raise InputError(f"{folder}: no such folder; create it first")


def _part(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def _replace(path: Path, text: str) -> None:
    part = _part(path)
    try:
        with part.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON number")


def _refuse_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("an object has the same field twice")
    return fields
