"""Where duals at boundaries may be best: a linear program over upper bounds on fused groups."""

from __future__ import annotations

import numpy as np

from formulations.fusion.tileable import Listed
from formulations.fusion.work import CALL_S
from formulations.solver.highs import Repeated
from formulations.solver.program import Floats, Matrix, ProgramBuilder, SolverStatus
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.table import Ints

_DEAREST = 4.0
"""Most that a byte may cost, in dual values of its transfer."""
_FAR = 1e7  # more than any distance, in values of a byte; an infinite one leaves no basis


class Planes:
    """Maximizes the length of the shortest path, by the known planes of fused groups.

    ``work_s`` is about how long the last search took.

    A fused group of operations [a, b) costs at most ``plain + sum(change * duals)``, so that the
    distances from the begin ``d`` have ``d_b <= d_a`` + that.

    Parameters
    ----------
    unit
        Dual value of a byte's transfer, in objective units.
    """

    def __init__(self, listed: Listed, count: int, unit: float) -> None:
        self.boundaries, self.count = listed.count + 1, count
        self.work_s, self._entries = 0.0, 1
        self._byte = max(listed.capacity / 64, 1.0)
        self.unit = unit
        builder, distance = ProgramBuilder(), np.arange(self.boundaries)
        # Distances are bounded, as the program is unbounded before its first plane.
        cost, far = np.zeros(self.boundaries), np.where(distance > 0, _FAR, 0.0)
        cost[-1] = -1.0
        builder.columns(self.boundaries, cost=cost, lower=-far, upper=far)
        builder.columns(count, lower=0.0, upper=0.0)
        builder.add(builder.rows(1, 0.0, 0.0), distance[:1], 1.0)
        self._program = Repeated(builder.program(), {"solver": "simplex", "presolve": "off"})
        self._new: list[tuple[Ints, Floats, float]] = []

    def add(self, fused_group: FusedGroup, plain: float, number: Ints, change: Floats) -> None:
        """Add an upper bound on a fused group."""
        # Entries below the solver's tolerance would only make the matrix larger.
        some = np.abs(change) > 1e-9 * self._byte
        index = np.concatenate(
            ([fused_group.end, fused_group.begin], number[some] + self.boundaries)
        )
        value = np.concatenate(([1.0, -1.0], -change[some] / self._byte))
        self._new.append((index, value, plain / self._byte / self.unit))

    def clip(self, duals: Floats) -> Floats:
        """Return dual values as far as they are in the largest box."""
        found: Floats = np.clip(duals, 0.0, _DEAREST * self.unit)
        return found

    def best(self, center: Floats, radius: float) -> tuple[float, Floats]:
        """Return the value that the best dual values in a box may have, and these.

        Raises
        ------
        ArithmeticError
            The solver found no optimum.
        """
        if self._new:
            index, value, most = zip(*self._new, strict=True)
            start = np.concatenate(([0], np.cumsum([each.size for each in index])))
            matrix = Matrix(
                start=start,
                index=np.concatenate(index),
                value=np.concatenate(value),
                by_rows=True,
            )
            self._entries += matrix.index.size
            self._program.add_rows(matrix, np.full(len(most), -np.inf), np.array(most))
            self._new.clear()
        # A trust region: far from the best known duals the planes know little.
        lower = np.maximum(center / self.unit - radius, 0.0)
        upper = np.minimum(center / self.unit + radius, _DEAREST)
        columns = self.boundaries + np.arange(self.count)
        self._program.bounds(columns, lower, upper)
        answer = self._program.solve()
        # Iterations are counted as of the program that it began with, of one entry.
        self.work_s = CALL_S + answer.work_s * self._entries
        if answer.status is not SolverStatus.OPTIMAL or answer.primal is None:
            raise ArithmeticError(f"dual values at boundaries: {answer.status}")
        # The solver may leave a bound by its tolerance.
        duals = np.clip(answer.primal[columns], lower, upper) * self.unit
        assert answer.objective is not None
        return -answer.objective * self._byte * self.unit, duals
