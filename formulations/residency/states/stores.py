"""Stores of a step: up to begins of pages, or as much as the channel has idle time for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from formulations.residency.states.duals import NEVER, POINT
from formulations.residency.states.layer import Layer
from formulations.residency.states.moves import Moves
from spmopt.core.table import Bools, Ints

# Why these stores suffice. While the operation computes the channel is idle for W cycles beside all
# else; a store in them is free, and each cycle beyond costs one. The bandwidth is a / b bytes a
# cycle, so that b cycles move a bytes and rounding is the same after them as before. A store ends
# at the begin of a page, or behind it inside a page. In the latter case another store of the tensor
# follows before the page has to be clean; else the rest was for nothing. Cycles beyond W may go to
# that one, by b, at no more cost, until fewer than b are beyond it or the begin of the page is
# passed; bytes of that one may come now as long as cycles are idle. So each tensor is stored up to
# the begin of a page, with all that moves in the same cycles or fewer than b more; or it fills:
# fills together end with the idle cycles, or fewer than b after them.
# Without set-up and with b = 1 one fill a step is enough: with the stores of each step in cycles as
# given, they may be shared out anew, always to the tensor whose next page has to be clean first.
# Cycles trade one for one, and a further command costs nothing; so of all tensors in a step only
# the last one served ends inside a page.
# Where bytes are rounded up no cycles beyond are needed: of k cycles of a store let c go to a later
# one; their bytes fit c cycles there, and the rest is rounded up in the others.
_FINE = 8
"""Most cycles that a whole number of bytes may take for fills to be exact in bytes and cycles."""
_SHORT = 16
"""Most cycles of a page for stores of each number of cycles to be tried, where the former is more:
then these are exact, too, and none fills."""
_FILL = -1
"""In place of the bytes left dirty: as few as the idle channel can do."""


class Stores:
    """Chooses the stores of moves whose pages are chosen (R5)."""

    def __init__(self, moves: Moves) -> None:
        self.moves, self.layout = moves, moves.layout
        parts = moves.work.effort.parts
        self._parts = parts[moves.step] if parts else 0
        layout = self.layout
        # Without set-up, and in whole cycles, one fill is enough: what is needed first, first.
        self._one = not layout.setup and layout.per == 1
        page = -(-layout.page * layout.per // layout.rate)
        self._short = page < min(layout.per, _SHORT + 1)
        exact = layout.per == 1 or self._short or (layout.per <= _FINE and self._parts > 1)
        # Bytes that do not take whole cycles are rounded up until it turns out to matter.
        self._rounded = layout.per - 1 if self._parts and not exact else 0
        # Cycles beyond the idle ones that a store may take: then its bytes may round better.
        self._beyond = layout.per - 1 if exact else 0

    def choose(self) -> Layer:
        """Decide the stores of each tensor; return the states that come of it."""
        moves = self.moves
        moves.left, moves.stored = np.zeros_like(moves.held), np.zeros_like(moves.held)
        last = moves.step == len(moves.facts.steps) - 1
        for tensor in np.flatnonzero(moves.of_step.live_after):
            self._choose_store(int(tensor), fills=not last)
        return Layer.stack([moves.finish() for moves in self._fill()])

    def _choose_store(self, tensor: int, *, fills: bool) -> None:
        moves, layout = self.moves, self.layout
        held, dirty = moves.held[:, tensor], moves.layer.dirty[moves.from_row, tensor]
        if moves.of_step.written[tensor]:
            dirty = layout.size[tensor, held]
        # Nothing to store: only the bound becomes what it is.
        if not dirty.any():
            moves.bound = moves.bound + self._relief(
                tensor, held, dirty, moves.next[tensor, held, 0]
            )
            return
        size, cycles, more = self._ways(tensor, held, dirty, fills=fills)
        row, way = np.nonzero(moves.bound[:, None] + more <= moves.limit)
        places = moves.keep(row, more[row, way])
        row, way = row[places], way[places]
        chosen, dirty = way == size.shape[1], dirty[row]
        size, time = (
            np.where(chosen, 0, each[row, np.minimum(way, each.shape[1] - 1)])
            for each in (size, cycles)
        )
        moves.left[:, tensor] = np.where(chosen, _FILL, dirty - size)
        moves.stored[:, tensor] = np.where(chosen, dirty, size)
        moves.dual = moves.dual + layout.out_byte * size
        moves.fills = moves.fills + chosen
        if layout.per <= _FINE:
            moved = np.maximum(time - layout.setup, 0) * layout.rate
            moves.rough = moves.rough | (size * layout.per > moved)
        if moves.mapping.after[tensor]:
            moves.after = moves.after + time
        else:
            moves.out = moves.out + np.where(chosen, layout.setup, time)

    def _ways(
        self, tensor: int, held: Ints, dirty: Ints, *, fills: bool
    ) -> tuple[Ints, Ints, Ints]:
        """Return (moves, ways) bytes stored and their cycles; and by how much the bound rises.

        A last way is to fill, for which only the bound is known.
        """
        moves, layout = self.moves, self.layout
        late = bool(moves.mapping.after[tensor])
        size, cycles = self._amounts(tensor, dirty)
        moves.work.look(size.size)
        left = dirty[:, None] - np.maximum(size, 0)
        rate = layout.cycle << POINT if late else int(moves.duals.out[moves.step])
        costs = rate * cycles + ((layout.out_byte * size) << POINT)
        costs = costs + moves.next[tensor][held[:, None], layout.pages_filled(left, tensor)]
        fill = moves.next[tensor, held, 0] + rate * (layout.setup + 1)
        fill = np.where(self._may_fill((dirty > 1) & (fills and not late)), fill, NEVER)
        costs = np.concatenate((np.where(size < 0, NEVER, costs), fill[:, None]), axis=1)
        return size, cycles, np.minimum(self._relief(tensor, held, dirty, costs.T).T, NEVER)

    def _may_fill(self, may_fill: Bools) -> Bools:
        """Return which of those that may fill do, as far as stores do not share.

        Where that, or bytes rounded down, is not all there is, nothing is proved.
        """
        if self._short:
            return np.zeros_like(may_fill)
        if self._parts and not self._one:
            return may_fill
        # One fill a step is enough (above); where it is not, nothing is proved.
        first: Bools = self.moves.fills == 0
        if not self._one and (self.layout.per > 1 or (may_fill & ~first).any()):
            self.moves.work.exhaustive = False
        return may_fill & first

    def _amounts(self, tensor: int, dirty: Ints) -> tuple[Ints, Ints]:
        """Return (moves, ways) bytes that may be stored, but for fills, -1 for none; and cycles.

        Nothing; up to the begin of a page, and bytes that move in the same whole cycles; and that
        with up to a whole number of bytes in whole cycles more, as far as the page before. Or the
        bytes that move in each number of cycles.
        """
        layout, target = self.layout, self.layout.size[tensor]
        exact = dirty[:, None] - target
        if self._short:
            return self._of_each_cycle(dirty, exact)
        busy = -(-exact * layout.per // layout.rate)
        before = dirty[:, None] - np.concatenate(([0], target[:-1]))
        nothing = np.zeros((dirty.size, 1), np.int64)
        ways, cycles = [nothing], [nothing]
        if layout.out_byte:
            ways.append(np.where(exact > 0, exact, -1))
            cycles.append(layout.setup + busy)
        last = np.full_like(exact, -1)
        for beyond in range(self._beyond + 1):
            size = ((busy + beyond) * layout.rate + self._rounded) // layout.per
            more = np.minimum(size, dirty[:, None])
            good = (exact > 0) & (more > last) & ((beyond == 0) | (more < before))
            ways.append(np.where(good, more, -1))
            cycles.append(np.minimum(layout.cycles(more), layout.setup + busy + beyond))
            last = np.maximum(last, more)
        return np.concatenate(ways, axis=1), np.concatenate(cycles, axis=1)

    def _of_each_cycle(self, dirty: Ints, exact: Ints) -> tuple[Ints, Ints]:
        """Return nothing, all up to the begin of each page.

        And the bytes that move in so many cycles.
        """
        layout = self.layout
        most = -(-int(dirty.max(initial=0)) * layout.per // layout.rate)
        moved = np.arange(most + 1) * layout.rate // layout.per
        more = np.minimum(moved[1:], dirty[:, None])
        ways = [np.zeros((dirty.size, 1), np.int64), np.where(more > moved[:-1], more, -1)]
        if layout.out_byte:
            ways.append(np.where(exact > 0, exact, -1))
        size = np.concatenate(ways, axis=1)
        return size, layout.cycles(size)

    def _relief(self, tensor: int, held: Ints, dirty: Ints, costs: Ints) -> Ints:
        """Return ``costs`` in place of the best ones that the bound has so far."""
        filled = self.layout.pages_filled(dirty, tensor)
        relief: Ints = costs - self.moves.costs.kept[tensor, held, filled]
        return relief

    def _fill(self) -> Iterator[Moves]:
        """Let fills have idle time, and up to a whole number of bytes in whole cycles more."""
        moves = self.moves
        yield moves.take(np.flatnonzero(moves.fills == 0))
        for beyond in range(self._beyond + 1 if moves.fills.any() else 0):
            alone, busy = moves.times()
            time = alone - busy + beyond
            for fills in np.unique(moves.fills[moves.fills > 0]):
                rows = np.flatnonzero((moves.fills == fills) & (time >= fills))
                places, got, fine = self._divide(time[rows], int(fills))
                yield self._with_fills(rows[places], time[rows[places]], got, fine)

    def _divide(self, time: Ints, fills: int) -> tuple[Ints, Ints, Bools]:
        """Divide cycles among fills: in every way, or so that each has a part too much at most.

        Returns
        -------
        places, got, fine
            (ways,) places in ``time``; (ways, fills) cycles; (ways,) whether they are no more.
        """
        if fills == 1:
            return np.arange(time.size), time[:, None], np.ones(time.size, bool)
        parts, most = self._parts, np.maximum(time - fills + 1, 0)
        count = np.minimum(most, parts)
        self.moves.work.share(int(count.sum()))
        places = np.repeat(np.arange(time.size), count)
        first = np.arange(places.size) - np.repeat(np.cumsum(count) - count, count) + 1
        time, fine = time[places], most[places] <= parts
        rest = np.where(fine, time - first, (parts + 1 - first) * time // parts)
        first = np.where(fine, first, first * time // parts)
        further, got, all_fine = self._divide(rest, fills - 1)
        got = np.concatenate((first[further, None], got), axis=1)
        return places[further], got, fine[further] & all_fine

    def _with_fills(self, rows: Ints, time: Ints, got: Ints, fine: Bools) -> Moves:
        """Return some moves, whose fills take ``time`` together and got so much each, in order.

        Where that is not ``fine``, they got more than there is, and their bytes are rounded up.
        """
        moves, layout = self.moves, self.layout
        fill, dirty = moves.left[rows] == _FILL, moves.stored[rows]
        rank = np.clip(np.cumsum(fill, axis=1) - 1, 0, got.shape[1] - 1)
        size = np.take_along_axis(got, rank, axis=1) * layout.rate
        exact = fine & (not self._rounded)
        uneven = (fill & (size % layout.per > 0)).any(axis=1) & ~exact & (layout.per <= _FINE)
        size = (size + np.where(exact, 0, layout.per - 1)[:, None]) // layout.per
        # All of it, if the channel has the time, is one of the other choices; so is nothing.
        vain = (fill & ((size >= dirty) | (size == 0))).any(axis=1) & exact
        size = np.where(fill, np.minimum(size, dirty - 1), 0)
        good = np.flatnonzero(~vain)
        return moves.take(
            rows[good],
            left=np.where(fill, dirty - size, moves.left[rows])[good],
            stored=np.where(fill, size, dirty)[good],
            dual=(moves.dual[rows] + layout.out_byte * size.sum(axis=1))[good],
            out=(moves.out[rows] + time)[good],
            rough=(moves.rough[rows] | ~fine | uneven)[good],
        )
