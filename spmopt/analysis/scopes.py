"""One line for each reuse scope: what there is to reuse, what a schedule captures, the need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spmopt.analysis.capacity import exact_bytes, formula_bytes
from spmopt.analysis.layers import Layers
from spmopt.analysis.reuse import Reuse, Scope
from spmopt.verify import View


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeFigures:
    """A reuse scope.

    Attributes
    ----------
    gaps
        Number of gaps; repeated passes within an operation are not counted.
    possible_bytes, captured_bytes
        Bytes that reuse can spare, and those that the schedule keeps on chip from use to use.
    formula_bytes, formula_most_bytes
        Capacity by the paper's formula, where it has one: for all gaps, and for nine tenths
        of them.
    alone_bytes, with_shorter_bytes
        Smallest scratchpad that captures all of this scope, and all of this and the shorter ones.
    """

    scope: Scope
    gaps: int
    possible_bytes: int
    captured_bytes: int
    formula_bytes: int | None
    formula_most_bytes: int | None
    alone_bytes: int
    with_shorter_bytes: int

    @property
    def captured(self) -> float | None:
        """Part that is captured; None when there is nothing to."""
        return self.captured_bytes / self.possible_bytes if self.possible_bytes else None


def scope_figures(view: View, of: Layers, found: Reuse) -> tuple[ScopeFigures, ...]:
    """Figures of every scope, shorter ones first."""
    return tuple(_figures(view, of, found, scope) for scope in Scope)


def _figures(view: View, of: Layers, found: Reuse, scope: Scope) -> ScopeFigures:
    gap = found.scope == scope
    possible, captured = found.possible_bytes[gap].sum(), found.captured_bytes[gap].sum()
    if scope is Scope.INTRA_LAYER:
        possible += found.repeated_bytes.sum()
        captured += found.spared_bytes.sum()
    formula = formula_bytes(view, of, found, scope)
    return ScopeFigures(
        scope=scope,
        gaps=int(np.count_nonzero(gap)),
        possible_bytes=int(possible),
        captured_bytes=int(captured),
        formula_bytes=None if formula is None else formula[0],
        formula_most_bytes=None if formula is None else formula[1],
        alone_bytes=exact_bytes(view, found, (scope,)),
        with_shorter_bytes=exact_bytes(view, found, [s for s in Scope if s <= scope]),
    )
