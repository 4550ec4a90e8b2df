"""Placements by CP-SAT: one dimension of no-overlap a section, in a given order of decisions.

Two-dimensional no-overlap solves none of the published problems in half a minute; sections,
lowest offsets first in an order that suits, and learning from conflicts solve most at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from formulations.placement.greedy import arrange_buffers
from formulations.placement.parts import Part, Verdict
from formulations.solver.apart import StoppedError, call
from spmopt.core.table import Ints

_WORKER = "formulations.placement.cpsat_worker:solve"


@dataclass(frozen=True, kw_only=True)
class OffsetModel:
    """Inputs of the solver: offsets of buffers ``0 .. k-1``, free of overlap.

    Attributes
    ----------
    size, alignment, fixed : (k,)
        ``fixed`` is -1 where the offset is free.
    sections
        Buffers of which no two overlap, section by section.
    pairs : (p, 4)
        Columns i, j, up, down: ``o_j >= o_i + up`` or ``o_i >= o_j + down``.
    """

    size: Ints
    alignment: Ints
    fixed: Ints
    sections: list[Ints]
    pairs: Ints


@dataclass(frozen=True)
class CpSat:
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
    ) -> tuple[Verdict, Ints | None]:
        """Look for offsets (k,) under ``capacity``, in the order ``word``, up to a limit."""
        part = self.part
        if (part.size > capacity).any() or (part.fixed + part.size > capacity).any():
            return Verdict.INFEASIBLE, None
        if word not in self._orders:
            self._orders[word] = arrange_buffers(part, word)
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
            return Verdict.OPEN, None
        return Verdict(answer), offsets

    @cached_property
    def _model(self) -> OffsetModel:
        part = self.part
        inside = np.where(part.windowed[:, None], False, part.needs > 0)
        # Buffers of no size are kept apart by pairs.
        inside[part.size == 0] = False
        return OffsetModel(
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
