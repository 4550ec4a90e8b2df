"""What a greedy simulation holds in the scratchpad: whole tensors, ranked for eviction."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np

from spmopt.core.plan import Residency, Stores
from spmopt.core.table import Ints

_ABSENT = -1
_BLOCK_BITS = 7
_BLOCK = 1 << _BLOCK_BITS


class Scratchpad:
    """Resident tensors with ranks in [0, ranks): the highest rank is evicted first.

    Pages are also counted by rank and by block of ranks, so that the pages above a rank are
    the sum of two short slices.
    """

    def __init__(self, pages: Ints, capacity: int, ranks: int) -> None:
        self.free = capacity
        self._pages: list[int] = pages.tolist()
        self._rank = [_ABSENT] * pages.size
        self._since = [0] * pages.size
        self._dirty = [False] * pages.size
        self._victims: list[tuple[int, int]] = []
        self._at_rank = [0] * ((ranks | (_BLOCK - 1)) + 1)
        self._in_block = [0] * (len(self._at_rank) >> _BLOCK_BITS)
        self._rows: list[tuple[int, int, int]] = []
        self._stores: list[tuple[int, int]] = []

    def holds(self, tensor: int) -> bool:
        """``tensor`` is resident."""
        return self._rank[tensor] != _ABSENT

    def is_dirty(self, tensor: int) -> bool:
        """DRAM lacks the contents of the resident ``tensor``."""
        return self._dirty[tensor]

    def pages_above(self, rank: int) -> int:
        """Resident pages of a higher rank."""
        block = (rank >> _BLOCK_BITS) + 1
        rest = self._at_rank[rank + 1 : block << _BLOCK_BITS]
        return sum(rest) + sum(self._in_block[block:])

    def admit(self, tensor: int, step: int, rank: int) -> None:
        """Make ``tensor`` resident and clean from ``step`` on; there must be room."""
        self.free -= self._pages[tensor]
        self._since[tensor] = step
        self._dirty[tensor] = False
        self._enter(tensor, rank)

    def rerank(self, tensor: int, rank: int) -> None:
        """Change the rank of a resident tensor."""
        if self._rank[tensor] != rank:
            self._leave(tensor)
            self._enter(tensor, rank)

    def soil(self, tensor: int) -> None:
        """Note that the step's operation wrote the resident ``tensor``."""
        self._dirty[tensor] = True

    def make_room(self, pages: int, above: int, step: int) -> None:
        """Evict the highest ranks above ``above`` until ``pages`` are free, or none is left."""
        while self.free < pages and self._victims:
            negative, tensor = self._victims[0]
            if self._rank[tensor] != -negative:
                heappop(self._victims)
            elif -negative <= above:
                return
            else:
                self.evict(tensor, step)

    def evict(self, tensor: int, step: int) -> None:
        """Drop ``tensor`` at the start of ``step``, written back in the step before if dirty."""
        if self._dirty[tensor]:
            self._stores.append((step - 1, tensor))
        self.drop(tensor, step)

    def drop(self, tensor: int, step: int) -> None:
        """Drop ``tensor`` at the start of ``step`` without write-back."""
        self._leave(tensor)
        self._rank[tensor] = _ABSENT
        self.free += self._pages[tensor]
        self._rows.append((tensor, self._since[tensor], step))

    def tables(self, size_bytes: Ints) -> tuple[Residency, Stores]:
        """Rows of everything dropped so far."""
        rows = np.array(sorted(self._rows), np.int64).reshape(-1, 3)
        stores = np.array(sorted(self._stores), np.int64).reshape(-1, 2)
        residency = Residency(
            tensor=rows[:, 0], begin=rows[:, 1], end=rows[:, 2], size_bytes=size_bytes[rows[:, 0]]
        )
        return residency, Stores(
            step=stores[:, 0], tensor=stores[:, 1], size_bytes=size_bytes[stores[:, 1]]
        )

    def _enter(self, tensor: int, rank: int) -> None:
        self._rank[tensor] = rank
        self._at_rank[rank] += self._pages[tensor]
        self._in_block[rank >> _BLOCK_BITS] += self._pages[tensor]
        heappush(self._victims, (-rank, tensor))

    def _leave(self, tensor: int) -> None:
        rank = self._rank[tensor]
        self._at_rank[rank] -= self._pages[tensor]
        self._in_block[rank >> _BLOCK_BITS] -= self._pages[tensor]
