"""The store of a run: its rows in a CSV file, as they are finished.

The first line is a comment that says in JSON what the rows depend on; then a CSV table. A run that
was killed goes on from its file, several processes may share one, and a finished run leaves its
rows in the order of its cases.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from spmopt.core.errors import InputError
from spmopt.experiments.claims import Claims
from spmopt.experiments.locks import locked
from spmopt.experiments.rows import Columns, Row, Texts
from spmopt.io.document import require_writable, write_text

T = TypeVar("T")
FORMAT, _VERSION = "spmopt-sweep", 1
_SHARD = "shard"


class Store:
    """The rows so far; with a ``path``, in a file too.

    Parameters
    ----------
    path
        File to write, or to go on with; None keeps the rows in memory.
    columns
        Of the rows.
    identity
        All that the rows depend on, as JSON values; a file of another run is refused.
    report
        Told of processes that ended before their cases.

    Attributes
    ----------
    head
        The first line.

    Raises
    ------
    InputError
        The file cannot be written, is not of this run, or has a line that is no row of it.
    """

    def __init__(
        self,
        path: Path | None,
        columns: Columns,
        identity: Mapping[str, object],
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.path, self.columns = path, columns
        self.head = "# " + json.dumps({"format": FORMAT, "version": _VERSION, **identity})
        self._lines: dict[Texts, Texts] = {}
        self._read_up_to, self._file_number = 0, -1
        self._claims: Claims | None = None
        if path is not None:
            require_writable(path)
            if path.exists() and not path.is_file():
                raise InputError(f"{path}: is no regular file; name one, rows are added to it")
            self._claims = Claims(path, report)
            self._locked(lambda file: None)

    def __len__(self) -> int:
        return len(self._lines)

    def __contains__(self, key: Texts) -> bool:
        return key in self._lines

    def get(self, key: Texts) -> Row | None:
        """Give the row of that key, if there is one."""
        texts = self._lines.get(key)
        return None if texts is None else self.columns.row(texts)

    @property
    def rows(self) -> list[Row]:
        """All rows, in the order of the lines."""
        return [self.columns.row(texts) for texts in self._lines.values()]

    def claim(self, keys: Iterable[Texts]) -> bool:
        """Take cases on, unless all are done, or another process is at one of them.

        Raises :class:`InputError` where the file cannot be read or written.
        """
        wanted = list(keys)

        def take(file: BinaryIO | None) -> bool:
            missing = [key for key in wanted if key not in self._lines]
            if file is not None and self._claims is not None and missing:
                if not self._claims.of_others().keys().isdisjoint(missing):
                    return False
                self._claims.add(missing)
            return bool(missing)

        return self._locked(take)

    def add(self, rows: Iterable[Row]) -> None:
        """Keep finished rows, on disk at once; raises :class:`InputError` if that fails."""
        lines = [self.columns.texts(row) for row in rows]

        def write(file: BinaryIO | None) -> None:
            new = {self.columns.key(texts): texts for texts in lines}
            new = {key: texts for key, texts in new.items() if key not in self._lines}
            if file is not None and new:
                file.write(_csv(new.values()).encode())
                file.flush()
                self._read_up_to = file.tell()
            self._lines |= new

        if lines:
            self._locked(write)

    def close(self, order: Sequence[Texts] | None = None) -> None:
        """Leave the file; with ``order``, the keys of the whole run, sort it first."""

        def finish(file: BinaryIO | None) -> None:
            if order is not None:
                self._lines = {key: self._lines[key] for key in order if key in self._lines}
                if self.path is not None:
                    write_text(self.path, self._start() + _csv(self._lines.values()))
            if file is not None and self._claims is not None:
                self._claims.close()

        self._locked(finish)

    def text(self) -> str:
        """Give the table as CSV, without the comment."""
        return _csv([tuple(self.columns.types), *self._lines.values()])

    def _start(self) -> str:
        return f"{self.head}\n{_csv([tuple(self.columns.types)])}"

    def _locked(self, act: Callable[[BinaryIO | None], T]) -> T:
        """Let ``act`` see the file as all have left it, and nobody else meanwhile."""
        if self.path is None:
            return act(None)
        try:
            with locked(self.path) as file:
                self._read(self.path, file)
                return act(file)
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not text"
            raise InputError(f"{self.path}: cannot be read or written ({reason})") from None

    def _read(self, path: Path, file: BinaryIO) -> None:
        """Take up what others have added; a line that a kill has cut off is removed."""
        number = path.stat().st_ino
        start = self._start().encode()
        if number != self._file_number:  # never read, or written anew by another
            self._require_own(path, file, start)
            self._file_number, self._read_up_to = number, len(start)
        file.seek(self._read_up_to)
        added = file.read()
        whole = added[: added.rfind(b"\n") + 1]
        if len(whole) < len(added):
            file.truncate(self._read_up_to + len(whole))
        for texts in csv.reader(StringIO(whole.decode())):
            try:
                self.columns.row(texts)
            except InputError as error:
                raise InputError(
                    f"{path}: line {len(self._lines) + 3} is no row of a sweep: {error}; "
                    "remove the line, and it is computed anew"
                ) from None
            self._lines[self.columns.key(texts)] = tuple(texts)
        self._read_up_to += len(whole)

    def _require_own(self, path: Path, file: BinaryIO, start: bytes) -> None:
        """Raise unless the file begins as this run's; begin it where it is new, or cut off."""
        file.seek(0)
        found = file.read(len(start))
        if found == start:
            return
        if start.startswith(found):
            file.truncate(0)
            file.write(start)
            file.flush()
            return
        file.seek(0)
        why = _difference(_identity(file.readline().decode()), _identity(self.head))
        raise InputError(f"{path}: {why}; name another file, or remove it")


def merge(paths: Sequence[Path], output: Path) -> tuple[int, tuple[str, ...]]:
    """Join the files of shards into that of the whole run, in the order of its cases.

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
    found: dict[int, Sequence[str]] = {}
    whole: tuple[dict[str, Any], str] | None = None
    count = 0
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not text"
            raise InputError(f"{path}: cannot be read ({reason})") from None
        head, names, *lines = [*text[: text.rfind("\n") + 1].splitlines(keepends=True), "", ""]
        identity = _identity(head)
        if identity is None or _SHARD not in identity:
            raise InputError(f"{path}: is no shard; name files that --shard made")
        number, count = identity.pop(_SHARD)
        whole = whole or ({**identity, _SHARD: count}, names)
        if ({**identity, _SHARD: count}, names) != whole:
            why = _difference({**identity, _SHARD: count}, whole[0])
            raise InputError(f"{path}: {why}, unlike {paths[0]}")
        if number in found:
            raise InputError(f"{path}: shard {number}/{count} is given twice")
        found[number] = [line for line in lines if line]
    if whole is None:
        raise InputError("merge: name the files of shards")
    head = "# " + json.dumps({key: value for key, value in whole[0].items() if key != _SHARD})
    rows = [line for number in sorted(found) for line in found[number]]
    write_text(output, "".join([f"{head}\n", whole[1], *rows]))
    return len(rows), tuple(f"{k}/{count}" for k in range(1, count + 1) if k not in found)


def _identity(head: str) -> dict[str, Any] | None:
    """Read the first line of a store; None where it is none."""
    try:
        found = json.loads(head.removeprefix("# "))
    except ValueError:
        return None
    return found if isinstance(found, dict) and found.get("format") == FORMAT else None


def _difference(found: Mapping[str, Any] | None, asked: Mapping[str, Any] | None) -> str:
    """Say why a file is not of a run."""
    if found is None or asked is None:
        return "is not a sweep's file"
    names = [name for name in {**found, **asked} if found.get(name) != asked.get(name)]
    differ = "differs" if len(names) == 1 else "differ"
    return f"was made by another sweep ({', '.join(names) or 'columns'} {differ})"


def _csv(lines: Iterable[Sequence[str]]) -> str:
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()
