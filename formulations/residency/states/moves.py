"""Moves of a step: how much of each tensor is resident in it, chosen tensor by tensor."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from formulations.residency.states.duals import NEVER, POINT, CostsToGo, arrivals
from formulations.residency.states.facts import MappingFacts
from formulations.residency.states.layer import Layer
from formulations.residency.states.work import Work
from spmopt.core.table import Bools, Ints

_WAYS = 10
"""Moves that go on for each state, where these are limited."""


class Moves:
    """Moves of a step in a mapping, a row each: columns that grow with each choice.

    Attributes
    ----------
    from_row
        The state before, in the layer.
    bound
        Of every schedule with the choices so far, in the units of dual values.
    held, left, stored : (moves, m)
        Pages resident, bytes left dirty and bytes stored.
    free
        Pages.
    into, out, before, after
        Cycles of commands: of each direction beside the operation, those that it waits for, and
        those that wait for it.
    dual
        Of all bytes moved.
    fills
        Stores in the remaining time of the channel.
    least_ahead
        The shortest load for a later step.
    gave_up
        Whether anything left that is not written.
    rough
        Whether fills may have got more than there is.
    """

    COLUMNS = (
        *("from_row", "bound", "held", "free", "into", "out", "before", "after", "dual"),
        *("fills", "least_ahead", "gave_up", "left", "stored", "rough"),
    )

    def __init__(
        self, costs: CostsToGo, limit: int, work: Work, *, step: int, mapping: int
    ) -> None:
        """Take costs to go, and their upper limit."""
        self.facts, self.limit, self.work, self.step = costs.facts, limit, work, step
        self.of_step, self.layout = costs.facts.steps[step], costs.facts.layout
        self.mapping_index, self.duals = mapping, costs.duals
        self.mapping: MappingFacts = self.of_step.mappings[mapping]
        self.costs = costs.mappings[step][mapping]
        self.now = costs.to_go[step]
        self.next = costs.to_go[step + 1]
        self.base_now, self.base_next = costs.base[step], costs.base[step + 1]
        self.toll = self.duals.toll[step][mapping]

    def begin(self, layer: Layer, rows: Ints) -> Self:
        """Begin with one move from each of some states, of which nothing is chosen."""
        self.layer, self.from_row = layer, rows
        base = self.costs.base - int(self.toll.sum())
        # The bound charges all room of the step; what is used is charged with each choice.
        base -= int(self.duals.page[self.step]) * self.layout.capacity
        self.bound = layer.bound[rows] + base + self.base_next - self.base_now
        self.held = np.zeros((rows.size, self.layout.pages.size), np.int64)
        self.free = np.full(rows.size, self.layout.capacity - self.mapping.scratch_pages)
        zero = np.zeros(rows.size, np.int64)
        self.into, self.out, self.before, self.after = zero, zero, zero, zero
        self.dual, self.fills = zero, zero
        self.least_ahead = np.full(rows.size, NEVER)
        self.gave_up, self.rough = zero > 0, zero > 0
        self.left = self.held
        self.stored = self.held
        return self

    def keep(self, rows: Ints, more: Ints | int = 0) -> Ints:
        """Go on from some moves, whose bounds rise by ``more``; return which places of these."""
        bound = self.bound[rows] + more
        self.work.count(rows.size)
        most, places = self.work.effort.states, np.arange(rows.size)
        if most is not None and rows.size > _WAYS * most:
            places = np.argpartition(bound, _WAYS * most)[: _WAYS * most]
            self.work.exhaustive = False
        for name in self.COLUMNS:
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
        good = fits & self._hide() if not self.layout.duplex else fits
        self.keep(np.flatnonzero(good))
        self.keep(np.flatnonzero(self._least() <= self.limit))
        self.keep(self._drop_dominated())

    def _least(self) -> Ints:
        """Return lower bounds on the moves, with the step's own time as it is, not as priced."""
        alone, busy = self.times()
        cost = self._cost_before() + self.layout.cycle * np.maximum(alone, busy)
        live = np.flatnonzero(self.of_step.live_after)
        ahead = self.next[live, self.held[:, live]].min(axis=2).sum(axis=1)
        least: Ints = (cost << POINT) + self.base_next + ahead
        return least + self._dead_ahead()

    def _dead_ahead(self) -> int:
        """Return costs from the next step on of tensors not needed then."""
        return int(self.next[~self.of_step.live_after, 0, 0].sum())

    def _cost_before(self) -> Ints:
        """Return the cost of each move but for the time of this step."""
        return self.layer.cost[self.from_row] + self.dual + self.mapping.fixed

    def _drop_dominated(self) -> Ints:
        """Return moves to a state that no other is sooner than on the channel and off it."""
        if self.layout.duplex:
            return np.arange(self.bound.size)
        alone, busy = self.times()
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
        # Groups far apart, so that one running minimum serves all.
        apart = later - group * (int(later.max(initial=0)) + 1)
        best = np.minimum.accumulate(apart)
        kept = np.ones(order.size, bool)
        kept[1:] = apart[1:] < best[:-1]
        return order[kept]

    def _sizes(self) -> Ints:
        """Return (moves, m) resident bytes."""
        return self.layout.size[np.arange(self.layout.pages.size), self.held]

    def _hide(self) -> Bools:
        """Whether each load ahead is hidden, in part at least; else it may as well come later."""
        busy, other = self.into - self.least_ahead, self.out
        compute = self.mapping.compute_cycles
        hidden: Bools = np.maximum(compute, other) > busy
        return hidden if self.layout.duplex else busy + other < compute

    def _choose_pages(self, tensor: int, ahead: Ints) -> None:
        of_step, mapping = self.of_step, self.mapping
        old = self.layer.pages[self.from_row, tensor]
        dirty = self.layer.dirty[self.from_row, tensor]
        more = ahead[old, self.layout.pages_filled(dirty, tensor)]
        pages = np.arange(ahead.shape[2])
        good = (self.bound[:, None] + more <= self.limit) & (pages <= self.free[:, None])
        if of_step.live[tensor]:
            # R5: dirty bytes are resident.
            good &= pages >= self.layout.pages_held(dirty)[:, None]
        self.work.look(good.size)
        row, new = np.nonzero(good)
        places = self.keep(row, more[row, new])
        old, new = old[row[places]], new[places]
        self.held[:, tensor] = new
        self.free = self.free - new
        into = mapping.into[tensor, old, new]
        self.into = self.into + into
        self.out = self.out + mapping.out[tensor, old, new]
        self.before = self.before + mapping.before[tensor, old, new]
        self.dual = self.dual + mapping.dual[tensor, old, new]
        if not of_step.written[tensor]:
            self.gave_up = self.gave_up | (new < old)
        if not of_step.used[tensor]:
            self.least_ahead = np.where(
                new > old, np.minimum(self.least_ahead, into), self.least_ahead
            )

    def times(self) -> tuple[Ints, Ints]:
        """Return the step's time without fills, and the channel's time for stores."""
        alone = self.before + self.mapping.compute_cycles + self.after
        if self.layout.duplex:
            out = self.before + self.out + self.after
            return np.maximum(alone, self.before + self.into + self.after), out
        return alone, self.before + self.into + self.out + self.after

    def take(self, rows: Ints, **columns: NDArray[Any]) -> Self:
        """Return some of the moves, with some columns as given, in their order."""
        found = copy(self)
        for name in self.COLUMNS:
            column = columns[name] if name in columns else getattr(self, name)[rows]
            setattr(found, name, column)
        return found

    def finish(self) -> Layer:
        """Return the states that the moves lead to, without those that cannot cost less."""
        layout, live = self.layout, self.of_step.live_after
        # R6: the longer of the step's time without stores and of the channel's.
        cost = self._cost_before() + layout.cycle * np.maximum(*self.times())
        bound = (cost << POINT) + self.base_next + self._dead_ahead()
        for tensor in np.flatnonzero(live):
            filled = layout.pages_filled(self.left[:, tensor], int(tensor))
            bound = bound + self.next[tensor, self.held[:, tensor], filled]
        good = (bound <= self.limit) & self._hide()
        if self.step == len(self.facts.steps) - 1:
            good &= ~self.left[:, live].any(axis=1)  # R7
        rows = np.flatnonzero(good)
        held = self.held[rows]
        return Layer(
            pages=np.where(live, held, 0),
            dirty=np.where(live, self.left[rows], 0),
            cost=cost[rows],
            bound=bound[rows],
            before=self.from_row[rows],
            mapping=np.full(rows.size, self.mapping_index),
            held=held,
            stored=np.where(live, self.stored[rows], 0),
            rough=self.rough[rows],
        )
