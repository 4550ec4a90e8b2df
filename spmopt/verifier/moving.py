"""Moves between banks in the replay: a step opens with them, all at once.

They are made when the operation before has ended, and earlier steps' commands are done with the
old pages and the new ones; bytes on the way are in buffers without address, as those of streams.
Later users of these pages wait for it. The time that they take is in the operation's, as that of
all its step's accesses to banks (R6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from spmopt.verifier.arrays import ScheduleArrays
from spmopt.verifier.extents import Addresses, Extent
from spmopt.verifier.memory import MemoryContents
from spmopt.verifier.runs import Runs


class PageTimes:
    """Until when pages are busy: ``loaded`` and ``stored`` by commands, ``used`` by operations.

    ``used`` is of the contents before. On every page each only ever grows, because channels and
    operations run in order. Its cost follows the extents in use, not the scratchpad's size.
    """

    def __init__(self, pages: int) -> None:
        self.loaded, self.stored, self.used = Runs(pages), Runs(pages), Runs(pages)

    def fill(self, extents: Iterable[Extent]) -> int:
        """Return when commands are done with these pages."""
        return _greatest(extents, self.loaded, self.stored)

    def unused_from(self, extents: Iterable[Extent]) -> int:
        """Return when the old contents of these pages are of no more use."""
        return _greatest(extents, self.stored, self.used)

    def quiet(self, extents: Iterable[Extent]) -> int:
        """Return when all that used these pages is done."""
        return _greatest(extents, self.loaded, self.stored, self.used)


def _greatest(extents: Iterable[Extent], *times: Runs) -> int:
    latest = 0
    for low, high, _ in extents:
        for time in times:
            latest = max(latest, time.greatest(low, high))
    return latest


class Moving:
    """The moves of one step after the other."""

    def __init__(
        self, view: ScheduleArrays, memory: MemoryContents, addresses: Addresses, busy: PageTimes
    ) -> None:
        moves, steps = view.schedule.moves, np.arange(view.timeline.steps + 1)
        self._memory = memory
        self._addresses = addresses
        self._busy = busy
        self._tensor: list[int] = moves.tensor.tolist()
        self._pages: list[tuple[int, int]] = list(
            zip(
                (moves.begin // view.page_bytes).tolist(),
                (-(-moves.end // view.page_bytes)).tolist(),
                strict=True,
            )
        )
        self._first: list[int] = np.searchsorted(moves.step, steps).tolist()
        self.last = [0] * view.timeline.size_bytes.size
        """Per tensor, when its last move was made."""

    def open(self, step: int, ready: int, give_up: Callable[[int], None]) -> int:
        """Go on to the addresses of ``step``, by ``give_up``, and carry moved contents along.

        Returns when that is done, not before ``ready``; 0 if nothing is moved.
        """
        first, last = self._first[step], self._first[step + 1]
        if first == last:
            give_up(step)
            return 0
        rows = range(first, last)
        old = [self._addresses.part(self._tensor[row], *self._pages[row]) for row in rows]
        # All moves of a step read before any writes: they may swap places.
        pieces = [self._memory.lift(extents) for extents in old]
        ready = max([ready, *map(self._busy.quiet, old)])
        give_up(step)
        new = [self._addresses.part(self._tensor[row], *self._pages[row]) for row in rows]
        # Pages that are overwritten must be quiet too.
        now = max([ready, *map(self._busy.quiet, new)])
        for row, left, taken, held in zip(rows, old, new, pieces, strict=True):
            self._memory.lay(held, taken)
            self.last[self._tensor[row]] = now
            for low, high, _ in left + taken:  # quiet until now, so that these times grow too
                self._busy.used.set(low, high, now)
        return now
