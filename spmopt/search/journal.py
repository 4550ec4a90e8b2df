"""Journals of Optuna: whether a file is one, and where it is damaged."""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path
from time import sleep
from typing import Any

from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from spmopt.core.border import exists, is_file, is_folder
from spmopt.core.errors import InputError
from spmopt.core.filetypes import SQLITE

JOURNAL = "journal:"
_FIRST = 1 << 16
"""Bytes that the first entry of a journal, the name of a study, fits in."""


_HALF_WRITTEN_S = 0.5
"""After so long a line without an end is not being written, but cut off."""


def open_journal(url: str) -> JournalStorage:
    """Open ``journal:FILE``, made if there is none.

    Raises
    ------
    InputError
        The file is no regular one, is of SQLite, does not begin as Optuna's journals do, or cannot
        be read; or an entry of it is damaged.
    """
    path = Path(url.removeprefix(JOURNAL))
    if is_file(path):
        _require_journal(path, url)
    elif exists(path) and not is_folder(path):  # a pipe would be waited for
        raise InputError(f"--storage {url}: is no regular file; name one")
    backend = _Counting(str(path))
    try:
        return JournalStorage(backend)
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError):
        raise InputError(
            f"--storage {url}: is damaged at line {backend.line}; name another file, or a copy "
            "from before"
        ) from None


class _Counting(JournalFileBackend):
    """Knows the line that is read: Optuna applies each before it asks for the next."""

    def __init__(self, file_path: str) -> None:
        super().__init__(file_path)
        self.line = 0

    def read_logs(self, log_number_from: int) -> Generator[dict[str, Any], None, None]:
        """Do as Optuna's own, and count lines."""
        self.line = log_number_from + 1
        for entry in super().read_logs(log_number_from):
            yield entry
            self.line += 1


def _require_journal(path: Path, url: str) -> None:
    try:
        with path.open("rb") as stream:
            first = stream.readline(_FIRST)
    except OSError as error:
        raise InputError(f"--storage {url}: cannot be read ({error.strerror})") from None
    if first.startswith(SQLITE):
        raise InputError(f"--storage {url}: is a SQLite file; leave {JOURNAL} out")
    if first and not _is_entry(first):
        raise InputError(f"--storage {url}: is no journal of Optuna; name another file")
    if _is_cut_off(path):
        sleep(_HALF_WRITTEN_S)
        if _is_cut_off(path):
            raise InputError(
                f"--storage {url}: its last line is cut off; remove that line, and the search "
                "goes on with what is before it"
            )


def _is_cut_off(path: Path) -> bool:
    """Return whether the last line has no end: what is added then would be lost with it."""
    with path.open("rb") as stream:
        if not stream.seek(0, os.SEEK_END):
            return False
        stream.seek(-1, os.SEEK_END)
        return stream.read(1) != b"\n"


def _is_entry(line: bytes) -> bool:
    """Return whether a line is an operation on a storage."""
    try:
        entry = json.loads(line)
    except ValueError:
        return False
    return isinstance(entry, dict) and "op_code" in entry
