"""Mappings to begin with, by those that fusion plans have run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from formulations.fusion.rows import Shares
from spmopt.core.fusion.fused_groups import Origin
from spmopt.core.mappings import fits_alone, fitting_mappings
from spmopt.core.operation import OpMapping
from spmopt.core.problem import Problem
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.table import Ints

_Place = tuple[int, int]
"""A fusion tile, of so many."""
_ANY = -1, -1
"""The latest of all places."""


class KnownMappings:
    """The latest mapping of each fusion tile.

    Fusion plans have most fused groups in common: what one has found is a good start for the next.
    """

    def __init__(self) -> None:
        self._of_tile: dict[tuple[OpMapping, ...], dict[_Place, int]] = {}
        self._of_operation: dict[tuple[int, int], int] = {}

    def learn(self, problem: Problem, origins: Sequence[Origin], plan: ResidencyPlan) -> None:
        """Remember the mappings of a plan."""
        if not problem.several_mappings:
            return
        steps = plan.steps
        # Thousands of tiles have the same mappings: by identity first, as comparing these takes
        # most of a minute of 100,000 tiles.
        latest = dict[tuple[int, ...], tuple[tuple[OpMapping, ...], dict[_Place, int]]]()
        for operation, number in zip(steps.operation.tolist(), steps.mapping.tolist(), strict=True):
            mappings, origin = problem.operations[operation].mappings, origins[operation]
            _, places = latest.setdefault(tuple(map(id, mappings)), (mappings, {}))
            places[origin.fusion_tile, origin.micro_batches] = places[_ANY] = number
            self._of_operation[origin.operation, len(mappings)] = number
        for mappings, places in latest.values():
            self._of_tile.setdefault(mappings, {}).update(places)

    def first(
        self,
        problem: Problem,
        origins: Sequence[Origin],
        given: Mapping[int, Shares] = MappingProxyType({}),
    ) -> Ints | None:
        """Return (n,) the mapping of equal tiles, else of the same operation; None of one each.

        Of equally many mappings of an operation those of a number are alike: they are in order.
        ``given``: by operation, mappings that go before those known.
        """
        if not (problem.several_mappings and (self._of_tile or given)):
            return None
        chosen, fit = fitting_mappings(problem), fits_alone(problem)
        known = dict[tuple[int, ...], dict[_Place, int]]()
        for at, (operation, origin) in enumerate(zip(problem.operations, origins, strict=True)):
            mappings = operation.mappings
            alike = self._of_operation.get((origin.operation, len(mappings)), int(chosen[at]))
            key = tuple(map(id, mappings))
            if key not in known:
                known[key] = self._of_tile.get(mappings, {})
            found = known[key]
            latest = found.get(_ANY, alike)
            number = found.get((origin.fusion_tile, origin.micro_batches), latest)
            own = _of_tile(given.get(origin.operation, ()), origin)
            if own in mappings:
                number = mappings.index(own)
            if fit[problem.operands.first_mapping[at] + number]:
                chosen[at] = number
        return np.asarray(chosen, np.int64)


def _of_tile(shares: Shares, origin: Origin) -> OpMapping | None:
    """Return the mapping of a tile, where each has its share of tiles, one after another."""
    passed = 0.0
    for mapping, share in shares:
        passed += share
        if (origin.fusion_tile + 0.5) / origin.micro_batches <= passed:
            return mapping
    return None
