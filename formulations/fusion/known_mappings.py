"""Mappings to begin with, by those that fusion plans have run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spmopt.core.fusion.fused_groups import Origin
from spmopt.core.mappings import fits_alone, fitting_mappings
from spmopt.core.operation import OpMapping
from spmopt.core.problem import Problem
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.table import Ints


class KnownMappings:
    """The latest mapping of each fusion tile.

    Fusion plans have most fused groups in common: what one has found is a good start for the next.
    """

    def __init__(self) -> None:
        self._of_tile: dict[tuple[OpMapping, ...], int] = {}
        self._of_operation: dict[tuple[int, int], int] = {}

    def learn(self, problem: Problem, origins: Sequence[Origin], plan: ResidencyPlan) -> None:
        """Remember the mappings of a plan."""
        if not problem.several_mappings:
            return
        steps = plan.steps
        # Thousands of tiles have the same mappings: by identity first, as comparing these takes
        # most of a minute of 100,000 tiles.
        latest = dict[tuple[int, ...], tuple[tuple[OpMapping, ...], int]]()
        for operation, number in zip(steps.operation.tolist(), steps.mapping.tolist(), strict=True):
            mappings = problem.operations[operation].mappings
            latest[tuple(map(id, mappings))] = mappings, number
            self._of_operation[origins[operation].operation, len(mappings)] = number
        self._of_tile |= dict(latest.values())

    def first(self, problem: Problem, origins: Sequence[Origin]) -> Ints | None:
        """Return (n,) the mapping of equal tiles, else of the same operation; None of one each.

        Of equally many mappings of an operation those of a number are alike: they are in order.
        """
        if not (problem.several_mappings and self._of_tile):
            return None
        chosen, fit = fitting_mappings(problem), fits_alone(problem)
        known = dict[tuple[int, ...], int | None]()
        for at, (operation, origin) in enumerate(zip(problem.operations, origins, strict=True)):
            mappings = operation.mappings
            alike = self._of_operation.get((origin.operation, len(mappings)), int(chosen[at]))
            key = tuple(map(id, mappings))
            if key not in known:
                known[key] = self._of_tile.get(mappings)
            found = known[key]
            number = alike if found is None else found
            if fit[problem.operands.first_mapping[at] + number]:
                chosen[at] = number
        return np.asarray(chosen, np.int64)
