"""The store of a run: rows of its cases, in a file, as they are finished.

A run that was killed goes on from its file, several processes may share one, and a finished run
leaves it in the order of its cases.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from io import StringIO
from pathlib import Path
from time import sleep
from typing import IO, Any, TypeVar

from spmopt.core.errors import InputError
from spmopt.core.validation import cell, exists, is_file, plain, read_text
from spmopt.experiments.claims import Claims
from spmopt.experiments.rows import Columns, Row, Texts
from spmopt.io.document import require_writable, write_text
from spmopt.io.locks import append, is_current, lock_file

T = TypeVar("T")
_FORMAT, _VERSION = "spmopt-sweep", 1
_POLL_S = 0.2
Report = Callable[[str, float | None], None]
"""Gets a message, and which part of the work is done."""


class RowTable:
    """Rows in a CSV file, below a comment with their identity as JSON.

    Parameters
    ----------
    path
        File to write, or to go on with; None keeps all in memory.
    columns
        Of the rows.
    identity
        All that the rows depend on, as JSON values; a file of another run is refused.
    report
        Receives notes on processes that ended before their cases.
    decisive
        Names in ``identity`` that decide alone which run it is; default: all of it does.

    Attributes
    ----------
    head
        The first line.

    Raises
    ------
    InputError
        The file cannot be written, is not of this run, or has a line that is none of it.
    """

    def __init__(
        self,
        path: Path | None,
        columns: Columns,
        identity: Mapping[str, object],
        report: Callable[[str], None] = lambda _: None,
        *,
        decisive: Sequence[str] = (),
    ) -> None:
        self.path, self.columns = path, columns
        self.head = "# " + json.dumps({"format": _FORMAT, "version": _VERSION, **identity})
        if decisive and path is not None and is_file(path):
            with path.open("rb") as file:
                first = file.readline().decode(errors="replace").rstrip("\n")
            found = _identity(first) or {}
            # Keep the head of the file: options that change no row may differ on resuming.
            if all(found.get(name) == identity[name] for name in decisive):
                self.head = first
        self._start = f"{self.head}\n{_csv([tuple(columns.types)])}"
        self._items: dict[Texts, Texts] = {}
        self._read_up_to = 0
        self._known: IO[Any] | None = None
        self._claims: Claims | None = None
        if path is not None:
            require_writable(path)
            if exists(path) and not is_file(path):
                raise InputError(f"{path}: is no regular file; name one, rows are added to it")
            self._claims = Claims(path, report)
            if exists(path):
                self._remove_other(path)
            self._lock(lambda file: None)

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, key: Texts) -> bool:
        return key in self._items

    @property
    def rows(self) -> list[Row]:
        """All rows, in the order of the lines."""
        return [self.columns.row(texts) for texts in self._items.values()]

    def add(self, rows: Iterable[Row]) -> None:
        """Keep finished rows, on disk at once; raises :class:`InputError` if that fails."""
        lines = [self.columns.texts(row) for row in rows]

        def write(file: IO[Any] | None) -> None:
            # Another process may have added the same row meanwhile: the first one stays.
            items = {self.columns.key(texts): texts for texts in lines}
            new = {key: item for key, item in items.items() if key not in self._items}
            if file is not None and new:
                append(file, _csv(new.values()).encode())
                self._read_up_to = file.tell()
            self._items |= new

        if lines:
            self._lock(write)

    def claim(self, keys: Iterable[Texts]) -> bool:
        """Take cases on, unless all are done, or another process is at one of them.

        Raises :class:`InputError` where the file cannot be read or written.
        """
        wanted = list(keys)

        def take(file: IO[Any] | None) -> bool:
            missing = [key for key in wanted if key not in self._items]
            if file is not None and self._claims is not None and missing:
                # All or none: cases of one task share their work.
                if not self._claims.of_others().keys().isdisjoint(missing):
                    return False
                self._claims.add(missing)
            return bool(missing)

        return self._lock(take)

    def rounds(self, keys: Sequence[Texts], report: Report) -> Iterator[list[Texts]]:
        """Yield the keys that are missing, until none is.

        The caller computes all that it can claim. Cases of other processes are waited for: their
        rows appear, or their process ends and the cases can be claimed.
        """
        said = 0
        while missing := [key for key in keys if key not in self._items]:
            yield missing
            self._lock(lambda file: None)
            left = sum(key not in self._items for key in keys)
            if left and left != said:
                report(f"waiting for {left} cases of other processes", 1 - left / len(keys))
            if left:
                sleep(_POLL_S)
            said = left

    def close(self, order: Sequence[Texts] = ()) -> None:
        """Leave the file: sorted by ``order`` where all of these keys are there.

        A file without any item is removed, so that a run that failed leaves nothing behind.
        """

        def finish(file: IO[Any] | None) -> None:
            if order and all(key in self._items for key in order):
                self._items = {key: self._items[key] for key in order}
                if self.path is not None:
                    # A new file in place of the old: others notice and read it anew.
                    write_text(self.path, self._start + _csv(self._items.values()))
            if self.path is not None and self._claims is not None:
                # Under the lock no process can add a claim between the question and the removal.
                if not self._items and not self._claims.of_others():
                    self.path.unlink(missing_ok=True)
                self._claims.close()

        self._lock(finish)
        if self._known is not None:
            self._known.close()
            self._known = None

    def _remove_other(self, path: Path) -> None:
        """Remove a file of another run, unless it holds rows or a process is at its first ones."""
        start = self._start.encode()
        with suppress(OSError, UnicodeDecodeError), lock_file(path) as file:
            file.seek(0)
            content = file.read()
            is_own = content.startswith(start) or start.startswith(content)
            is_free = self._claims is not None and not self._claims.of_others()
            lines = content.decode().splitlines()
            # A run that was killed before its first row leaves its head and the names of columns.
            if not is_own and is_free and len(lines) <= 2 and _identity(lines[0]) is not None:
                path.unlink()

    def _lock(self, act: Callable[[IO[Any] | None], T]) -> T:
        """Call ``act`` with the file up to date, and locked for all others."""
        if self.path is None:
            return act(None)
        try:
            with lock_file(self.path) as file:
                self._read(self.path, file)
                return act(file)
        except (OSError, UnicodeDecodeError) as error:
            raise _unreadable(self.path, "read or written", error) from None

    def _read(self, path: Path, file: IO[Any]) -> None:
        """Read rows that others have added; a line that a kill has cut off is removed."""
        if self._known is None or not is_current(self._known, path):
            # Never read, or written anew by another. While it is open, no other has its number.
            if self._known is not None:
                self._known.close()
            self._known = path.open("rb")
            self._read_up_to = self._begin(path, file)
        file.seek(self._read_up_to)
        added = file.read()
        # Lines are appended under the lock, so that only a kill leaves a part of one.
        whole = added[: added.rfind(b"\n") + 1]
        if len(whole) < len(added):
            file.truncate(self._read_up_to + len(whole))
        try:
            for texts in read_rows(whole.decode()):
                self.columns.row(texts)
                self._items[self.columns.key(texts)] = tuple(texts)
        except InputError as error:
            line = len(self._items) + self._start.count("\n") + 1
            raise InputError(
                f"{path}: line {line} is no row of a sweep: {error}; remove the line, and it is "
                "computed anew"
            ) from None
        self._read_up_to += len(whole)

    def _begin(self, path: Path, file: IO[Any]) -> int:
        """Begin a file that is new, or cut off in its beginning; give the length of that.

        Raises :class:`InputError` where the file is of another run.
        """
        start = self._start.encode()
        file.seek(0)
        found = file.read(len(start))
        if found != start:
            # A prefix of our own start is a file whose writer was killed while it began.
            if not start.startswith(found):
                file.seek(0)
                why = _difference(_identity(file.readline().decode()), _identity(self.head))
                raise InputError(f"{path}: {why}; name another file, or remove it")
            file.truncate(0)
            append(file, start)
        return len(start)


def read_table(path: Path) -> tuple[dict[str, Any] | None, str]:
    """Read the identity of a file of rows, and its CSV without a last line that is cut off.

    Raises
    ------
    InputError
        It cannot be read.
    """
    text = read_text(path)
    head, _, table = text[: text.rfind("\n") + 1].partition("\n")
    return _identity(head), table


def read_rows(table: str) -> Iterator[list[str]]:
    """Read the rows of a table, as :class:`RowTable` writes them.

    Raises
    ------
    InputError
        A row is no CSV.
    """
    try:
        for texts in csv.reader(StringIO(table)):
            yield [plain(text) for text in texts]
    except csv.Error as error:
        raise InputError(f"not CSV: {error}") from None


def _unreadable(path: Path, done: str, error: OSError | UnicodeDecodeError) -> InputError:
    reason = error.strerror if isinstance(error, OSError) else "not text"
    return InputError(f"{path}: cannot be {done} ({reason})")


def _identity(head: str) -> dict[str, Any] | None:
    """Read the first line of a table; None where it is none."""
    try:
        found = json.loads(head.removeprefix("# "))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and found.get("format") == _FORMAT else None


def _difference(found: Mapping[str, Any] | None, asked: Mapping[str, Any] | None) -> str:
    """Say why a file is not of a run."""
    if found is None or asked is None:
        return "is not a sweep's file"
    names = [name for name in {**found, **asked} if found.get(name) != asked.get(name)]
    differ = "differs" if len(names) == 1 else "differ"
    return f"was made by another sweep ({', '.join(names) or 'columns'} {differ})"


def _csv(lines: Iterable[Sequence[str]]) -> str:
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(cell, line) for line in lines)
    return text.getvalue()
