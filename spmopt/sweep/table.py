"""The file of a sweep: rows as they are finished, so that a killed sweep goes on from there.

Its first line is a comment with the sweep as JSON; then a CSV table. While the sweep runs, lines
come as they are finished; at the end the file is written anew, in the order of the sweep.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import TextIO

from spmopt.core.errors import InputError
from spmopt.io.document import require_writable, write_text
from spmopt.sweep.rows import Columns, Row, Texts

FORMAT, _VERSION = "spmopt-sweep", 1


class Table:
    """The rows of a sweep so far; with a ``path``, in a file too.

    Parameters
    ----------
    path
        File to write, or to go on with; None keeps the rows in memory.
    columns
        Of the rows.
    sweep
        All that the rows depend on, as JSON values; a file of another sweep is refused.

    Attributes
    ----------
    head
        The first line.

    Raises
    ------
    InputError
        The file cannot be written, is not of this sweep, or has a line that is no row of it.
    """

    def __init__(self, path: Path | None, columns: Columns, sweep: Mapping[str, object]) -> None:
        self._columns = columns
        self.head = "# " + json.dumps({"format": FORMAT, "version": _VERSION, **sweep})
        self._lines: dict[Texts, Texts] = {}
        self._path, self._file = path, None
        if path is not None:
            self._file = self._open(path)

    def __len__(self) -> int:
        return len(self._lines)

    def __contains__(self, key: Texts) -> bool:
        return key in self._lines

    def get(self, key: Texts) -> Row | None:
        """The row of that key, if there is one."""
        texts = self._lines.get(key)
        return None if texts is None else self._columns.row(texts)

    @property
    def rows(self) -> list[Row]:
        """All rows, in the order of the lines."""
        return [self._columns.row(texts) for texts in self._lines.values()]

    def add(self, rows: Iterable[Row]) -> None:
        """Keep finished rows, on disk at once; raises :class:`InputError` if that fails."""
        lines = [self._columns.texts(row) for row in rows]
        new = {self._columns.key(texts): texts for texts in lines}
        new = {key: texts for key, texts in new.items() if key not in self._lines}
        self._lines |= new
        if self._file is not None and new:
            try:
                self._file.write(_csv(new.values()))
                self._file.flush()
            except OSError as error:
                raise InputError(f"{self._path}: cannot be written ({error.strerror})") from None

    def close(self, order: Sequence[Texts] | None = None) -> None:
        """Leave the file; with ``order``, the keys of the whole sweep, sort it first."""
        if order is not None:
            self._lines = {key: self._lines[key] for key in order if key in self._lines}
        if self._file is None or self._path is None:
            return
        self._file.close()
        self._file = None
        if order is not None:
            write_text(self._path, self._start() + _csv(self._lines.values()))

    def text(self) -> str:
        """The table as CSV, without the comment."""
        return _csv([tuple(self._columns.types), *self._lines.values()])

    def _start(self) -> str:
        return f"{self.head}\n{_csv([tuple(self._columns.types)])}"

    def _open(self, path: Path) -> TextIO:
        require_writable(path)
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: is no regular file; name one, rows are added to it")
        try:
            text = path.read_text(encoding="utf-8") if path.exists() else ""
            # A line cut off by a kill has no end.
            whole = text[: text.rfind("\n") + 1]
            start = self._start()
            if whole.startswith(start):
                self._read(path, whole[len(start) :])
            elif text and not start.startswith(text):
                raise InputError(f"{path}: {self._other(text)}; name another file, or remove it")
            else:
                whole = start
            write_text(path, whole)
            return path.open("a", encoding="utf-8", newline="")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not text"
            raise InputError(f"{path}: cannot be read or written ({reason})") from None

    def _read(self, path: Path, text: str) -> None:
        for number, texts in enumerate(csv.reader(StringIO(text)), start=3):
            try:
                self._columns.row(texts)
            except InputError as error:
                raise InputError(
                    f"{path}: line {number} is no row of a sweep: {error}; "
                    "remove the line, and it is computed anew"
                ) from None
            self._lines[self._columns.key(texts)] = tuple(texts)

    def _other(self, text: str) -> str:
        """Why a file is not of this sweep."""
        try:
            found = json.loads(text.partition("\n")[0].removeprefix("# "))
            asked = json.loads(self.head.removeprefix("# "))
            if found["format"] != asked["format"]:
                return "is not a sweep's file"
        except (ValueError, TypeError, KeyError):
            return "is not a sweep's file"
        names = [name for name in {**found, **asked} if found.get(name) != asked.get(name)]
        differ = "differs" if len(names) == 1 else "differ"
        return f"was made by another sweep ({', '.join(names) or 'columns'} {differ})"


def _csv(lines: Iterable[Sequence[str]]) -> str:
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()
