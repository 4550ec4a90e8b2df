"""The store of a run: rows of its cases, in a file, as they are finished.

A run that was killed goes on from its file, and a finished run leaves it in the order of its cases.
One process at a time adds to a file: the lock says so, and ends with the process.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import IO, Any

from spmopt.core.errors import InputError
from spmopt.core.validation import cell, exists, is_file, plain, read_text
from spmopt.experiments.rows import Columns, Row, Texts
from spmopt.io.document import require_writable, write_text
from spmopt.io.locks import append, open_locked

_FORMAT, _VERSION = "spmopt-sweep", 1
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
    decisive
        Names in ``identity`` that decide alone which run it is; default: all of it does.

    Attributes
    ----------
    head
        The first line.

    Raises
    ------
    InputError
        The file cannot be written, is not of this run, has a line that is none of it, or another
        process adds to it.
    """

    def __init__(
        self,
        path: Path | None,
        columns: Columns,
        identity: Mapping[str, object],
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
        self._file: IO[Any] | None = None
        if path is not None:
            require_writable(path)
            if exists(path) and not is_file(path):
                raise InputError(f"{path}: is no regular file; name one, rows are added to it")
            with _said(path):
                self._file = open_locked(path, wait=False)
                try:
                    self._read(path, self._file)
                except BaseException:
                    self._file.close()
                    raise

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
        lines = map(self.columns.texts, rows)
        items = {self.columns.key(texts): texts for texts in lines}
        new = {key: item for key, item in items.items() if key not in self._items}
        if self.path is not None and self._file is not None and new:
            with _said(self.path):
                append(self._file, _csv(new.values()).encode())
        self._items |= new

    def close(self, order: Sequence[Texts] = ()) -> None:
        """Leave the file: sorted by ``order`` where all of these keys are there.

        A file without any item is removed, so that a run that failed leaves nothing behind.
        """
        is_whole = bool(order) and all(key in self._items for key in order)
        if is_whole:
            self._items = {key: self._items[key] for key in order}
        if self.path is None or self._file is None:
            return
        with self._file:
            if is_whole:
                write_text(self.path, self._start + _csv(self._items.values()))
            elif not self._items:
                self.path.unlink(missing_ok=True)
        self._file = None

    def _read(self, path: Path, file: IO[Any]) -> None:
        """Read the rows of a file; a line that a kill has cut off is removed."""
        start = self._start.encode()
        file.seek(0)
        content = file.read()
        if not content.startswith(start):
            self._begin(path, file, content)
            return
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            file.truncate(len(whole))
        try:
            for texts in read_rows(whole[len(start) :].decode()):
                self.columns.row(texts)
                self._items[self.columns.key(texts)] = tuple(texts)
        except InputError as error:
            line = len(self._items) + self._start.count("\n") + 1
            raise InputError(
                f"{path}: line {line} is no row of a sweep: {error}; remove the line, and it is "
                "computed anew"
            ) from None

    def _begin(self, path: Path, file: IO[Any], found: bytes) -> None:
        """Begin a file that is new, or cut off in its beginning, or without a row of another run.

        Raises :class:`InputError` where the file is of another run.
        """
        start = self._start.encode()
        # A prefix of our own start is a file whose writer was killed while it began.
        if not start.startswith(found):
            head, _, rest = found.decode().partition("\n")
            identity = _identity(head)
            # A run that was killed before its first row leaves its head and the names of columns.
            if identity is None or rest.count("\n") > 1:
                why = _difference(identity, _identity(self.head))
                raise InputError(f"{path}: {why}; name another file, or remove it")
        file.truncate(0)
        append(file, start)


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


@contextmanager
def _said(path: Path) -> Iterator[None]:
    """Say in one line that a file cannot be read or written."""
    try:
        yield
    except BlockingIOError:
        raise InputError(
            f"{path}: another process adds rows to it; wait for that, or name another file"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise InputError(f"{path}: cannot be read or written ({reason})") from None


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
