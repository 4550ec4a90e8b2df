"""States after a step, and which of them need not be gone on from, because others are no worse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from formulations.residency.states.facts import Layout
from formulations.residency.states.work import Work
from spmopt.core.table import Bools, Ints


# Why a dominated state is never better: another has no more dirty bytes of any tensor, and costs no
# more even with commands that load all pages which only the dominated one has. In the next step it
# can load the pages that it lacks and needs there, by these commands or by longer ones of that
# step, whose time rises by no more; a page that it lacks is not dirty, so it is in DRAM.
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
        Of every schedule through the state, in the units of dual values.
    before : (s,)
        The state of the layer before.
    mapping : (s,)
        Of the step, by its place among those that fit.
    held, stored : (s, m)
        Pages resident in the step, and bytes stored.
    rough : (s,)
        Whether stores may share more in the step than its capacity.
    """

    pages: Ints
    dirty: Ints
    cost: Ints
    bound: Ints
    before: Ints
    mapping: Ints
    held: Ints
    stored: Ints
    rough: Bools

    def rows(self, chosen: Ints | Bools) -> Layer:
        """Return some of the states."""
        return Layer(**{name: getattr(self, name)[chosen] for name in _FIELDS})

    @classmethod
    def start(cls, tensors: int, bound: int) -> Layer:
        """Return the one state before the first step: nothing is resident."""
        nothing, zero = np.zeros((1, tensors), np.int64), np.zeros(1, np.int64)
        return cls(
            pages=nothing,
            dirty=nothing,
            cost=zero,
            bound=zero + bound,
            before=zero,
            mapping=zero,
            held=nothing,
            stored=nothing,
            rough=zero > 0,
        )

    @classmethod
    def stack(cls, layers: Sequence[Layer]) -> Layer:
        """Return the states of several."""
        return cls(
            **{name: np.concatenate([getattr(each, name) for each in layers]) for name in _FIELDS}
        )

    def none(self) -> Layer:
        """Return no states of as many tensors."""
        return self.rows(np.zeros(0, np.int64))


_FIELDS = ("pages", "dirty", "cost", "bound", "before", "mapping", "held", "stored", "rough")


def reloads(layout: Layout) -> Ints:
    """Return (m, k, k) the highest cost to have so many pages where there are so many."""
    more = np.maximum(layout.size[:, None, :] - layout.size[:, :, None], 0)
    result: Ints = layout.cycle * layout.cycles(more) + layout.in_byte * more
    return result


def drop_dominated(layer: Layer, reload: Ints, work: Work, strong: int) -> Layer:
    """Leave out states that another is no worse than.

    No dirtier, and no dearer with its missing pages. In the next step that one can load its missing
    pages, at the cost ``reload`` (m, k, k) of commands that nothing hides, and go on like the
    other: its missing pages are not dirty. ``strong`` states of least bound are compared with all
    others.
    """
    if not len(layer.cost):
        return layer
    # Of equal states the cheapest comes first, and is kept.
    order = np.lexsort((layer.cost, *layer.dirty.T, *layer.pages.T))
    states = np.concatenate((layer.pages[order], layer.dirty[order]), axis=1)
    order = order[np.append(True, (states[1:] != states[:-1]).any(axis=1))]
    order = order[np.argsort(layer.cost[order], kind="stable")]
    return layer.rows(order[~_dominate(layer, order, reload, work, strong)])


def _dominate(layer: Layer, order: Ints, reload: Ints, work: Work, count: int) -> Bools:
    """Return which of different states, the cheapest first, are no better than a strong one."""
    cost = layer.cost[order]
    dirty = [layer.dirty[order, t] for t in np.flatnonzero(layer.dirty.any(axis=0))]
    pages = [(t, layer.pages[order, t]) for t in np.flatnonzero(layer.pages.any(axis=0))]
    dominated = np.zeros(order.size, bool)
    for row in np.argsort(layer.bound[order], kind="stable")[:count]:
        if dominated[row]:
            continue
        # Only states that cost as much or more can be dominated.
        begin = int(np.searchsorted(cost, cost[row]))
        rest = np.flatnonzero(~dominated[begin:]) + begin
        work.compare(order.size - begin)
        for column in dirty:
            if least := column[row]:
                rest = rest[column[rest] >= least]
        room = cost[rest] - cost[row]
        for tensor, column in pages:
            room = room - reload[tensor, column[row]][column[rest]]
            good = room >= 0
            rest, room = rest[good], room[good]
        dominated[rest] = True
        dominated[row] = False
    return dominated
