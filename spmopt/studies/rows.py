"""Rows of a study, to choose from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from spmopt.core.errors import InputError
from spmopt.sweep.rows import Row, Value


class Rows:
    """Rows of a sweep, in its order."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = tuple(rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def where(self, **wanted: Value) -> Rows:
        """Rows whose columns have these values."""
        items = wanted.items()
        return Rows([row for row in self if all(row[name] == value for name, value in items)])

    def one(self, **wanted: Value) -> Row:
        """The only such row.

        Raises
        ------
        InputError
            There is none, or more than one.
        """
        found = self.where(**wanted)
        if len(found) != 1:
            what = ", ".join(f"{name} {value}" for name, value in wanted.items())
            raise InputError(f"{len(found)} rows with {what}, not one; run the study anew")
        return found._rows[0]

    def number(self, column: str, **wanted: Value) -> float:
        """A number of the only such row; raises :class:`InputError` where it has none."""
        return number(self.one(**wanted), column)

    def distinct(self, column: str) -> list[Value]:
        """Values of a column, each once, in order."""
        return list(dict.fromkeys(row[column] for row in self))

    def texts(self, column: str) -> list[str]:
        """The same of a column of texts."""
        return [str(value) for value in self.distinct(column)]

    def sizes(self) -> list[int]:
        """Capacities (bytes), each once, the least first."""
        return sorted({int(number(row, "spm_bytes")) for row in self})


def number(row: Row, column: str) -> float:
    """A number of a row; raises :class:`InputError` where it has none."""
    value = row[column]
    if value is None or isinstance(value, str):
        what = f"{row['network']}, {row['scheduler']}, {row['spm_bytes']} bytes"
        raise InputError(f"{what}: no {column} but {value!r}")
    return value
