"""When the rows of batches are loaded and stored: in queues beside the computation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from spmopt.assemble.cost import sum_up, transfer_cycles
from spmopt.core.machine import Machine
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline
from spmopt.policies.double_buffer.batches import Batches
from spmopt.policies.gaps import PageMoves, Transfers, transfers_of
from spmopt.policies.rows import WholeRows

Times = NDArray[np.float64]
Moved = tuple[Transfers, Transfers]
"""Loads and stores of rows."""
_ALWAYS = np.iinfo(np.int64).max


def spread(machine: Machine, timeline: Timeline, batches: Batches, rows: WholeRows) -> Moved:
    """Loads in the batch before their use, stores in the batch after their last one.

    While a batch computes, the other half first empties and then fills, evenly over the
    batch's compute time. Its last results must be out early where they would be in the way of
    loads: that much of them is stored at the end of their own batch.
    """
    return _Spread(machine, timeline, batches, rows).transfers()


class _Spread:
    """The rows, their batches, and the batches that their transfers run beside."""

    def __init__(
        self, machine: Machine, timeline: Timeline, batches: Batches, rows: WholeRows
    ) -> None:
        self._machine, self._timeline = machine, timeline
        self._batches, self._rows = batches, rows
        # Compute time before each step, and in all, of steps that never wait.
        self._clock = np.append(0.0, np.cumsum(timeline.compute_cycles, dtype=np.float64))
        moved = timeline.moved.of(timeline.tensor[rows.first], rows.size_bytes)
        self._cycles = transfer_cycles(machine, moved)
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

    def transfers(self) -> Moved:
        rows, page = self._rows, self._machine.page_bytes
        loads, stores = self._beside()
        stores = PageMoves.together(self._make_room(loads, stores), self._stores_elsewhere())
        loads = PageMoves.together(loads, self._loads_elsewhere())
        # One step is without the tensor: else it would be no load but a part kept.
        left = rows.last_use + 2
        np.maximum.at(left, stores.item, stores.step + 2)
        away = np.where(rows.previous_row >= 0, left[rows.previous_row], 0)
        earliest = np.minimum(np.maximum(rows.previous_use + 1, away), rows.first_use)
        loads = replace(loads, step=np.maximum(loads.step, earliest[loads.item]))
        size = rows.size_bytes
        return (
            transfers_of(page, rows.first, size, loads, short_first=False),
            transfers_of(page, rows.last, size, stores, short_first=True),
        )

    def _latest(self) -> Ints:
        """(k,) Last step in which a row may be stored, so that it is away before it is loaded."""
        rows, latest = self._rows, np.full(self._rows.tensor.size, _ALWAYS)
        again = np.flatnonzero(rows.loads[1:] & (rows.tensor[1:] == rows.tensor[:-1]))
        latest[again] = self._batches.last_chance[self._used_from[again + 1]] - 2
        return latest

    def _beside(self) -> tuple[PageMoves, PageMoves]:
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
        start, stop = evenly(self._cycles[row], window, self._clock[begin])
        first, last = begin[window], begin[window + 1] - 1
        loads, stores = (
            self._cut(row[k], start[k], stop[k], first[k], last[k]) for k in (is_load, ~is_load)
        )
        return loads, replace(stores, step=np.minimum(stores.step, self._last_store[stores.item]))

    def _make_room(self, loads: PageMoves, stores: PageMoves) -> PageMoves:
        """Stores, of which as much as is in the way of loads is done before the batch begins.

        Tensors stored last go: it is in the way in every step in which anything is.
        """
        excess = self._excess(loads, stores)
        if not excess.any():
            return stores
        begin, batch = self._batches.begin, self._used_to[stores.item] + 1
        # Latest stores first: they are in the way in every step in which any are.
        order = np.lexsort((self._rows.last_write[stores.item], -stores.step, batch))
        stores, batch = stores.take(order), batch[order]
        inside = np.where(stores.step >= begin[batch], stores.pages, 0)
        total = sum_up(begin.size - 1, batch, inside)
        before = np.cumsum(inside) - inside - (np.cumsum(total) - total)[batch]
        early = np.clip(excess[batch] - before, 0, inside)
        some = np.flatnonzero(early)
        moved = PageMoves(item=stores.item[some], step=begin[batch[some]] - 1, pages=early[some])
        left = PageMoves(item=stores.item, step=stores.step, pages=stores.pages - early)
        return PageMoves.together(left.take(left.pages > 0), moved)

    def _excess(self, loads: PageMoves, stores: PageMoves) -> Ints:
        """(g,) Pages that are too many in a batch, in the step where most are."""
        begin, steps = self._batches.begin, self._timeline.steps
        change = np.zeros(steps + 1, np.int64)
        first = begin[self._used_to[stores.item] + 1]
        inside = np.flatnonzero(stores.step >= first)
        np.add.at(change, first[inside], stores.pages[inside])
        np.subtract.at(change, stores.step[inside] + 1, stores.pages[inside])
        np.add.at(change, loads.step, loads.pages)
        np.subtract.at(change, begin[self._used_from[loads.item]], loads.pages)
        # Pages on their way beyond the room of the other half, step by step.
        over = np.cumsum(change)[:-1] - self._other_half()[self._batches.of_step]
        return np.maximum(np.maximum.reduceat(over, begin[:-1]), 0)

    def _other_half(self) -> Ints:
        """(g,) Pages beside those of a batch, and of tensors that remain through it."""
        rows, begin, page = self._rows, self._batches.begin, self._machine.page_bytes
        change = np.zeros(begin.size, np.int64)
        np.add.at(change, self._used_from, rows.pages)
        np.subtract.at(change, self._used_to + 1, rows.pages)
        scratch = np.maximum.reduceat(-(-self._timeline.scratch_bytes // page), begin[:-1])
        other: Ints = self._machine.spm_pages - scratch - np.cumsum(change)[:-1]
        return other

    def _stores_elsewhere(self) -> PageMoves:
        """Stores of the last batch, as soon as they are written; others at their batch's end."""
        rows, final = self._rows, self._timeline.steps - 1
        last = np.flatnonzero(self._stored_last)
        last = last[np.argsort(rows.last_write[last], kind="stable")]
        written = rows.last_write[last]
        start, stop = soon(self._cycles[last], self._clock[written + 1])
        pieces = self._cut(
            last, start, stop, np.minimum(written + 1, final), np.full(last.size, final)
        )
        rest = np.flatnonzero(rows.stores & ~self._stored_last & ~self._stored_beside)
        end = self._batches.begin[self._used_to[rest] + 1] - 1
        step = np.minimum(end, self._last_store[rest])
        return PageMoves.together(pieces, PageMoves(item=rest, step=step, pages=rows.pages[rest]))

    def _loads_elsewhere(self) -> PageMoves:
        """Loads of the first batch, as late as possible; others when their batch begins."""
        rows = self._rows
        first = np.flatnonzero(self._loaded_first)
        first = first[np.argsort(rows.first_use[first], kind="stable")]
        use = rows.first_use[first]
        start, stop = late(self._cycles[first], self._clock[use])
        pieces = self._cut(first, start, stop, np.zeros_like(use), np.maximum(use - 1, 0))
        rest = np.flatnonzero(rows.loads & ~self._loaded_first & ~self._loaded_beside)
        begin = self._batches.begin[self._used_from[rest]]
        return PageMoves.together(pieces, PageMoves(item=rest, step=begin, pages=rows.pages[rest]))

    def _cut(self, row: Ints, start: Times, stop: Times, first: Ints, last: Ints) -> PageMoves:
        """Pages of each transfer by steps, in proportion to its time; the last step has the rest.

        These two take the bytes of steps before ``first`` or after ``last``. Rounded
        pages and computation that waits change when bytes move, never how many.
        """
        end = self._clock[1:]
        low = np.clip(np.searchsorted(end, start, "right"), first, last)
        high = np.clip(np.searchsorted(end, stop, "left"), low, last)
        count = high - low + 1
        item = np.repeat(np.arange(low.size), count)
        begins = np.cumsum(count) - count
        step = np.arange(item.size) - begins[item] + low[item]
        length = np.maximum(stop - start, np.finfo(float).tiny)
        share = np.clip((end[step] - start[item]) / length[item], 0, 1)
        pages = self._rows.pages[row[item]]
        done = np.minimum(np.floor(share * pages).astype(np.int64), pages)
        done = np.where(step == high[item], pages, done)
        moved = np.diff(done, prepend=0)
        moved[begins] = done[begins]
        some = np.flatnonzero(moved)
        return PageMoves(item=row[item[some]], step=step[some], pages=moved[some])


def evenly(cycles: Ints, window: Ints, begin: Times) -> tuple[Times, Times]:
    """Start and stop of transfers that follow one another, a queue for each batch.

    Each queue takes exactly as long as its batch computes, however long its transfers are: in
    every step of the batch transfers and computation then have the same ratio.

    Parameters
    ----------
    cycles, window : (k,)
        Of the transfers, in the order of the queues, by batch.
    begin : (g + 1,)
        When each batch begins, and when the last one ends.
    """
    stop = np.cumsum(cycles, dtype=np.float64)
    total = np.bincount(window, cycles, begin.size - 1)
    before = (np.cumsum(total) - total)[window]
    ratio = np.diff(begin)[window] / np.maximum(total[window], 1)
    start = begin[window] + (stop - cycles - before) * ratio
    return start, start + cycles * ratio


def late(cycles: Ints, due: Times) -> tuple[Times, Times]:
    """Start and stop of transfers, one at a time, each as late as possible; ``due`` increases."""
    total = np.cumsum(cycles, dtype=np.float64)
    slack = np.minimum.accumulate((due - total)[::-1])[::-1]
    return slack + total - cycles, slack + total


def soon(cycles: Ints, ready: Times) -> tuple[Times, Times]:
    """Start and stop of transfers, one at a time, as soon as possible; ``ready`` increases."""
    total = np.cumsum(cycles, dtype=np.float64)
    delay = np.maximum.accumulate(ready - (total - cycles))
    return delay + total - cycles, delay + total
