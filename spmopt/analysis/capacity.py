"""Capacity that each reuse scope needs, exactly and by the formulas of Tsai (2021), section 3.3.

*Exactly*: the smallest scratchpad for which a legal schedule captures every interval of the scope
in full and streams all else. In every step it must hold the tensors of the scope's intervals that
are open, in pages, beside the scratch and the required-resident operands, which no schedule does
without.

*By formula*, with the tensors that a layer touches in one pass as its working set:

* adjacent-layer: the largest working set (forward X, W, Y; backward X, dY, W, dW, dX);
* block: the largest sum of a working set and the tensors of block intervals around the layer;
* recurrent weight: the same with the intervals of recurrent weights (the paper adds the
  intermediate results of the cell, and calls the weights the major part);
* forward-backward: all results of forward operations and the weights that they read.

The paper gives none for the intra-layer scope.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from spmopt.analysis.layers import StepLayers, bytes_touched
from spmopt.analysis.reuse import Reuse, Scope, over_ranges
from spmopt.core.problem import TensorKind
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access
from spmopt.verifier import ScheduleArrays

MOST = 0.9
"""Part of a scope's intervals: a single huge layer, as that of the logits, can rule the maximum."""


def exact_bytes(view: ScheduleArrays, found: Reuse, scopes: Collection[Scope]) -> int:
    """Return the smallest scratchpad, in whole pages, that captures all reuse of ``scopes``."""
    line = view.timeline
    interval = np.isin(found.scope, list(scopes))
    held = interval | line.required_resident
    following = line.next[interval]
    held[following] = True
    if Scope.INTRA_LAYER in scopes:
        held |= found.repeated_bytes > 0
    pages = view.pages(line.size_bytes)[line.tensor]
    used = view.pages(line.scratch_bytes)
    np.add.at(used, line.step[held], pages[held])
    used = used + _between(line.step[interval], line.step[following], pages[interval], line.steps)
    return int(used.max()) * view.page_bytes


def formula_bytes(
    view: ScheduleArrays, of: StepLayers, found: Reuse, scope: Scope
) -> tuple[int, int] | tuple[None, None]:
    """Evaluate the paper's formula for all of a scope, and for :data:`MOST` of its intervals.

    None each for the scope that has no formula, zeros when nothing is reused. An interval is taken
    to be captured where the formula's need is met in all layers from its first to its second use.
    """
    if scope is Scope.INTRA_LAYER:
        return None, None
    line, interval = view.timeline, np.flatnonzero(found.scope == scope)
    if interval.size == 0:
        return 0, 0
    if scope is Scope.FORWARD_BACKWARD:
        total = int(line.size_bytes[_forward(view, of)].sum())
        return total, total
    begin, end = of.run[line.step[interval]], of.run[line.step[line.next[interval]]]
    need = bytes_touched(line, of.run, int(of.run[-1]) + 1)
    if scope is not Scope.ADJACENT_LAYER:
        need = need + _between(begin, end, line.size_bytes[line.tensor[interval]], need.size)
    needs = over_ranges(np.maximum, need, begin, end)
    return int(needs.max()), int(np.quantile(needs, MOST, method="inverted_cdf"))


def _between(begin: Ints, end: Ints, size: Ints, count: int) -> Ints:
    """Sum up (count,) the sizes of the intervals that a place lies in, without their ends."""
    change = np.zeros(count + 1, np.int64)
    open_ = end > begin
    np.add.at(change, begin[open_] + 1, size[open_])
    np.subtract.at(change, end[open_], size[open_])
    return np.cumsum(change)[:-1]


def _forward(view: ScheduleArrays, of: StepLayers) -> Bools:
    """Return (m,) tensors that forward operations write, and weights that they read."""
    line = view.timeline
    weight = np.array([t.kind is TensorKind.WEIGHT for t in view.problem.tensors], bool)
    chosen = ~of.backward[line.step] & ((line.kind != Access.READ) | weight[line.tensor])
    result = np.zeros(weight.size, bool)
    result[line.tensor[chosen]] = True
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeFigures:
    """A reuse scope.

    Attributes
    ----------
    gaps
        Number of intervals; repeated fetches within an operation are not counted.
    reusable_bytes, captured_bytes
        Bytes that reuse can spare, and those that the schedule keeps on chip from use to use.
    formula_bytes, formula_most_bytes
        Capacity by the paper's formula, where it has one: for all intervals, and for nine tenths
        of them.
    alone_bytes, with_shorter_bytes
        Smallest scratchpad that captures all of this scope, and all of this and the shorter ones.
    """

    scope: Scope
    gaps: int
    reusable_bytes: int
    captured_bytes: int
    formula_bytes: int | None
    formula_most_bytes: int | None
    alone_bytes: int
    with_shorter_bytes: int

    @property
    def captured(self) -> float | None:
        """Part that is captured; None when there is nothing to."""
        return self.captured_bytes / self.reusable_bytes if self.reusable_bytes else None


def scope_figures(view: ScheduleArrays, of: StepLayers, found: Reuse, scope: Scope) -> ScopeFigures:
    """Measure a scope."""
    interval = found.scope == scope
    possible, captured = found.possible_bytes[interval].sum(), found.captured_bytes[interval].sum()
    if scope is Scope.INTRA_LAYER:
        possible += found.repeated_bytes.sum()
        captured += found.spared_bytes.sum()
    formula, formula_most = formula_bytes(view, of, found, scope)
    return ScopeFigures(
        scope=scope,
        gaps=int(np.count_nonzero(interval)),
        reusable_bytes=int(possible),
        captured_bytes=int(captured),
        formula_bytes=formula,
        formula_most_bytes=formula_most,
        alone_bytes=exact_bytes(view, found, (scope,)),
        with_shorter_bytes=exact_bytes(view, found, [s for s in Scope if s <= scope]),
    )
