"""Whether a file that is named as a journal is one."""

from __future__ import annotations

import json
from pathlib import Path

from spmopt.core.errors import InputError

JOURNAL = "journal:"
_SQLITE = b"SQLite format 3\0"
_FIRST = 1 << 16
"""Bytes that the first entry of a journal, the name of a study, fits in."""


def require_journal(url: str) -> None:
    """Raise if ``url`` is ``journal:FILE``, and the file has something else in it.

    Raises
    ------
    InputError
        The file is of SQLite, or does not begin as Optuna's journals do; or cannot be read.
    """
    path = Path(url.removeprefix(JOURNAL))
    if not url.startswith(JOURNAL) or not path.is_file():
        return
    try:
        with path.open("rb") as stream:
            first = stream.readline(_FIRST)
    except OSError as error:
        raise InputError(f"--storage {url}: cannot be read ({error.strerror})") from None
    if first.startswith(_SQLITE):
        raise InputError(f"--storage {url}: is a SQLite file; leave {JOURNAL} out")
    if first and not _is_entry(first):
        raise InputError(f"--storage {url}: is no journal of Optuna; name another file")


def _is_entry(line: bytes) -> bool:
    """Whether a line is an operation on a storage."""
    try:
        entry = json.loads(line)
    except ValueError:
        return False
    return isinstance(entry, dict) and "op_code" in entry
