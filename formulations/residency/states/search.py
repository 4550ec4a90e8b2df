"""The cheapest way through all states: which pages of each tensor are resident, which are dirty.

Layer by layer, all states after a step that may still lead to less than the best schedule known.
A state is (pages, dirty bytes) of each tensor, and stands for all schedules that lead to it; the
cheapest is kept. Which moves are left out, and why none of them is missed: README.md, "States".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from formulations.residency.states.facts import Facts, ModeFacts
from formulations.residency.states.prices import NEVER, POINT, CostsToGo, arrivals
from spmopt.core.table import Bools, Ints

_CHUNK = 1 << 12
"""States that are gone on from at a time."""
_AT_ONCE = 2_000_000
"""Moves at a time, of some 400 bytes each."""
_STRONG = 1024
"""States of least bound that all others are compared with, to see whether they are dominated."""
_WAYS = 10
"""Moves that go on for each state, where these are limited."""
_FINE = 8
"""Most cycles that a whole number of bytes may take for stores to be exact in bytes and cycles."""
_SHORT = 16
"""Most cycles of a page for stores of each number of cycles to be tried, where the former is more:
then these are exact, too, and none fills."""
_FILL = -1
"""In place of the bytes left dirty: as few as the idle channel can do."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Layer:
    """States after a step, each with the cheapest way into it.

    Attributes
    ----------
    pages, dirty : (s, m)
        Resident pages and dirty bytes of each tensor.
    cost : (s,)
        Of all steps so far.
    bound : (s,)
        Of every schedule through the state, in the units of prices.
    before : (s,)
        The state of the layer before.
    mode : (s,)
        Of the step, by its place among those that fit.
    held, stored : (s, m)
        Pages resident in the step, and bytes stored.
    """

    pages: Ints
    dirty: Ints
    cost: Ints
    bound: Ints
    before: Ints
    mode: Ints
    held: Ints
    stored: Ints

    def rows(self, chosen: Ints | Bools) -> Layer:
        """Return some of the states."""
        return Layer(**{name: getattr(self, name)[chosen] for name in _FIELDS})


_FIELDS = ("pages", "dirty", "cost", "bound", "before", "mode", "held", "stored")


class TooLargeError(Exception):
    """More moves than allowed, or than there is time for."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How far a search goes.

    ``moves`` are looked at in all, at most. ``states``: of each layer only so many of least
    bound go on, and of the moves from them ten times as many as they are chosen; then nothing is
    proved. ``parts``: into which an idle channel is cut where two stores share it.
    """

    moves: int
    states: int | None = None
    parts: int = 8


class StateSearch:
    """A search for schedules that cost less than ``below``."""

    def __init__(
        self,
        costs: CostsToGo,
        below: int,
        effort: Effort,
        late: Callable[[], bool] = lambda: False,
    ) -> None:
        self._late = late
        self.facts: Facts = costs.facts
        self.costs, self.effort = costs, effort
        self.limit = (below - 1) << POINT
        self.moves = 0
        self.exhaustive = True
        self.layers: list[Layer] = []

    def run(self) -> Layer | None:
        """Return the cheapest last state; None where all ways cost ``below`` or more.

        Raises
        ------
        TooLargeError
            There are too many moves, or it is late.
        """
        layer = self._first()
        for step in range(len(self.facts.steps)):
            found = [self._after(step, layer, mode) for mode in range(self._modes(step))]
            layer = undominated(_stacked(found))
            most = self.effort.states
            if most is not None and len(layer.cost) > most:
                layer = layer.rows(np.argsort(layer.bound, kind="stable")[:most])
                self.exhaustive = False
            self.layers.append(layer)
            if not len(layer.cost):
                return None
        return layer.rows(np.array([int(layer.cost.argmin())]))

    def path(self) -> list[tuple[int, Ints, Ints]]:
        """Return mode, pages held and bytes stored of each step on the way to the cheapest."""
        found, at = [], int(self.layers[-1].cost.argmin())
        for layer in reversed(self.layers):
            found.append((int(layer.mode[at]), layer.held[at], layer.stored[at]))
            at = int(layer.before[at])
        return found[::-1]

    def _modes(self, step: int) -> int:
        return len(self.facts.steps[step].modes)

    def _first(self) -> Layer:
        nothing = np.zeros((1, self.facts.layout.pages.size), np.int64)
        zero = np.zeros(1, np.int64)
        return Layer(
            pages=nothing,
            dirty=nothing,
            cost=zero,
            bound=zero + self.costs.bound,
            before=zero,
            mode=zero,
            held=nothing,
            stored=nothing,
        )

    def _after(self, step: int, layer: Layer, mode: int) -> Layer:
        """All states after a step in a mode."""
        found, width = [_none(layer)], _CHUNK
        for begin in range(0, len(layer.cost), width):
            rows = np.arange(begin, min(begin + width, len(layer.cost)))
            moves = _Moves(self, step, mode, layer, rows)
            moves.choose_pages()
            moves.choose_stores()
            found.append(undominated(moves.finished()))
        return _stacked(found)

    def count(self, moves: int) -> None:
        """Count moves looked at, before they take up memory."""
        self.moves += moves
        if moves > _AT_ONCE or self.moves > self.effort.moves or self._late():
            raise TooLargeError


class _Moves:
    """Moves of a step in a mode, a row each, chosen tensor by tensor."""

    def __init__(self, search: StateSearch, step: int, mode: int, layer: Layer, rows: Ints) -> None:
        self.search, self.step, self.layer = search, step, layer
        self.of_step = search.facts.steps[step]
        self.layout, self.mode_index = search.facts.layout, mode
        self.mode: ModeFacts = self.of_step.modes[mode]
        self.prices, costs = search.costs.prices, search.costs
        self.costs, self.next = costs.modes[step][mode], costs.to_go[step + 1]
        self.toll = self.prices.toll[step][mode]
        self.now = costs.to_go[step]
        base = self.costs.base - int(self.toll.sum())
        base -= int(self.prices.page[step]) * self.layout.capacity
        self.from_row = rows
        self.bound = layer.bound[rows] + base + costs.base[step + 1] - costs.base[step]
        self.held = np.zeros((rows.size, self.layout.pages.size), np.int64)
        self.free = np.full(rows.size, self.layout.capacity - self.mode.scratch_pages)
        zero = np.zeros(rows.size, np.int64)
        self.into, self.out, self.before, self.after = zero, zero, zero, zero
        self.price, self.fills = zero, zero
        self.least_ahead = np.full(rows.size, NEVER)
        self.gave_up = np.zeros(rows.size, bool)
        self.left = self.held
        self.stored = self.held

    _COLUMNS = (
        *("from_row", "bound", "held", "free", "into", "out", "before", "after", "price"),
        *("fills", "least_ahead", "gave_up", "left", "stored"),
    )

    def _keep(self, rows: Ints, more: Ints | int = 0) -> Ints:
        """Go on from some moves, whose bounds rise by ``more``; return which places of these."""
        bound = self.bound[rows] + more
        self.search.count(rows.size)
        most, places = self.search.effort.states, np.arange(rows.size)
        if most is not None and rows.size > _WAYS * most:
            places = np.argpartition(bound, _WAYS * most)[: _WAYS * most]
            self.search.exhaustive = False
        for name in self._COLUMNS:
            setattr(self, name, getattr(self, name)[rows[places]])
        self.bound = bound[places]
        return places

    def choose_pages(self) -> None:
        """Decide how much of each tensor is resident (R1 to R5)."""
        of_step = self.of_step
        ahead = arrivals(of_step, self.costs) + self.toll[:, None, None, None]
        ahead = np.minimum(ahead - self.now[..., None], NEVER)
        chosen = np.flatnonzero(of_step.used | of_step.live)
        # Those with the fewest choices first.
        chosen = chosen[np.argsort(~of_step.used[chosen], kind="stable")]
        for tensor in chosen:
            self._choose_pages(int(tensor), ahead[tensor])
        # Only what would not fit is given up, and only as much.
        fits = ~self.gave_up | (self.free == 0)
        # With two channels stores, which are not decided yet, may hide loads too.
        good = fits & self._hidden() if not self.layout.duplex else fits
        self._keep(np.flatnonzero(good))
        self._keep(np.flatnonzero(self._least() <= self.search.limit))
        self._keep(self._undominated())

    def _least(self) -> Ints:
        """Return what the moves cost at least, with the step's own time as it is, not as priced."""
        alone, busy = self._times()
        cost = self._cost_before() + self.layout.cycle * np.maximum(alone, busy)
        live = np.flatnonzero(self.of_step.live_after)
        ahead = self.next[live, self.held[:, live]].min(axis=2).sum(axis=1)
        least: Ints = (cost << POINT) + self.search.costs.base[self.step + 1] + ahead
        return least + self._dead_ahead()

    def _dead_ahead(self) -> int:
        """Return what tensors cost from the next step on whose contents are not needed then."""
        return int(self.next[~self.of_step.live_after, 0, 0].sum())

    def _cost_before(self) -> Ints:
        """Return the cost of each move but for the time of this step."""
        return self.layer.cost[self.from_row] + self.price + self.mode.fixed

    def _undominated(self) -> Ints:
        """Return moves to a state that no other is sooner than on the channel and off it."""
        if self.layout.duplex:
            return np.arange(self.bound.size)
        alone, busy = self._times()
        cost = self._cost_before()
        sooner, later = cost + self.layout.cycle * alone, cost + self.layout.cycle * busy
        dirty = np.where(self.of_step.written, self._sizes(), self.layer.dirty[self.from_row])
        state = (
            np.where(self.of_step.live_after, self.held, 0),
            np.where(self.of_step.live_after, dirty, 0),
        )
        keys = np.concatenate(state, axis=1)
        order = np.lexsort((later, sooner, *keys.T))
        keys, later = keys[order], later[order]
        group = np.concatenate(([0], np.cumsum((np.diff(keys, axis=0) != 0).any(axis=1))))
        apart = later - group * (int(later.max(initial=0)) + 1)
        best = np.minimum.accumulate(apart)
        kept = np.ones(order.size, bool)
        kept[1:] = apart[1:] < best[:-1]
        return order[kept]

    def _sizes(self) -> Ints:
        """Return (moves, m) resident bytes."""
        return self.layout.size[np.arange(self.layout.pages.size), self.held]

    def _hidden(self) -> Bools:
        """Whether each load ahead is hidden, in part at least; else it may as well come later."""
        busy, other = self.into - self.least_ahead, self.out
        compute = self.mode.compute_cycles
        hidden: Bools = np.maximum(compute, other) > busy
        return hidden if self.layout.duplex else busy + other < compute

    def _choose_pages(self, tensor: int, ahead: Ints) -> None:
        of_step, mode = self.of_step, self.mode
        old = self.layer.pages[self.from_row, tensor]
        dirty = self.layer.dirty[self.from_row, tensor]
        more = ahead[old, self.layout.filled_pages(dirty, tensor)]
        pages = np.arange(ahead.shape[2])
        good = (self.bound[:, None] + more <= self.search.limit) & (pages <= self.free[:, None])
        if of_step.live[tensor]:
            good &= pages >= self.layout.held_pages(dirty)[:, None]
        row, new = np.nonzero(good)
        places = self._keep(row, more[row, new])
        old, new = old[row[places]], new[places]
        self.held[:, tensor] = new
        self.free = self.free - new
        into = mode.into[tensor, old, new]
        self.into = self.into + into
        self.out = self.out + mode.out[tensor, old, new]
        self.before = self.before + mode.before[tensor, old, new]
        self.price = self.price + mode.price[tensor, old, new]
        if not of_step.written[tensor]:
            self.gave_up = self.gave_up | (new < old)
        if not of_step.used[tensor]:
            self.least_ahead = np.where(
                new > old, np.minimum(self.least_ahead, into), self.least_ahead
            )

    def choose_stores(self) -> None:
        """Decide what is stored (R5): up to the begin of a page, or what the idle channel takes."""
        self.left = np.zeros_like(self.held)
        self.stored = np.zeros_like(self.held)
        last = self.step == len(self.search.facts.steps) - 1
        for tensor in np.flatnonzero(self.of_step.live_after):
            self._choose_store(int(tensor), fills=not last)
        self._fill()

    def _choose_store(self, tensor: int, *, fills: bool) -> None:
        layout, full = self.layout, self.search.facts.layout.cycle << POINT
        held = self.held[:, tensor]
        dirty = self.layer.dirty[self.from_row, tensor]
        if self.of_step.written[tensor]:
            dirty = layout.size[tensor, held]
        if not dirty.any():
            self.bound = self.bound + self._relief(tensor, held, dirty, self.next[tensor, held, 0])
            return
        late = bool(self.mode.after[tensor])
        size, cycles = self._amounts(tensor, dirty)
        left = dirty[:, None] - np.maximum(size, 0)
        rate = full if late else int(self.prices.out[self.step])
        costs = rate * cycles + ((layout.out_byte * size) << POINT)
        costs = costs + self.next[tensor][held[:, None], layout.filled_pages(left, tensor)]
        fill = self.next[tensor, held, 0] + rate * (layout.setup + 1)
        fill = np.where((dirty > 1) & (fills and not (late or self._short)), fill, NEVER)
        costs = np.concatenate((np.where(size < 0, NEVER, costs), fill[:, None]), axis=1)
        more = np.minimum(self._relief(tensor, held, dirty, costs.T).T, NEVER)
        row, way = np.nonzero(self.bound[:, None] + more <= self.search.limit)
        places = self._keep(row, more[row, way])
        row, way = row[places], way[places]
        chosen, dirty = way == size.shape[1], dirty[row]
        size, time = (
            np.where(chosen, 0, each[row, np.minimum(way, each.shape[1] - 1)])
            for each in (size, cycles)
        )
        self.left[:, tensor] = np.where(chosen, _FILL, dirty - size)
        self.stored[:, tensor] = np.where(chosen, dirty, size)
        self.price = self.price + layout.out_byte * size
        self.fills = self.fills + chosen
        if late:
            self.after = self.after + time
        else:
            self.out = self.out + np.where(chosen, layout.setup, time)

    def _amounts(self, tensor: int, dirty: Ints) -> tuple[Ints, Ints]:
        """Return (moves, ways) bytes that may be stored, but for fills, and their cycles.

        Nothing; up to the begin of a page, and what moves in the same whole cycles; and that with
        up to a whole number of bytes in whole cycles more, as far as the page before. Or what
        moves in each number of cycles. -1 for none.
        """
        layout = self.layout
        exact = dirty[:, None] - layout.size[tensor]
        exact = np.where(exact > 0, exact, -1)
        ways = [np.zeros((dirty.size, 1), np.int64)]
        ways += [exact] if layout.out_byte else []
        if self._short:
            ways.append(self._of_each_cycle(dirty))
        elif self._exact:
            ways += self._to_pages(tensor, dirty, exact)
        size = np.concatenate(ways, axis=1)
        cycles = layout.cycles(size)
        if self._exact:
            return size, cycles
        busy = -(-exact * layout.per // layout.rate)
        more = np.minimum(-(-busy * layout.rate // layout.per), dirty[:, None])
        more = np.where(exact > 0, more, -1)
        cycles = np.concatenate((cycles, layout.cycles(exact)), axis=1)
        return np.concatenate((size, more), axis=1), cycles

    def _to_pages(self, tensor: int, dirty: Ints, exact: Ints) -> list[Ints]:
        layout, target, ways = self.layout, self.layout.size[tensor], list[Ints]()
        busy = -(-exact * layout.per // layout.rate)
        before = dirty[:, None] - np.concatenate(([0], target[:-1]))
        last = np.full_like(exact, -1)
        for beyond in range(self._beyond + 1):
            size = (busy + beyond) * layout.rate // layout.per
            more = np.minimum(size, dirty[:, None])
            good = (exact > 0) & (more > last) & ((beyond == 0) | (more < before))
            ways.append(np.where(good, more, -1))
            last = np.maximum(last, more)
        return ways

    def _of_each_cycle(self, dirty: Ints) -> Ints:
        layout = self.layout
        most = -(-int(dirty.max(initial=0)) * layout.per // layout.rate)
        size = np.arange(most + 1) * layout.rate // layout.per
        more = np.minimum(size[1:], dirty[:, None])
        result: Ints = np.where(more > size[:-1], more, -1)
        return result

    @property
    def _exact(self) -> bool:
        """Whether stores end with whole cycles; else their bytes are rounded up."""
        return self._short or self.layout.per <= _FINE

    @property
    def _short(self) -> bool:
        """Whether a page takes few cycles, and fewer than a whole number of bytes."""
        layout = self.layout
        page = -(-layout.page * layout.per // layout.rate)
        return page < min(layout.per, _SHORT + 1)

    def _relief(self, tensor: int, held: Ints, dirty: Ints, costs: Ints) -> Ints:
        """Return ``costs`` in place of the best ones that the bound has so far."""
        filled = self.layout.filled_pages(dirty, tensor)
        relief: Ints = costs - self.costs.kept[tensor, held, filled]
        return relief

    def _times(self) -> tuple[Ints, Ints]:
        """Return the step's time without fills, and the channel's time for what goes out."""
        alone = self.before + self.mode.compute_cycles + self.after
        if self.layout.duplex:
            out = self.before + self.out + self.after
            return np.maximum(alone, self.before + self.into + self.after), out
        return alone, self.before + self.into + self.out + self.after

    def _fill(self) -> None:
        """Let fills have what is idle, and up to a whole number of bytes in whole cycles more."""
        alone, busy = self._times()
        idle = alone - busy + self._beyond
        self._keep(np.flatnonzero((self.fills == 0) | (idle >= self.fills)))
        filled = [self._rows(np.flatnonzero(self.fills == 0), 0)]
        for beyond in range(self._beyond + 1 if self.fills.any() else 0):
            filled.append(self._rows(np.flatnonzero(self.fills == 1), beyond))
            filled += self._shared(beyond)
        self._join(filled)

    @property
    def _beyond(self) -> int:
        """Cycles beyond the idle ones that a fill may take: then its bytes may round better."""
        return self.layout.per - 1 if self.layout.per <= _FINE else 0

    def _shared(self, beyond: int) -> list[dict[str, Ints]]:
        """Let several fills share what is idle."""
        alone, busy = self._times()
        time, found = alone - busy + beyond, list[dict[str, Ints]]()
        for fills in np.unique(self.fills[self.fills > 1]):
            rows = np.flatnonzero((self.fills == fills) & (time >= fills))
            places, got, fine = self._divided(time[rows], int(fills))
            found.append(self._rows(rows[places], beyond, got, fine))
        return found

    def _divided(self, time: Ints, fills: int) -> tuple[Ints, Ints, Bools]:
        """Divide cycles among fills: in every way, or so that each has a part too much at most.

        Returns
        -------
        places, got, fine
            (ways,) places in ``time``; (ways, fills) cycles; (ways,) whether they are no more.
        """
        if fills == 1:
            return np.arange(time.size), time[:, None], np.ones(time.size, bool)
        parts, most = self.search.effort.parts, np.maximum(time - fills + 1, 0)
        count = np.minimum(most, parts)
        self.search.count(int(count.sum()))
        places = np.repeat(np.arange(time.size), count)
        first = np.arange(places.size) - np.repeat(np.cumsum(count) - count, count) + 1
        time, fine = time[places], most[places] <= parts
        rest = np.where(fine, time - first, (parts + 1 - first) * time // parts)
        first = np.where(fine, first, first * time // parts)
        further, got, all_fine = self._divided(rest, fills - 1)
        got = np.concatenate((first[further, None], got), axis=1)
        return places[further], got, fine[further] & all_fine

    def _rows(
        self, rows: Ints, beyond: int, got: Ints | None = None, fine: Bools | None = None
    ) -> dict[str, Ints]:
        """Return columns of some moves, whose fills have got so many cycles each, in order.

        Where these are not ``fine``, what they move is rounded up.
        """
        found = {name: getattr(self, name)[rows] for name in self._COLUMNS}
        alone, busy = (each[rows] for each in self._times())
        fill, dirty, layout = found["left"] == _FILL, found["stored"], self.layout
        time = np.where(fill.any(axis=1), np.maximum(alone - busy + beyond, 0), 0)
        got = time[:, None] if got is None else got
        rank = np.minimum(np.cumsum(fill, axis=1) - 1, got.shape[1] - 1)
        size = np.take_along_axis(got, np.maximum(rank, 0), axis=1) * layout.rate
        exact = np.full(rows.size, layout.per <= _FINE) & (True if fine is None else fine)
        size = (size + np.where(exact, 0, layout.per - 1)[:, None]) // layout.per
        # All of it, if the channel has the time, is one of the other choices; so is nothing.
        vain = (fill & ((size >= dirty) | (size == 0))).any(axis=1) & exact
        size = np.where(fill, np.minimum(size, dirty - 1), dirty)
        found["left"] = np.where(fill, dirty - size, found["left"])
        found["stored"] = size
        found["price"] = found["price"] + layout.out_byte * np.where(fill, size, 0).sum(axis=1)
        found["out"] = found["out"] + time
        return {name: column[~vain] for name, column in found.items()}

    def _join(self, parts: list[dict[str, Ints]]) -> None:
        for name in self._COLUMNS:
            setattr(self, name, np.concatenate([part[name] for part in parts]))

    def finished(self) -> Layer:
        """Return the states that the moves lead to, without those that cannot cost less."""
        layout, search = self.layout, self.search
        alone, busy = self._times()
        time = np.maximum(alone, busy)
        cost = self.layer.cost[self.from_row] + layout.cycle * time + self.price + self.mode.fixed
        live = self.of_step.live_after
        pages = np.where(live, self.held, 0)
        dirty = np.where(live, self.left, 0)
        bound = (cost << POINT) + search.costs.base[self.step + 1] + self._dead_ahead()
        for tensor in np.flatnonzero(live):
            filled = layout.filled_pages(dirty[:, tensor], int(tensor))
            bound = bound + self.next[tensor, pages[:, tensor], filled]
        found = Layer(
            pages=pages,
            dirty=dirty,
            cost=cost,
            bound=bound,
            before=self.from_row,
            mode=np.full(cost.size, self.mode_index),
            held=self.held,
            stored=np.where(live, self.stored, 0),
        )
        good = (bound <= search.limit) & self._hidden()
        if self.step == len(search.facts.steps) - 1:
            good &= ~dirty.any(axis=1)  # R7
        return found.rows(good)


def _none(layer: Layer) -> Layer:
    return layer.rows(np.zeros(0, np.int64))


def _stacked(layers: list[Layer]) -> Layer:
    return Layer(
        **{name: np.concatenate([getattr(each, name) for each in layers]) for name in _FIELDS}
    )


def undominated(layer: Layer) -> Layer:
    """Leave out states that another is no worse than: no dearer, no less resident, no dirtier."""
    if not len(layer.cost):
        return layer
    keys = (layer.cost, *layer.dirty.T, *layer.pages.T)
    layer = layer.rows(np.lexsort(keys))
    first = np.ones(len(layer.cost), bool)
    first[1:] = (np.diff(layer.pages, axis=0) != 0).any(axis=1)
    first[1:] |= (np.diff(layer.dirty, axis=0) != 0).any(axis=1)
    layer = layer.rows(first)
    return layer.rows(~_worse(layer, np.argsort(layer.bound, kind="stable")[:_STRONG]))


_FIELD = 6
"""Bits for the pages of a tensor, the first of which is 0 in a number of pages."""


def _worse(layer: Layer, strong: Ints) -> Bools:
    """Return which of different states are dominated by one of those in the rows ``strong``."""
    words, guards = _packed(layer.pages)
    worse = np.zeros(len(layer.cost), bool)
    for row in strong:
        if worse[row]:
            continue
        no_worse = layer.cost >= layer.cost[row]
        for word, guard in zip(words, guards, strict=True):
            # The first bit of a field stays where the other state has no more pages.
            no_worse &= (((word[row] | guard) - word) & guard) == guard
        no_worse[row] = False
        places = np.flatnonzero(no_worse)
        worse[places] |= (layer.dirty[places] >= layer.dirty[row]).all(axis=1)
    return worse


def _packed(pages: Ints) -> tuple[list[Ints], list[np.int64]]:
    """Return the pages of several tensors in one number each, and the first bits of all fields."""
    words, guards = list[Ints](), list[np.int64]()
    fields = 62 // _FIELD
    for begin in range(0, pages.shape[1], fields):
        shifts = _FIELD * np.arange(min(fields, pages.shape[1] - begin))
        words.append((pages[:, begin : begin + fields] << shifts).sum(axis=1))
        guards.append(np.int64((1 << (shifts + _FIELD - 1)).sum()))
    return words, guards
