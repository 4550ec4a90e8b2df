"""More pages and more stays where room is left over."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from formulations.contiguous.memory import Memory
from formulations.contiguous.stays import Stay
from formulations.contiguous.window import Window
from formulations.solver.program import Floats
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline


@dataclass(frozen=True, kw_only=True, eq=False)
class Again:
    """What is used again.

    Attributes
    ----------
    pages : (m,)
        Of each tensor.
    worth : (a,)
        Of a page kept from an access to the tensor's next one.
    """

    line: Timeline
    pages: Ints
    worth: Floats

    def spans(self, window: Window) -> Iterator[tuple[int, int, int, int]]:
        """Tensor, first and last step, pages of the tensor: worth most for its time first."""
        line = self.line
        inside = slice(int(line.first[window.begin]), int(line.first[window.end]))
        access = np.arange(inside.start, inside.stop)
        again = (line.next[inside] >= 0) & line.live_after[inside] & (self.worth[inside] > 0)
        access = access[again]
        access = access[line.step[line.next[access]] < window.end]
        begin, end = line.step[access], line.step[line.next[access]]
        order = np.argsort(-self.worth[access] / (end - begin), kind="stable")
        tensor = line.tensor[access]
        columns = (column[order].tolist() for column in (tensor, begin, end, self.pages[tensor]))
        return zip(*columns, strict=True)


def fill(stays: list[Stay], memory: Memory, window: Window, again: Again) -> int:
    """Keep more of what is used again, where pages are free until then; how often that was so.

    ``stays`` have bases, as they are in ``memory``; they grow, and there are more of them, in
    steps of ``window`` only. They lose their uses.
    """
    kept = _Kept(stays)
    count = 0
    for tensor, begin, last, pages in again.spans(window):
        end = last + 1
        found = kept.around(tensor, begin, end)
        if found is None:
            continue
        if not found:
            owner = _add(stays, memory, (tensor, begin, end), pages)
            if owner is not None:
                kept.add(owner)
                count += 1
        elif _grow(stays[found[0]], found[0], memory, (begin, end), pages):
            count += 1
    return count


def _add(stays: list[Stay], memory: Memory, where: tuple[int, int, int], pages: int) -> int | None:
    """A new stay in the smallest run that holds all of it, else in the largest."""
    tensor, begin, end = where
    low, high = memory.around(begin, end, -2).free_runs(memory.pages)
    if not low.size:
        return None
    room = high - low
    enough = np.flatnonzero(room >= pages)
    run = enough[room[enough].argmin()] if enough.size else room.argmax()
    heights = np.full(end - begin, min(pages, int(room[run])))
    stays.append(Stay(tensor=tensor, begin=begin, heights=heights, base=int(low[run])))
    memory.take(len(stays) - 1, int(low[run]), begin, heights)
    return len(stays) - 1


def _grow(stay: Stay, owner: int, memory: Memory, span: tuple[int, int], pages: int) -> bool:
    """Make the stay as high as it can be in the steps ``span``, and last as long."""
    begin, end = span
    inside = slice(max(begin - stay.begin, 0), max(end - stay.begin, 0))
    covered = stay.begin <= begin and end <= stay.end
    least = int(stay.heights[inside].min()) if covered else 0
    if least >= pages:
        return False
    taken = memory.around(begin, end, owner)
    above = taken.low[taken.high > stay.base]
    room = min(pages, int(above.min(initial=memory.pages)) - stay.base)
    if room <= least:
        return False
    first, last = min(begin, stay.begin), max(end, stay.end)
    heights = np.zeros(last - first, np.int64)
    heights[stay.begin - first : stay.end - first] = stay.heights
    kept = heights[begin - first : end - first]
    np.maximum(kept, room, out=kept)
    stay.begin, stay.heights = first, heights
    memory.take(owner, int(stay.base), first, heights)
    return True


class _Kept:
    """Stays of each tensor."""

    def __init__(self, stays: list[Stay]) -> None:
        self._stays = stays
        self._of: defaultdict[int, list[int]] = defaultdict(list)
        for owner in range(len(stays)):
            self.add(owner)

    def add(self, owner: int) -> None:
        self._of[self._stays[owner].tensor].append(owner)

    def around(self, tensor: int, begin: int, end: int) -> list[int] | None:
        """The one stay that ``[begin, end)`` touches or adjoins, none, or None for several."""
        met = [
            owner
            for owner in self._of[tensor]
            if self._stays[owner].begin <= end and self._stays[owner].end >= begin
        ]
        if len(met) > 1 or any(self._stays[owner].base < 0 for owner in met):
            return None
        inside = [o for o in met if self._stays[o].begin < end and self._stays[o].end > begin]
        return inside if len(inside) == len(met) else None
