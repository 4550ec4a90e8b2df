"""Contents of the scratchpad in a greedy simulation: tensors or heads of them, with ranks."""

from __future__ import annotations

from collections import defaultdict
from heapq import heappop, heappush

from spmopt.core.machine import Machine
from spmopt.core.schedule import Residency, Stores
from spmopt.core.table import Ints

_ABSENT = -1
_BLOCK_BITS = 7
_BLOCK = 1 << _BLOCK_BITS


class Scratchpad:
    """Resident tensors with ranks in [0, ranks): the highest rank is evicted first.

    With ``partial`` a tensor may be held in part, its first pages, and is trimmed from its
    tail; otherwise it goes as a whole, and pages are also counted by rank and by block of ranks,
    so that the pages above a rank are the sum of two short slices.
    """

    def __init__(
        self, machine: Machine, size_bytes: Ints, ranks: int, *, partial: bool = False
    ) -> None:
        self.free = machine.spm_pages
        self.partial = partial
        self._page = machine.page_bytes
        self._size: list[int] = size_bytes.tolist()
        self._pages: list[int] = machine.pages(size_bytes).tolist()
        self._held = [0] * size_bytes.size
        self._rank = [_ABSENT] * size_bytes.size
        self._since = [0] * size_bytes.size
        self._lacking = [0] * size_bytes.size
        self._victims: list[tuple[int, int]] = []
        self._at_rank = [0] * ((ranks | (_BLOCK - 1)) + 1)
        self._in_block = [0] * (len(self._at_rank) >> _BLOCK_BITS)
        self._rows: list[tuple[int, int, int, int]] = []
        self._stores: defaultdict[tuple[int, int], int] = defaultdict(int)

    def holds(self, tensor: int) -> bool:
        """Some of ``tensor`` is resident."""
        return self._held[tensor] > 0

    def missing(self, tensor: int) -> int:
        """Pages of ``tensor`` that are not resident."""
        return self._pages[tensor] - self._held[tensor]

    def is_dirty(self, tensor: int) -> bool:
        """DRAM lacks contents of ``tensor``."""
        return self._lacking[tensor] > 0

    def pages_above(self, rank: int) -> int:
        """Resident pages of a higher rank (of whole tensors only)."""
        block = (rank >> _BLOCK_BITS) + 1
        rest = self._at_rank[rank + 1 : block << _BLOCK_BITS]
        return sum(rest) + sum(self._in_block[block:])

    def admit(self, tensor: int, pages: int, step: int, rank: int) -> None:
        """Take in the next ``pages`` of ``tensor`` from ``step`` on; there must be room."""
        if self._held[tensor]:
            self._close(tensor, step)
            self._count(self._rank[tensor], -self._held[tensor])
        self.free -= pages
        self._held[tensor] += pages
        self._since[tensor] = step
        self._enter(tensor, rank)

    def rerank(self, tensor: int, rank: int) -> None:
        """Change the rank of a resident tensor."""
        if self._rank[tensor] != rank:
            self._count(self._rank[tensor], -self._held[tensor])
            self._enter(tensor, rank)

    def soil(self, tensor: int) -> None:
        """Note that the step's operation wrote ``tensor``; non-resident operands are streamed."""
        self._lacking[tensor] = self._bytes(self._held[tensor], tensor)

    def make_room(self, pages: int, above: int, step: int) -> None:
        """Evict the highest ranks above ``above`` until ``pages`` are free, or none is left."""
        while self.free < pages:
            tensor = self._top(step)
            if tensor is None or self._rank[tensor] <= above:
                return
            self.release(tensor, pages - self.free, step)

    def release(self, tensor: int, pages: int, step: int) -> None:
        """Drop ``tensor`` at the start of ``step``, with ``partial`` only so many pages of it.

        Bytes of them that DRAM lacks are written back in the step before.
        """
        # The tail goes: the resident part is always a head.
        left = max(0, self._held[tensor] - pages) if self.partial else 0
        unsaved = self._lacking[tensor] - self._bytes(left, tensor)
        if unsaved > 0:
            self._stores[step - 1, tensor] += unsaved
            self._lacking[tensor] -= unsaved
        self._shrink(tensor, left, step)

    def drop(self, tensor: int, step: int) -> None:
        """Drop ``tensor`` at the start of ``step`` without write-back."""
        self._lacking[tensor] = 0
        self._shrink(tensor, 0, step)

    def empty(self, step: int) -> None:
        """Release whatever is left at the start of ``step``."""
        for tensor, held in enumerate(self._held):
            if held:
                self.release(tensor, held, step)

    def tables(self) -> tuple[Residency, Stores]:
        """Rows and stores of everything that was resident up to now."""
        stores = [(*place, size) for place, size in sorted(self._stores.items())]
        return Residency.of_rows(sorted(self._rows)), Stores.of_rows(stores)

    def _bytes(self, pages: int, tensor: int) -> int:
        """Bytes in the first ``pages`` of ``tensor``."""
        return min(pages * self._page, self._size[tensor])

    def _shrink(self, tensor: int, left: int, step: int) -> None:
        self._close(tensor, step)
        gone = self._held[tensor] - left
        self._count(self._rank[tensor], -gone)
        self.free += gone
        self._held[tensor] = left
        self._since[tensor] = step
        if not left:
            self._rank[tensor] = _ABSENT

    def _close(self, tensor: int, step: int) -> None:
        """End the row that goes on, before the resident part of ``tensor`` changes."""
        # Changes within one step leave no row.
        if self._since[tensor] < step:
            size = self._bytes(self._held[tensor], tensor)
            self._rows.append((tensor, self._since[tensor], step, size))

    def _enter(self, tensor: int, rank: int) -> None:
        self._rank[tensor] = rank
        self._count(rank, self._held[tensor])
        self._push(tensor, rank)

    def _count(self, rank: int, pages: int) -> None:
        if self.partial:
            return
        self._at_rank[rank] += pages
        self._in_block[rank >> _BLOCK_BITS] += pages

    def _push(self, tensor: int, rank: int) -> None:
        """Make ``tensor`` a victim to be; entries of former ranks go when they come up."""
        heappush(self._victims, (-rank, tensor))

    def _top(self, step: int) -> int | None:
        """Return the tensor to evict first in ``step``, or None."""
        del step  # the order of ranks does not change with time
        while self._victims:
            negative, tensor = self._victims[0]
            # Lazy deletion: entries of old ranks are skipped.
            if self._rank[tensor] == -negative:
                return tensor
            heappop(self._victims)
        return None
