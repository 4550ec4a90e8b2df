"""The cheapest way through all states: which pages of each tensor are resident, which are dirty.

Layer by layer, all states after a step that may still lead to less than the best schedule known.
A state is (pages, dirty bytes) of each tensor, and stands for all schedules that lead to it; the
cheapest is kept. Which moves are left out, and why none of them is missed: README.md, "States".
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from formulations.residency.states.duals import POINT, CostsToGo
from formulations.residency.states.facts import Facts
from formulations.residency.states.layer import Layer, drop_dominated, reloads
from formulations.residency.states.moves import Moves
from formulations.residency.states.stores import Stores
from formulations.residency.states.work import Effort, TooLargeError, TooManyAtOnceError, Work
from spmopt.core.table import Ints

_CHUNK = 1 << 12
"""States that are gone on from at a time."""
_STRONG, _STRONG_OF_CHUNK = 1024, 128
"""States of least bound that all others of a layer, of a chunk are compared with."""


class StateSearch:
    """A search for schedules that cost less than ``below``."""

    def __init__(
        self,
        costs: CostsToGo,
        below: int,
        effort: Effort,
        late: Callable[[], bool] = lambda: False,
    ) -> None:
        self.facts: Facts = costs.facts
        self.costs, self.effort = costs, effort
        self.limit = (below - 1) << POINT
        self.work = Work(effort, late)
        self.layers: list[Layer] = []
        self._reload = reloads(self.facts.layout)

    def run(self) -> Layer | None:
        """Return the cheapest last state; None where all ways cost ``below`` or more.

        Raises
        ------
        TooLargeError
            There are too many moves, or it is late.
        """
        layer = Layer.start(self.facts.layout.pages.size, self.costs.bound)
        for step in range(len(self.facts.steps)):
            found = [self._after(step, layer, mapping) for mapping in range(self._mappings(step))]
            layer = self._drop_dominated(Layer.stack(found), _STRONG)
            most = self.effort.states
            # A beam: the best by bound go on.
            if most is not None and len(layer.cost) > most:
                layer = layer.rows(np.argsort(layer.bound, kind="stable")[:most])
                self.work.exhaustive = False
            self.layers.append(layer)
            if not len(layer.cost):
                return None
        return layer.rows(np.array([int(layer.cost.argmin())]))

    def path(self) -> list[tuple[int, Ints, Ints]]:
        """Return mapping, pages held and bytes stored of each step on the way to the cheapest."""
        return [
            (int(layer.mapping[at]), layer.held[at], layer.stored[at]) for layer, at in self._way()
        ]

    def rough(self) -> list[int]:
        """Return steps on the way to the cheapest in which stores may share too much."""
        return [step for step, (layer, at) in enumerate(self._way()) if layer.rough[at]]

    def _way(self) -> list[tuple[Layer, int]]:
        found, at = [], int(self.layers[-1].cost.argmin())
        for layer in reversed(self.layers):
            found.append((layer, at))
            at = int(layer.before[at])
        return found[::-1]

    def _mappings(self, step: int) -> int:
        return len(self.facts.steps[step].mappings)

    def _drop_dominated(self, layer: Layer, strong: int) -> Layer:
        return drop_dominated(layer, self._reload, self.work, strong)

    def _after(self, step: int, layer: Layer, mapping: int) -> Layer:
        """All states after a step in a mapping."""
        found, begin, width = [layer.none()], 0, _CHUNK
        while begin < len(layer.cost):
            rows = np.arange(begin, min(begin + width, len(layer.cost)))
            try:
                found.append(self._from(step, layer, mapping, rows))
            except TooManyAtOnceError:
                if rows.size == 1:
                    raise TooLargeError from None
                # Memory, not time, is short: fewer states at once.
                width = -(-rows.size // 4)
                continue
            begin += rows.size
        return Layer.stack(found)

    def _from(self, step: int, layer: Layer, mapping: int, rows: Ints) -> Layer:
        """All states after a step in a mapping from some states before it."""
        moves = Moves(self.costs, self.limit, self.work, step=step, mapping=mapping).begin(
            layer, rows
        )
        moves.choose_pages()
        return self._drop_dominated(Stores(moves).choose(), _STRONG_OF_CHUNK)
