"""Journals of Optuna: whether a file is one, where it is damaged, and who adds to it."""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileSymlinkLock
from optuna.storages.journal._file import get_lock_file

from spmopt.core.border import exists, is_file, is_folder, reason
from spmopt.core.errors import InputError
from spmopt.core.filetypes import SQLITE
from spmopt.core.processes import has_ended, own_name
from spmopt.io.locks import append, lock

JOURNAL = "journal:"
BY_CONTENTS = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError),
    *(RecursionError, TypeError, ValueError),
)
"""What Optuna, SQLAlchemy and readers raise of values that nobody foresaw."""
_FIRST = 1 << 16
"""Bytes that the first entry of a journal, the name of a study, fits in."""
_BEGIN = b'{"op_code"'


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
    backend = _Journal(path, url)
    try:
        return JournalStorage(backend)
    except BY_CONTENTS:
        raise InputError(
            f"--storage {url}: is damaged at line {backend.line}; name another file, or a copy "
            "from before"
        ) from None


class _Journal(JournalFileBackend):
    """Knows the line that is read, as Optuna applies each before it asks for the next.

    A line that a kill or a full disk has cut off is removed before the next one is added; nobody
    has read it. Who holds the lock is named in it, so that one of a dead process is nobody's.
    """

    def __init__(self, path: Path, url: str) -> None:
        self._path, self._url, self.line = path, url, 0
        super().__init__(str(path), _Lock(path))

    def read_logs(self, log_number_from: int) -> Generator[dict[str, Any], None, None]:
        """Do as Optuna's own, and count lines."""
        self.line = log_number_from + 1
        for entry in super().read_logs(log_number_from):
            yield entry
            self.line += 1

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Add whole lines or nothing; raises :class:`InputError` where they cannot be written."""
        lines = "".join(json.dumps(log, separators=(",", ":")) + "\n" for log in logs)
        try:
            with get_lock_file(self._lock), self._path.open("r+b", buffering=0) as file:
                file.truncate(_whole(file))
                append(file, lines.encode())
                os.fsync(file.fileno())
        except OSError as error:
            raise InputError(
                f"--storage {self._url}: cannot be written ({reason(error)})"
            ) from None


class _Lock(JournalFileSymlinkLock):
    """Optuna's lock, a link, which says whose it is: that of a dead process is removed at once.

    By one at a time: who looks for the link has a lock of the system on the journal.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self._path, self._link = path, Path(self._lock_file)
        self._file: IO[Any] | None = None

    def acquire(self) -> bool:
        """Wait until nobody else has it."""
        self._lock_target_file = own_name()
        self._file = self._path.open("r+b")
        try:
            lock(self._file)
            with suppress(OSError):
                owner = str(self._link.readlink())
                if has_ended(owner) or owner == own_name():  # which an interrupt kept from its end
                    self._link.unlink()
            return super().acquire()
        except BaseException:
            self._file.close()
            raise

    def release(self) -> None:
        """Let the next one have it."""
        try:
            super().release()
        finally:
            if self._file is not None:
                self._file.close()


def _whole(file: IO[Any]) -> int:
    """Return where the last whole line of a file ends."""
    end = file.seek(0, os.SEEK_END)
    size, tail = end, b""
    while size and b"\n" not in tail:
        begin = max(0, size - _FIRST)
        file.seek(begin)
        tail, size = file.read(size - begin), begin
    return size + tail.rfind(b"\n") + 1


def _require_journal(path: Path, url: str) -> None:
    try:
        with path.open("rb") as stream:
            first = stream.readline(_FIRST)
    except OSError as error:
        raise InputError(f"--storage {url}: cannot be read ({error.strerror})") from None
    if first.startswith(SQLITE):
        raise InputError(f"--storage {url}: is a SQLite file; leave {JOURNAL} out")
    begun = _BEGIN.startswith(first) or first.startswith(_BEGIN)
    if not (_is_entry(first) if first.endswith(b"\n") else begun):
        raise InputError(f"--storage {url}: is no journal of Optuna; name another file")


def _is_entry(line: bytes) -> bool:
    """Return whether a line is an operation on a storage."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(entry, dict) and "op_code" in entry
