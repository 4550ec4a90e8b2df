"""Explanation of a schedule: causes of stalls, figures by layer or tensor, shadow prices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spmopt.api.arguments import check
from spmopt.api.shown import Shown
from spmopt.api.solutions import Solution
from spmopt.core.errors import ArgumentError, unknown

if TYPE_CHECKING:
    from spmopt.analysis.explanation import Explanation
    from spmopt.analysis.shadow_prices import ShadowPrices
    from spmopt.reporting.tables import Part

PER = {
    "operation": "each operation, in the order of the schedule",
    "layer": "each operation with its gradients, forward and backward",
    "tensor": "each tensor",
}


@dataclass(frozen=True, eq=False, repr=False)
class Stalls(Shown):
    """Stalls of a schedule, their causes, and shadow prices of resources.

    Attributes
    ----------
    solution
        Explained schedule.
    explanation
        All figures, as arrays.
    shadow_prices
        Shadow prices of scratchpad and bandwidth; None without a certificate for its order.
    steps
        Steps that are shown.
    in_full
        Whether all of their transfers are shown.
    per
        Unit of the rows: a key of :data:`PER`, or None for the stalls alone.
    """

    solution: Solution
    explanation: Explanation
    shadow_prices: ShadowPrices | None
    steps: Sequence[int]
    in_full: bool = False
    per: str | None = None

    def parts(self) -> Iterator[Part]:
        """Yield the summary, the steps and the shadow prices."""
        from spmopt.reporting.explanation import explanation_parts

        yield from explanation_parts(
            self.explanation,
            self.shadow_prices,
            self.solution.result,
            self.steps,
            in_full=self.in_full,
            per=self.per,
        )

    def record(self) -> Mapping[str, object]:
        """Return all figures, as ``spmopt explain --json``."""
        from spmopt.reporting.explanation import explanation_record

        return explanation_record(
            self.explanation, self.shadow_prices, self.solution.result, self.steps, self.per
        )

    def rows(self) -> Sequence[Mapping[str, object]]:
        """Return a row for each operation, layer or tensor by ``per``; else for each transfer."""
        from spmopt.reporting.analysis import records

        return records(self._columns())

    def save_csv(self, path: str | Path) -> None:
        """Write :meth:`rows` as CSV."""
        from spmopt.io.document import write_text
        from spmopt.reporting.tables import csv_text

        write_text(Path(path), csv_text(self._columns()))

    def _columns(self) -> Mapping[str, Sequence[object]]:
        """Return figures by ``per``, or else every transfer that a step waits for."""
        from spmopt.reporting.analysis import detail
        from spmopt.reporting.explanation import transfer_columns

        if self.per is not None:
            return detail(self.explanation.analysis, self.per)
        # Rows are for programs: all steps, unless one was asked for.
        return transfer_columns(self.explanation, self.steps if self.in_full else None)


@check
def explain(
    solution: Solution, *, top: int = 5, step: int | None = None, per: str | None = None
) -> Stalls:
    """Explain the stalls of a schedule, and the worth of more scratchpad and bandwidth.

    Parameters
    ----------
    solution
        Solution, from :func:`solve` or :func:`read`.
    top
        Number of steps to show, those with the longest stalls.
    step
        Show this step instead, counted from 0, in full.
    per
        Also show time, traffic and stall of each operation, layer or tensor.

    Returns
    -------
    Stalls
        Causes, steps and shadow prices.

    Raises
    ------
    InputError
        There is no schedule, no such step or no such ``per``.
    """
    from spmopt.analysis.explanation import Explanation
    from spmopt.analysis.shadow_prices import ShadowPrices

    if per is not None and per not in PER:
        raise unknown("choice for per", per, PER)
    problem, schedule, result = solution.problem, solution.schedule, solution.result
    if top < 1:
        raise ArgumentError("top", f" {top}: must be at least 1")
    found = Explanation.of(problem, schedule, result.objective, result.fusion_certificate)
    count = len(schedule.steps)
    if step is not None and not 0 <= step < count:
        raise ArgumentError("step", f" {step}: there are steps 0 to {count - 1}")
    # From the stored certificate: shadow prices need no new solve.
    duals = ShadowPrices.of_result(problem, result)
    steps = found.largest(top) if step is None else [step]
    return Stalls(solution, found, duals, steps, in_full=step is not None, per=per)
