"""Search for the order of tile products that moves least, with a proof where time allows.

Layer by layer, by the number of products done; of each layer the most promising states are kept,
more of them every time. What is left out is bounded: once no state is left out that might lead
to less, the best order is proved to be optimal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

import numpy as np

from formulations.orders.least import least_touched, still_to_move
from formulations.orders.moves import Moves, States, bits
from formulations.orders.products import WORD, Products, Shape
from formulations.orders.symmetry import Symmetry
from spmopt.core.errors import InputError
from spmopt.core.table import Ints

_FIRST_WIDTH = 8
_WIDER = 4  # times as many states in the next round
_AT_ONCE = 250  # states followed at once
_PENDING = 1_000_000  # states that wait in a layer before equal ones are joined
_IMAGES = 8  # times as many states are looked at for equal ones under symmetry
_MOST = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class BestOrder:
    """The best order found, and what is proved of all orders.

    Attributes
    ----------
    order : (n,)
        Numbers of the products: ``(i K + k) J + j`` in dX, I K J more in dW.
    traffic_tiles
        Tiles that it moves at most: inputs loaded, results stored, partial sums both.
    bound_tiles
        No order moves less, with any residency of tiles.
    widest
        States kept of a layer, at most, in the last round.
    """

    order: Ints
    traffic_tiles: int
    bound_tiles: int
    seconds: float
    widest: int

    @property
    def optimal(self) -> bool:
        """Whether the order is proved to be the best."""
        return self.bound_tiles == self.traffic_tiles


def optimal_order(
    shape: Shape,
    spm_tiles: int,
    *,
    input_gradient: bool = True,
    time_limit_s: float = 60.0,
    stop: Callable[[], bool] = bool,
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
    time_limit_s, stop
        When to end with the best so far; one quick round is always finished.

    Raises
    ------
    InputError
        Too large a layer, or too small an SPM.
    """
    if spm_tiles < 3:
        raise InputError(f"orders: a product needs 3 tiles of SPM, there are {spm_tiles}")
    began = monotonic()
    search = _Search(Products(shape, input_gradient), min(spm_tiles, WORD))
    width = _FIRST_WIDTH
    search.round(width, bool)
    while not search.proved:
        width *= _WIDER
        if not search.round(width, lambda: stop() or monotonic() >= began + time_limit_s):
            break
    return BestOrder(
        order=search.order,
        traffic_tiles=search.best,
        bound_tiles=search.bound,
        seconds=monotonic() - began,
        widest=search.widest,
    )


class _Search:
    """The best order and bound of all rounds so far."""

    def __init__(self, products: Products, spm_tiles: int) -> None:
        touched = least_touched(products.shape, input_gradient=products.input_gradient)
        moved, left_to_move = still_to_move(touched, spm_tiles)
        self._products = products
        self._moves = Moves(products, spm_tiles, left_to_move)
        self._symmetry = Symmetry(products)
        self._count = len(products.names)
        first = int(self._moves.at_least(self._moves.begin())[0])
        self.bound, self.best = max(moved, first), _MOST
        self.order: Ints = np.empty(0, np.int64)
        self.widest = 0

    @property
    def proved(self) -> bool:
        """Whether no order is better than the best."""
        return self.bound == self.best

    def round(self, width: int, late: Callable[[], bool]) -> bool:
        """Keep ``width`` states of a layer; return False if it was too late to end the round."""
        pending: dict[int, list[States]] = {0: [self._moves.begin()]}
        kept: list[States] = []
        left_out, widest = _MOST, 0
        for count in range(self._count):
            if count not in pending:
                continue
            states, least = self._layer(pending.pop(count), width)
            left_out, widest = min(left_out, least), max(widest, len(states))
            first = sum(map(len, kept))
            kept.append(states)
            for begin in range(0, len(states), _AT_ONCE):
                if late():
                    return False
                rows = np.arange(begin, min(begin + _AT_ONCE, len(states)))
                part = states.take(rows)
                self._follow(States(part.done, part.held, part.total, first + rows), pending)
            self._finish(pending.pop(self._count, []), kept)
        self.bound = max(self.bound, min(left_out, self.best))
        self.widest = widest
        return True

    def _layer(self, parts: list[States], width: int) -> tuple[States, int]:
        """The most promising states, and what the others will move at least."""
        states = States.join(parts).cheapest()
        states, left_out = self._promising(states, _IMAGES * width)
        if not len(states):
            return states, left_out
        states, also_left_out = self._promising(self._canonical(states), width)
        return states, min(left_out, also_left_out)

    def _promising(self, states: States, width: int) -> tuple[States, int]:
        """At most ``width`` states, and what the others move at least."""
        total = self._moves.at_least(states)
        states, total = states.take(total < self.best), total[total < self.best]
        if len(states) <= width:
            return states, _MOST
        rank = np.lexsort((states.held, states.done, self._moves.open_tiles(states), total))
        return states.take(rank[:width]), int(total[rank[width:]].min())

    def _canonical(self, states: States) -> States:
        done, held = self._symmetry.least(states.done, states.held)
        return States(done, held, states.total, states.origin).cheapest()

    def _follow(self, states: States, pending: dict[int, list[States]]) -> None:
        """Put what may come next with the other states of as many products."""
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
        """Products that lead from state to state; each stands for all its images."""
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
