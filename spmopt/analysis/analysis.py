"""The analysis of one schedule: all figures, by operation, layer, type and tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from spmopt.analysis.breakdown import Breakdown, break_down
from spmopt.analysis.capacity import ScopeFigures, scope_figures
from spmopt.analysis.layers import StepLayers
from spmopt.analysis.reuse import Reuse, Scope, bytes_needed, reuse
from spmopt.analysis.steps import StepFigures, step_figures
from spmopt.analysis.tensors import Columns, tensor_columns, use_columns
from spmopt.core.problem import Problem
from spmopt.core.schedule import Schedule
from spmopt.verifier import ScheduleArrays

TYPES = ("type I", "type II")
_TYPE_LABELS = ("matrix products", "point-wise")


@dataclass(frozen=True, kw_only=True, eq=False)
class Analysis:
    """A legal schedule, measured as in Tsai (2021), chapters 3 to 5.

    Every breakdown adds up to the verifier's totals exactly.
    """

    problem: Problem
    steps: StepFigures
    reuse: Reuse

    @classmethod
    def of(cls, problem: Problem, schedule: Schedule) -> Self:
        """Measure ``schedule``, which must be legal."""
        steps = step_figures(ScheduleArrays.of(problem, schedule))
        return cls(problem=problem, steps=steps, reuse=reuse(steps.view, steps.layers))

    @property
    def layers(self) -> StepLayers:
        """Groups of the steps."""
        return self.steps.layers

    @property
    def vain_bytes(self) -> int:
        """Brought in and dropped before use: prefetches that did not survive."""
        return int(self.steps.dram_in_bytes.sum()) - bytes_needed(self.steps.view, self.reuse)

    def network(self) -> Breakdown:
        """Sum up everything in one group."""
        group = np.zeros(self.steps.cycles.size, np.int64)
        return break_down(self.steps, group, (self.problem.name,), ("",))

    def types(self) -> Breakdown:
        """Sum up type I and type II."""
        group = np.where(self.layers.product, 0, 1)
        return break_down(self.steps, group, TYPES, _TYPE_LABELS)

    def by_operation(self) -> Breakdown:
        """Measure each step by itself, labeled with the kind of its operation."""
        order = self.steps.view.timeline.order
        operations = [self.problem.operations[index] for index in order.tolist()]
        return break_down(
            self.steps,
            np.arange(order.size),
            tuple(op.name for op in operations),
            tuple(op.kind for op in operations),
        )

    def by_layer(self) -> Breakdown:
        """Sum up each layer in each pass, forward or backward, in order of its first step."""
        of = self.layers
        _, first, inverse = np.unique(
            2 * of.layer + of.backward, return_index=True, return_inverse=True
        )
        rank = np.empty_like(first)
        rank[np.argsort(first)] = np.arange(first.size)
        steps = np.sort(first)
        return break_down(
            self.steps,
            rank[inverse],
            tuple(of.names[layer] for layer in of.layer[steps].tolist()),
            tuple("backward" if back else "forward" for back in of.backward[steps].tolist()),
        )

    def by_tensor(self) -> Columns:
        """Measure each tensor."""
        return tensor_columns(self.steps, self.reuse)

    def by_use(self) -> Columns:
        """Measure each tensor in each operation."""
        return use_columns(self.steps, self.reuse)

    def scopes(self) -> tuple[ScopeFigures, ...]:
        """Measure reuse by scope, shorter ones first."""
        return tuple(
            scope_figures(self.steps.view, self.layers, self.reuse, scope) for scope in Scope
        )
