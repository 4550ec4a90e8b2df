"""Stores of a run: what its cases gave, in a file, as they are finished.

A run that was killed goes on from its file, several processes may share one, and a finished run
leaves it in the order of its cases.
"""

from __future__ import annotations

import csv
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from io import StringIO
from pathlib import Path
from time import sleep
from typing import IO, Any, Generic, TypeVar

from spmopt.core.errors import InputError
from spmopt.core.validation import cell, exists, is_file, plain, read_text
from spmopt.experiments.claims import Claims
from spmopt.experiments.rows import Columns, Row, Texts
from spmopt.io.document import require_writable, write_text
from spmopt.io.locks import append, is_current, lock_file

T = TypeVar("T")
Key = TypeVar("Key", str, Texts)
Item = TypeVar("Item")
_FORMAT, _VERSION = "spmopt-sweep", 1
_SHARD = "shard"
_POLL_S = 0.2
Report = Callable[[str, float | None], None]
"""Gets a message, and which part of the work is done."""


class Store(ABC, Generic[Key, Item]):
    """What is known of the cases so far; with a ``path``, in a file too.

    Parameters
    ----------
    path
        File to write, or to go on with; None keeps all in memory.
    start
        How the file begins: the first line says what all in it depends on.
    report
        Told of processes that ended before their cases.

    Raises
    ------
    InputError
        The file cannot be written, is not of this run, or has a line that is none of it.
    """

    def __init__(
        self, path: Path | None, start: str, report: Callable[[str], None] = lambda _: None
    ) -> None:
        self.path = path
        self._start = start
        self._items: dict[Key, Item] = {}
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

    def __contains__(self, key: Key) -> bool:
        return key in self._items

    @abstractmethod
    def put(self, key: Key, value: Any) -> None:
        """Keep what a case gave, on disk at once; raises :class:`InputError` if that fails."""

    def claim(self, keys: Iterable[Key]) -> bool:
        """Take cases on, unless all are done, or another process is at one of them.

        Raises :class:`InputError` where the file cannot be read or written.
        """
        wanted = list(keys)

        def take(file: IO[Any] | None) -> bool:
            missing = [key for key in wanted if key not in self._items]
            if file is not None and self._claims is not None and missing:
                if not self._claims.of_others().keys().isdisjoint(missing):
                    return False
                self._claims.add(missing)
            return bool(missing)

        return self._lock(take)

    def rounds(self, keys: Sequence[Key], report: Report) -> Iterator[list[Key]]:
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

    def close(self, order: Sequence[Key] = ()) -> None:
        """Leave the file: sorted by ``order`` where all of these keys are there.

        A file without any item is removed, so that a run that failed leaves nothing behind.
        """

        def finish(file: IO[Any] | None) -> None:
            if order and all(key in self._items for key in order):
                self._items = {key: self._items[key] for key in order}
                if self.path is not None:
                    write_text(self.path, self._start + self._encode(self._items))
            if self.path is not None and self._claims is not None:
                if not self._items and not self._claims.of_others():
                    self.path.unlink(missing_ok=True)
                self._claims.close()

        self._lock(finish)
        if self._known is not None:
            self._known.close()
            self._known = None

    @abstractmethod
    def _encode(self, items: Mapping[Key, Item]) -> str:
        """Write items as whole lines."""

    @abstractmethod
    def _decode(self, text: str) -> Iterator[tuple[Key, Item]]:
        """Read what :meth:`_encode` gave; raises :class:`InputError`."""

    @abstractmethod
    def _difference(self, first: str) -> str:
        """Say why a file with that first line is not of this run."""

    @abstractmethod
    def _may_go(self, lines: Sequence[str]) -> bool:
        """Return whether a file of another run holds nothing that is worth keeping."""

    def _remove_other(self, path: Path) -> None:
        """Remove a file of another run, unless it holds rows or a process is at its first ones."""
        start = self._start.encode()
        with suppress(OSError, UnicodeDecodeError), lock_file(path) as file:
            file.seek(0)
            content = file.read()
            is_own = content.startswith(start) or start.startswith(content)
            is_free = self._claims is not None and not self._claims.of_others()
            if not is_own and is_free and self._may_go(content.decode().splitlines()):
                path.unlink()

    def _add(self, items: Mapping[Key, Item]) -> None:
        def write(file: IO[Any] | None) -> None:
            new = {key: item for key, item in items.items() if key not in self._items}
            if file is not None and new:
                append(file, self._encode(new).encode())
                self._read_up_to = file.tell()
            self._items |= new

        if items:
            self._lock(write)

    def _lock(self, act: Callable[[IO[Any] | None], T]) -> T:
        """Let ``act`` see the file as all have left it, and nobody else meanwhile."""
        if self.path is None:
            return act(None)
        try:
            with lock_file(self.path) as file:
                self._read(self.path, file)
                return act(file)
        except (OSError, UnicodeDecodeError) as error:
            raise _unreadable(self.path, "read or written", error) from None

    def _read(self, path: Path, file: IO[Any]) -> None:
        """Take up what others have added; a line that a kill has cut off is removed."""
        if self._known is None or not is_current(self._known, path):
            # Never read, or written anew by another. While it is open, no other has its number.
            if self._known is not None:
                self._known.close()
            self._known = path.open("rb")
            self._read_up_to = self._begin(path, file)
        file.seek(self._read_up_to)
        added = file.read()
        whole = added[: added.rfind(b"\n") + 1]
        if len(whole) < len(added):
            file.truncate(self._read_up_to + len(whole))
        try:
            for key, item in self._decode(whole.decode()):
                self._items[key] = item
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
            if not start.startswith(found):
                file.seek(0)
                why = self._difference(file.readline().decode())
                raise InputError(f"{path}: {why}; name another file, or remove it")
            file.truncate(0)
            append(file, start)
        return len(start)


class RowTable(Store[Texts, Texts]):
    """Rows in a CSV file, below a comment that says in JSON what they depend on.

    Parameters
    ----------
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
        self.columns = columns
        self.head = "# " + json.dumps({"format": _FORMAT, "version": _VERSION, **identity})
        if decisive and path is not None and is_file(path):
            with path.open("rb") as file:
                first = file.readline().decode(errors="replace").rstrip("\n")
            found = _identity(first) or {}
            if all(found.get(name) == identity[name] for name in decisive):
                self.head = first
        super().__init__(path, f"{self.head}\n{_csv([tuple(columns.types)])}", report)

    def get(self, key: Texts) -> Row | None:
        """Give the row of that key, if there is one."""
        texts = self._items.get(key)
        return None if texts is None else self.columns.row(texts)

    @property
    def rows(self) -> list[Row]:
        """All rows, in the order of the lines."""
        return [self.columns.row(texts) for texts in self._items.values()]

    def put(self, key: Texts, value: Row) -> None:
        """Keep the row of a case."""
        self._add({key: self.columns.texts(value)})

    def add(self, rows: Iterable[Row]) -> None:
        """Keep finished rows, on disk at once; raises :class:`InputError` if that fails."""
        lines = [self.columns.texts(row) for row in rows]
        self._add({self.columns.key(texts): texts for texts in lines})

    def text(self) -> str:
        """Give the table as CSV, without the comment."""
        return _csv([tuple(self.columns.types), *self._items.values()])

    def _encode(self, items: Mapping[Texts, Texts]) -> str:
        return _csv(items.values())

    def _decode(self, text: str) -> Iterator[tuple[Texts, Texts]]:
        for texts in read_rows(text):
            self.columns.row(texts)
            yield self.columns.key(texts), tuple(texts)

    def _difference(self, first: str) -> str:
        return _difference(_identity(first), _identity(self.head))

    def _may_go(self, lines: Sequence[str]) -> bool:
        # A run that was killed before its first row leaves its head and the names of columns.
        return len(lines) <= 2 and _identity(lines[0]) is not None


class Journal(Store[str, Any]):
    """JSON values by key, one a line, below a line that says what they depend on.

    Parameters
    ----------
    identity
        A text, or JSON values; a file of another run is begun anew.
    """

    def __init__(
        self,
        path: Path | None,
        identity: str | Mapping[str, object],
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.head = identity if isinstance(identity, str) else json.dumps(identity)
        super().__init__(path, f"{self.head}\n", report)

    def get(self, key: str) -> Any:
        """Give the value of that key; None if there is none."""
        return self._items.get(key)

    def put(self, key: str, value: Any) -> None:
        """Keep what a case gave, JSON values."""
        self._add({key: value})

    def remove(self) -> None:
        """Remove the file: all in it has been used."""
        self.close()
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def _encode(self, items: Mapping[str, Any]) -> str:
        lines = [json.dumps({"key": key, "value": value}) for key, value in items.items()]
        return "".join(f"{line}\n" for line in lines)

    def _decode(self, text: str) -> Iterator[tuple[str, Any]]:
        for line in text.splitlines():
            try:
                found = json.loads(line)
                yield found["key"], found["value"]
            except (ValueError, TypeError, KeyError, RecursionError) as error:
                raise InputError(f"{error}") from None

    def _difference(self, first: str) -> str:
        return "was begun anew by another run"

    def _may_go(self, lines: Sequence[str]) -> bool:
        return True  # whatever it holds can be computed anew


def merge(paths: Sequence[Path], output: Path) -> tuple[int, tuple[str, ...]]:
    """Join the tables of shards into that of the whole run, in the order of its cases.

    Parameters
    ----------
    paths
        Of one run, made with ``--shard``; where some are missing or not finished, the command
        without ``--shard`` goes on from ``output``.

    Returns
    -------
        How many rows there are, and which shards are missing.

    Raises
    ------
    InputError
        A file that cannot be read or is no shard, of another run, or given twice.
    """
    require_writable(output)
    found: dict[int, Sequence[str]] = {}
    whole: tuple[dict[str, Any], str] | None = None
    count = 0
    for path in paths:
        identity, table = read_table(path)
        names, *lines = [*table.splitlines(keepends=True), ""]
        if identity is None or _SHARD not in identity:
            raise InputError(f"{path}: is no shard; name files that --shard made")
        number, count = identity.pop(_SHARD)
        whole = whole or ({**identity, _SHARD: count}, names)
        if ({**identity, _SHARD: count}, names) != whole:
            why = _difference({**identity, _SHARD: count}, whole[0])
            raise InputError(f"{path}: {why}, unlike {paths[0]}")
        if number in found:
            raise InputError(f"{path}: shard {number}/{count} is given twice")
        found[number] = lines[:-1]
    if whole is None:
        raise InputError("merge: name the files of shards")
    head = "# " + json.dumps({key: value for key, value in whole[0].items() if key != _SHARD})
    rows = [line for number in sorted(found) for line in found[number]]
    write_text(output, "".join([f"{head}\n", whole[1], *rows]))
    return len(rows), tuple(f"{k}/{count}" for k in range(1, count + 1) if k not in found)


def read_table(path: Path) -> tuple[dict[str, Any] | None, str]:
    """Read what a file of rows depends on, and its CSV without a last line that is cut off.

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
