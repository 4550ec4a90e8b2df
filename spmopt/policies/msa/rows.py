"""Residency and stores, collected copy by copy."""

from __future__ import annotations

import numpy as np

from spmopt.core.schedule import Residency, Stores
from spmopt.core.table import Ints
from spmopt.policies.transfers.rows import joined


class Rows:
    """Rows of a plan."""

    def __init__(self, size_bytes: Ints, page_bytes: int) -> None:
        self._size: list[int] = size_bytes.tolist()
        self.page_bytes = page_bytes
        self._rows: list[tuple[int, int, int, int]] = []
        self._stores: list[tuple[int, int, int]] = []

    def stay(self, tensor: int, begin: int, end: int) -> None:
        """All of ``tensor`` is resident in the steps [begin, end)."""
        self._rows.append((tensor, begin, end, self._size[tensor]))

    def load(self, tensor: int, step: Ints, moved: Ints, use: int) -> None:
        """The first ``moved[k]`` pages are there from ``step[k]`` on, all of them by ``use``."""
        size = np.minimum(moved * self.page_bytes, self._size[tensor]).tolist()
        begin = step.tolist()
        ends = [*begin[1:], use]
        self._rows.extend(
            (tensor, start, end, held) for start, end, held in zip(begin, ends, size, strict=True)
        )

    def store(self, tensor: int, step: Ints, moved: Ints) -> None:
        """All but the first pages are stored: ``moved[k]`` pages by the end of ``step[k]``."""
        size = np.minimum(moved * self.page_bytes, self._size[tensor])
        pieces = np.diff(size, prepend=0).tolist()
        self._stores.extend(
            (at, tensor, piece) for at, piece in zip(step.tolist(), pieces, strict=True)
        )

    def store_at(self, tensor: int, step: int) -> None:
        """All of ``tensor`` is stored in ``step``."""
        self._stores.append((step, tensor, self._size[tensor]))

    def tables(self) -> tuple[Residency, Stores]:
        """All rows, sorted, in the fewest rows."""
        residency = Residency.of_rows(sorted(self._rows))
        return joined(residency), Stores.of_rows(sorted(self._stores))
