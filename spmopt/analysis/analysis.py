"""Figures of one schedule by operation, layer and tensor."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from spmopt.analysis.breakdown import Breakdown, break_down
from spmopt.analysis.layers import StepLayers
from spmopt.analysis.reuse import Reuse, reuse
from spmopt.analysis.steps import StepFigures, step_figures
from spmopt.analysis.tensors import Columns, tensor_columns
from spmopt.core.problem import Problem
from spmopt.core.schedule import Schedule
from spmopt.verifier import ScheduleArrays


@dataclass(frozen=True, eq=False)
class Analysis:
    """A legal schedule, measured as in Tsai (2021), chapters 3 to 5.

    Every breakdown adds up to the verifier's totals exactly.
    """

    steps: StepFigures

    @classmethod
    def of(cls, problem: Problem, schedule: Schedule) -> Self:
        """Measure ``schedule``, which must be legal."""
        return cls(step_figures(ScheduleArrays.of(problem, schedule)))

    @property
    def problem(self) -> Problem:
        """Scheduled problem."""
        return self.steps.view.problem

    @property
    def layers(self) -> StepLayers:
        """Layer and pass of each step."""
        return self.steps.layers

    @cached_property
    def reuse(self) -> Reuse:
        """Reuse intervals."""
        return reuse(self.steps.view)

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
        # ``unique`` sorts by number of layer; ranks by first step restore the order of running.
        rank = np.argsort(np.argsort(first))
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
