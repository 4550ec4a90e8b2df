"""When the rows of batches are loaded and stored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spmopt.assemble.cost import summed, transfer_cycles
from spmopt.core.machine import Machine
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline
from spmopt.policies.double_buffer.batches import Batches
from spmopt.policies.double_buffer.queues import Clock, Queued, evenly, late, soon
from spmopt.policies.transfers.idle import Pieces
from spmopt.policies.transfers.moves import Moves, earliest_load, load_moves, store_moves
from spmopt.policies.transfers.rows import WholeRows

_ALWAYS = np.iinfo(np.int64).max


@dataclass(frozen=True, kw_only=True, eq=False)
class Transfers:
    """Loads and stores of ``rows``, in pieces."""

    rows: WholeRows
    loads: Moves
    stores: Moves


def spread(machine: Machine, timeline: Timeline, batches: Batches, rows: WholeRows) -> Transfers:
    """Loads in the batch before their use, stores in the batch after their last one.

    While a batch computes, the other half first empties and then fills, evenly over the
    batch's compute time. Its last results must be out early where they would be in the way of
    what comes: that much of them is stored at the end of their own batch.
    """
    return _Spread(machine, timeline, batches, rows).transfers()


class _Spread:
    """The rows, their batches, and the batches that their transfers run beside."""

    def __init__(
        self, machine: Machine, timeline: Timeline, batches: Batches, rows: WholeRows
    ) -> None:
        self._machine, self._timeline = machine, timeline
        self._batches, self._rows = batches, rows
        self._clock = Clock.of(timeline)
        self._cycles = transfer_cycles(machine, rows.size_bytes)
        self._used_from = batches.of_step[rows.first_use]
        self._used_to = batches.of_step[rows.last_use]
        self._last_store = self._latest()
        count = batches.alone.size
        after = np.append(batches.beside, False)[self._used_to + 1]
        # A tensor that comes back for the next batch has left before this one ends.
        after &= self._last_store >= batches.begin[self._used_to + 1] - 1
        self._stored_beside: Bools = rows.stores & after
        self._stored_last: Bools = rows.stores & (self._used_to == count - 1)
        self._loaded_beside: Bools = rows.loads & batches.beside[self._used_from]
        self._loaded_first: Bools = rows.loads & (self._used_from == 0)

    def transfers(self) -> Transfers:
        rows, page = self._rows, self._machine.page_bytes
        every = np.arange(rows.tensor.size)
        loads, stores = self._beside()
        stores = self._made_room(loads, stores)
        stores = Pieces.together(stores, self._stores_elsewhere())
        moves = store_moves(page, rows, every, stores)
        loads = Pieces.together(loads, self._loads_elsewhere())
        earliest = np.minimum(earliest_load(rows, moves), rows.first_use)
        loads = _at(loads, np.maximum(loads.step, earliest[loads.item]))
        return Transfers(rows=rows, loads=load_moves(page, rows, every, loads), stores=moves)

    def _latest(self) -> Ints:
        """(k,) Last step in which a row may be stored, so that it is away before it is loaded."""
        rows, latest = self._rows, np.full(self._rows.tensor.size, _ALWAYS)
        again = np.flatnonzero(rows.loads[1:] & (rows.tensor[1:] == rows.tensor[:-1]))
        latest[again] = self._batches.last_chance[self._used_from[again + 1]] - 2
        return latest

    def _beside(self) -> tuple[Pieces, Pieces]:
        """Loads and stores in queues beside batches, the stores before the loads."""
        rows, begin = self._rows, self._batches.begin
        stored, loaded = np.flatnonzero(self._stored_beside), np.flatnonzero(self._loaded_beside)
        row = np.concatenate((stored, loaded))
        window = np.concatenate((self._used_to[stored] + 1, self._used_from[loaded] - 1))
        is_load = np.repeat([False, True], [stored.size, loaded.size])
        # What was written last goes first: the rest may have to be stored even earlier.
        turn = np.concatenate((-rows.last_write[stored], rows.first_use[loaded]))
        order = np.lexsort((row, turn, is_load, window))
        row, window, is_load = row[order], window[order], is_load[order]
        start, stop = evenly(self._cycles[row], window, self._clock.begin[begin])
        pieces = self._clock.cut(
            Queued(
                pages=rows.pages[row],
                start=start,
                stop=stop,
                first=begin[window],
                last=begin[window + 1] - 1,
            )
        )
        loads, stores = (_of(row, pieces.take(is_load[pieces.item] == kind)) for kind in (1, 0))
        return loads, _at(stores, np.minimum(stores.step, self._last_store[stores.item]))

    def _made_room(self, loads: Pieces, stores: Pieces) -> Pieces:
        """Stores, of which as much as is in the way of loads is done before the batch begins.

        What is stored last goes: it is in the way in every step in which anything is.
        """
        excess = self._excess(loads, stores)
        if not excess.any():
            return stores
        begin, batch = self._batches.begin, self._used_to[stores.item] + 1
        order = np.lexsort((self._rows.last_write[stores.item], -stores.step, batch))
        stores, batch = stores.take(order), batch[order]
        inside = np.where(stores.step >= begin[batch], stores.pages, 0)
        total = summed(begin.size - 1, batch, inside)
        before = np.cumsum(inside) - inside - (np.cumsum(total) - total)[batch]
        early = np.clip(excess[batch] - before, 0, inside)
        some = np.flatnonzero(early)
        moved = Pieces(item=stores.item[some], step=begin[batch[some]] - 1, pages=early[some])
        left = Pieces(item=stores.item, step=stores.step, pages=stores.pages - early)
        return Pieces.together(left.take(left.pages > 0), moved)

    def _excess(self, loads: Pieces, stores: Pieces) -> Ints:
        """(g,) Pages that are too many in a batch, in the step where most are."""
        begin, steps = self._batches.begin, self._timeline.steps
        change = np.zeros(steps + 1, np.int64)
        first = begin[self._used_to[stores.item] + 1]
        inside = np.flatnonzero(stores.step >= first)
        np.add.at(change, first[inside], stores.pages[inside])
        np.subtract.at(change, stores.step[inside] + 1, stores.pages[inside])
        np.add.at(change, loads.step, loads.pages)
        np.subtract.at(change, begin[self._used_from[loads.item]], loads.pages)
        over = np.cumsum(change)[:-1] - self._other_half()[self._batches.of_step]
        return np.maximum(np.maximum.reduceat(over, begin[:-1]), 0)

    def _other_half(self) -> Ints:
        """(g,) Pages beside those of a batch, and of what stays through it."""
        rows, begin, page = self._rows, self._batches.begin, self._machine.page_bytes
        change = np.zeros(begin.size, np.int64)
        np.add.at(change, self._used_from, rows.pages)
        np.subtract.at(change, self._used_to + 1, rows.pages)
        scratch = np.maximum.reduceat(-(-self._timeline.scratch_bytes // page), begin[:-1])
        other: Ints = self._machine.spm_pages - scratch - np.cumsum(change)[:-1]
        return other

    def _stores_elsewhere(self) -> Pieces:
        """Stores of the last batch, as soon as they are written; others at their batch's end."""
        rows, final = self._rows, self._timeline.steps - 1
        last = np.flatnonzero(self._stored_last)
        last = last[np.argsort(rows.last_write[last], kind="stable")]
        written = rows.last_write[last]
        start, stop = soon(self._cycles[last], self._clock.begin[written + 1])
        pieces = self._clock.cut(
            Queued(
                pages=rows.pages[last],
                start=start,
                stop=stop,
                first=np.minimum(written + 1, final),
                last=np.full(last.size, final),
            )
        )
        rest = np.flatnonzero(rows.stores & ~self._stored_last & ~self._stored_beside)
        end = self._batches.begin[self._used_to[rest] + 1] - 1
        step = np.minimum(end, self._last_store[rest])
        return Pieces.together(
            _of(last, pieces), Pieces(item=rest, step=step, pages=rows.pages[rest])
        )

    def _loads_elsewhere(self) -> Pieces:
        """Loads of the first batch, as late as possible; others when their batch begins."""
        rows = self._rows
        first = np.flatnonzero(self._loaded_first)
        first = first[np.argsort(rows.first_use[first], kind="stable")]
        use = rows.first_use[first]
        start, stop = late(self._cycles[first], self._clock.begin[use])
        pieces = self._clock.cut(
            Queued(
                pages=rows.pages[first],
                start=start,
                stop=stop,
                first=np.zeros(first.size, np.int64),
                last=np.maximum(use - 1, 0),
            )
        )
        rest = np.flatnonzero(rows.loads & ~self._loaded_first & ~self._loaded_beside)
        begin = self._batches.begin[self._used_from[rest]]
        return Pieces.together(
            _of(first, pieces), Pieces(item=rest, step=begin, pages=rows.pages[rest])
        )


def _of(row: Ints, pieces: Pieces) -> Pieces:
    """Pieces of transfers as pieces of their rows."""
    return Pieces(item=row[pieces.item], step=pieces.step, pages=pieces.pages)


def _at(pieces: Pieces, step: Ints) -> Pieces:
    return Pieces(item=pieces.item, step=step, pages=pieces.pages)
