"""Placements by CP-SAT: one dimension of no-overlap a section, in a given order of decisions.

Two-dimensional no-overlap solves none of the published instances in half a minute; sections,
lowest offsets first in an order that suits, and learning from conflicts solve most at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

import numpy as np

from formulations.placement.model import Model
from formulations.placement.orders import arranged
from formulations.placement.part import Part
from formulations.solver.apart import StoppedError, call
from spmopt.core.table import Ints

_WORKER = "formulations.placement.sat_worker:solve"


class Answer(Enum):
    """What came of a solve."""

    FOUND = "found"
    INFEASIBLE = "infeasible"  # proved
    STOPPED = "stopped"


@dataclass(frozen=True)
class Learner:
    """Solves for one part, which is made into rows once."""

    part: Part
    _orders: dict[str, Ints] = field(default_factory=dict)

    def solve(
        self,
        capacity: int,
        word: str,
        *,
        conflicts: int,
        time_limit_s: float,
        stop: Callable[[], bool] = bool,
    ) -> tuple[Answer, Ints | None]:
        """Look for offsets (k,) under ``capacity``, in the order ``word``, up to a limit."""
        part = self.part
        if (part.size > capacity).any() or (part.fixed + part.size > capacity).any():
            return Answer.INFEASIBLE, None
        if word not in self._orders:
            self._orders[word] = arranged(part, word)
        try:
            answer, offsets = call(
                _WORKER,
                self._model,
                self._orders[word],
                capacity,
                conflicts,
                time_limit_s,
                stop=stop,
            )
        except StoppedError:
            return Answer.STOPPED, None
        return Answer(answer), offsets

    @cached_property
    def _model(self) -> Model:
        part = self.part
        inside = np.where(part.windowed[:, None], False, part.needs > 0)
        inside[part.size == 0] = False
        return Model(
            size=part.size,
            alignment=part.alignment,
            fixed=part.fixed,
            sections=[np.flatnonzero(column) for column in inside.T],
            pairs=_pairs(part),
        )


def _pairs(part: Part) -> Ints:
    """Those that sections do not say: one of the two has windows, or no size."""
    special = part.windowed | (part.size == 0)
    met = part.meets & special[:, None]
    # Once, if both are special.
    met &= ~(special[None, :] & np.tri(len(part), k=-1, dtype=np.bool_))
    one, other = np.nonzero(met)
    return np.stack([one, other, part.apart[one, other], part.apart[other, one]], axis=1)
