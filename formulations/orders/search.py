"""Search for the order of tile products that moves least, with a proof where time allows.

Layer by layer, by the number of products done; of each layer the most promising states are kept,
more of them every time. States left out are bounded: once no state is left out that might lead
to less, the best order is is_proof to be optimal.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import inf
from time import monotonic

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from formulations.orders.moves import OPERANDS, OrderMoves, States, bits
from formulations.orders.products import WORD, Products, Shape, Symmetry
from spmopt.core.errors import InputError
from spmopt.core.table import Ints

_FIRST_WIDTH = 8  # states of a layer in the first round: an order at once
_WIDER = 4  # times as many states in the next round
_AT_ONCE = 250  # states followed at once
_PENDING = 1_000_000  # states that wait in a layer before equal ones are joined
_IMAGES = 8  # times as many states are looked at for equal ones under symmetry
_MOST = 2**31  # more tiles than any order moves


@dataclass(frozen=True, slots=True, kw_only=True)
class BestOrder:
    """The best order found, and a bound on all orders.

    Attributes
    ----------
    order : (n,)
        Numbers of the products: ``(i K + k) J + j`` in dX, I K J more in dW.
    traffic_tiles
        Tiles that it moves at most: inputs loaded, results stored, partial sums both.
    bound_tiles
        No order moves less, with any residency of tiles.
    """

    order: Ints
    traffic_tiles: int
    bound_tiles: int

    @property
    def optimal(self) -> bool:
        """Whether the order is is_proof to be the best."""
        return self.bound_tiles == self.traffic_tiles


def optimal_order(
    shape: Shape,
    spm_tiles: int,
    *,
    input_gradient: bool = True,
    time_limit_s: float = 60.0,
) -> BestOrder:
    """Search for the best order of the products of equal tiles, each with its three tiles resident.

    Parameters
    ----------
    shape
        Tiles I along M, K along K, J along N; 64 products and 64 tiles at most.
    spm_tiles
        Tiles that the SPM holds, at least 3.
    input_gradient
        Whether dX is computed, too.
    time_limit_s
        When to end with the best so far; one quick round is always finished.

    Raises
    ------
    InputError
        Too large a layer, or too small an SPM.
    """
    if spm_tiles < 3:
        raise InputError(f"orders: a product needs 3 tiles of SPM, there are {spm_tiles}")
    due = monotonic() + time_limit_s
    search = _OrderSearch(Products(shape, input_gradient), min(spm_tiles, WORD))
    width = _FIRST_WIDTH
    search.round(width, inf)
    while not search.is_proof:
        width *= _WIDER
        if not search.round(width, due):
            break
    return BestOrder(
        order=search.order,
        traffic_tiles=search.best,
        bound_tiles=search.bound,
    )


class _OrderSearch:
    """The best order and bound of all rounds so far."""

    def __init__(self, products: Products, spm_tiles: int) -> None:
        touched = least_touched(products.shape, input_gradient=products.input_gradient)
        moved, left_to_move = still_to_move(touched, spm_tiles)
        self._products = products
        self._moves = OrderMoves(products, spm_tiles, left_to_move)
        self._symmetry = Symmetry(products)
        self._count = len(products.names)
        first = int(self._moves.at_least(self._moves.begin())[0])
        self.bound, self.best = max(moved, first), _MOST
        self.order: Ints = np.empty(0, np.int64)

    @property
    def is_proof(self) -> bool:
        """Whether no order is better than the best."""
        return self.bound == self.best

    def round(self, width: int, due: float) -> bool:
        """Keep ``width`` states of a layer; return False if it was due before its end."""
        pending: dict[int, list[States]] = {0: [self._moves.begin()]}
        kept: list[States] = []
        left_out = _MOST
        for count in range(self._count):
            if count not in pending:
                continue
            states, least = self._layer(pending.pop(count), width)
            left_out = min(left_out, least)
            first = sum(map(len, kept))
            kept.append(states)
            for begin in range(0, len(states), _AT_ONCE):
                if monotonic() >= due:
                    return False
                rows = np.arange(begin, min(begin + _AT_ONCE, len(states)))
                part = states.take(rows)
                self._follow(States(part.done, part.held, part.total, first + rows), pending)
            self._finish(pending.pop(self._count, []), kept)
        # States left out cost at least that: no better order was among them.
        self.bound = max(self.bound, min(left_out, self.best))
        return True

    def _layer(self, parts: list[States], width: int) -> tuple[States, int]:
        """Return the most promising states, and a lower bound on the traffic of the others."""
        states = States.join(parts).cheapest()
        states, left_out = self._promising(states, _IMAGES * width)
        if not len(states):
            return states, left_out
        states, also_left_out = self._promising(self._canonical(states), width)
        return states, min(left_out, also_left_out)

    def _promising(self, states: States, width: int) -> tuple[States, int]:
        """Return at most ``width`` states, and a lower bound on the traffic of the others."""
        total = self._moves.at_least(states)
        states, total = states.take(total < self.best), total[total < self.best]
        if len(states) <= width:
            return states, _MOST
        # Ties by open tiles, then by bits: the same states on every machine.
        rank = np.lexsort((states.held, states.done, self._moves.open_tiles(states), total))
        return states.take(rank[:width]), int(total[rank[width:]].min())

    def _canonical(self, states: States) -> States:
        done, held = self._symmetry.least(states.done, states.held)
        return States(done, held, states.total, states.origin).cheapest()

    def _follow(self, states: States, pending: dict[int, list[States]]) -> None:
        """Put successors with the other states of as many products."""
        for after in self._moves.after(states, self.best):
            done = bits(after.done)
            for count in np.unique(done).tolist():
                parts = pending.setdefault(count, [])
                parts.append(after.take(done == count))
                if len(parts) > 1 and sum(map(len, parts)) > _PENDING:
                    parts[:] = [States.join(parts).cheapest()]

    def _finish(self, parts: list[States], kept: list[States]) -> None:
        """Note a complete order if it is the best so far."""
        if not parts:
            return
        ended = States.join(parts)
        last = int(ended.total.argmin())
        if ended.total[last] < self.best:
            self.best = int(ended.total[last])
            chain = [ended.take(np.array([last]))]
            ends = np.cumsum([len(states) for states in kept])
            while (origin := int(chain[-1].origin[0])) > 0:
                layer = int(np.searchsorted(ends, origin, side="right"))
                row = origin - (int(ends[layer - 1]) if layer else 0)
                chain.append(kept[layer].take(np.array([row])))
            self.order = self._retrace(chain[::-1])

    def _retrace(self, chain: list[States]) -> Ints:
        """Find products that lead from state to state; each stands for all its images."""
        state, order = self._moves.begin(), []
        for target in chain:
            after = States.join(list(self._moves.after(state, _MOST)))
            done, held = self._symmetry.least(after.done, after.held)
            goal_done, goal_held = self._symmetry.least(target.done, target.held)
            same = (done == goal_done) & (held == goal_held) & (after.total == target.total)
            new = after.take(np.flatnonzero(same)[:1])
            ran = int(new.done[0] & ~state.done[0])
            order += [product for product in range(self._count) if ran >> product & 1]
            state = new
        first = 0 if self._products.input_gradient else self._count
        return first + np.array(order, np.int64)


def least_touched(shape: Shape, *, input_gradient: bool = True) -> Ints:
    """(n + 1,) Return fewest tiles that 0, 1, ..., n products touch, exactly.

    Products of both gradients are the cells of one box of I x J x 2K (J x I x K for dW alone), the
    tiles that they touch its projections. Pushing all cells towards a corner, axis by axis, lets
    no projection grow (Loomis and Whitney, 1949), so heaps in the corner are enough. Such a heap
    has heights along two walls, and over the rest of its floor the least of the two.
    """
    rows, inner, columns = shape
    depth = (2 if input_gradient else 1) * inner
    most = rows * columns * depth
    fewest = np.full(most + 2, 3 * most, np.int64)
    for corner in range(1, depth + 1):
        walls = [_wall(corner, side) for side in (rows, columns)]
        for one in walls[0]:
            for other in walls[1]:
                heights = np.sort(np.minimum.outer(one, other), axis=None)[::-1]
                heights = heights[heights > 0]
                floor = np.arange(1, heights.size + 1)
                touched = floor + one.sum() + other.sum()
                np.minimum.at(fewest, np.cumsum(heights), touched)
    fewest[0] = 0
    return np.minimum.accumulate(fewest[-2::-1])[::-1]  # more products touch no less


def _wall(corner: int, side: int) -> list[Ints]:
    """Return heights along a wall that fall from ``corner``."""
    rest = combinations_with_replacement(range(corner, -1, -1), side - 1)
    return [np.array((corner, *heights), np.int64) for heights in rest]


def still_to_move(touched: Ints, spm_tiles: int) -> tuple[int, Ints]:
    """Bound the traffic of all products, and of the rest of them, by phases.

    Each phase touches its least and finds some of it in the SPM: all that fits, but between two
    products, which share one tile at most, no more than both have beside the five of theirs.
    Products whose tiles are all there run first, which delays nothing. Right after them one tile
    of the SPM must still give way to the next product's. A phase may go on until then: the SPM
    holds the tiles of few products only.

    Parameters
    ----------
    touched : (n + 1,)
        Fewest tiles that so many products touch.

    Returns
    -------
    tuple of int and (n + 1,)
        Tiles that all products move; and those that 0, 1, ..., n products move from an SPM full of
        the tiles that serve them best, where none of them can run without another tile.
    """
    most = touched.size - 1
    found = min(spm_tiles, 2 * spm_tiles - (2 * OPERANDS - 1))
    after = int(np.flatnonzero(touched <= spm_tiles).max())  # products within the SPM
    at_any_time, once_stuck = np.zeros_like(touched), np.zeros_like(touched)
    for left in range(1, most + 1):
        phase = np.arange(1, left + 1)
        cut = touched[phase] + at_any_time[left - phase]
        stuck = touched[phase] + once_stuck[left - phase]
        stuck = np.concatenate((stuck, np.full(after - 1, stuck.max())))
        need = max(int(cut.max()), int(sliding_window_view(stuck, after).min(axis=1).max()))
        at_any_time[left] = max(0, need - found)
        once_stuck[left] = max(1, need - min(found, spm_tiles - 1))
    return need, once_stuck
