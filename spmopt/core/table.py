"""Columns of integers of equal length: how everything that grows is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def distinct(values: Ints) -> Ints:
    """Return each of some numbers once, in their order.

    As ``np.unique``, which from NumPy 2.3 on hashes whole numbers: of 200,000 keys in sorted parts
    in 0.12 s, where this takes 1.3 ms.
    """
    found: Ints = np.sort(values, kind="stable")  # quick where parts are in order
    first: Bools = np.diff(found, prepend=found[:1] - 1) != 0
    return found[first]


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """Base of the column tables; every field is a read-only int64 array of one length."""

    def __post_init__(self) -> None:
        length: int | None = None
        for name in self.names():
            # A copy: the caller's array must not change a frozen table.
            column = np.array(getattr(self, name), dtype=np.int64)
            if column.ndim != 1 or (length is not None and column.size != length):
                raise ValueError(f"columns differ in length, see {name}")
            length = column.size
            column.setflags(write=False)
            object.__setattr__(self, name, column)

    @classmethod
    @cache
    def names(cls) -> tuple[str, ...]:
        """Return the names of the columns, in their order."""
        return tuple(field.name for field in fields(cls))

    def __len__(self) -> int:
        return int(getattr(self, self.names()[0]).size)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in self.names()
        )

    def take(self, rows: Ints | Bools | slice) -> Self:
        """Return the rows by index, mask or slice, in that order."""
        return type(self)(**{name: getattr(self, name)[rows] for name in self.names()})

    def rows(self) -> list[tuple[int, ...]]:
        """Return all rows, each with the columns in their order."""
        return list(zip(*(getattr(self, name).tolist() for name in self.names()), strict=True))

    @classmethod
    def of_rows(cls, rows: Sequence[Sequence[int]]) -> Self:
        """Return the table of ``rows``, each with the columns in their order."""
        names = cls.names()
        array = np.array(rows, np.int64).reshape(-1, len(names))
        return cls(**{name: array[:, place] for place, name in enumerate(names)})

    @classmethod
    def together(cls, *parts: Self) -> Self:
        """Return the rows of one or more tables, one after the other."""
        columns = {name: [getattr(part, name) for part in parts] for name in cls.names()}
        return cls(**{name: np.concatenate(column) for name, column in columns.items()})

    @classmethod
    def empty(cls) -> Self:
        """Return a table without rows."""
        return cls(**{name: np.empty(0, np.int64) for name in cls.names()})
