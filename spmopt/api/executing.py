"""Schedules executed on real numbers, and compared with plain execution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spmopt.api.arguments import checked
from spmopt.api.callbacks import QUIET, Callbacks
from spmopt.api.shown import Shown
from spmopt.api.solutions import Solution
from spmopt.api.verifying import require_feasible, unverified
from spmopt.core.errors import InputError

if TYPE_CHECKING:
    from spmopt.core.instance import Instance
    from spmopt.core.result import Result
    from spmopt.execution.comparison import Comparison
    from spmopt.execution.executor import Kernel
    from spmopt.reporting.tables import Part


@dataclass(frozen=True, eq=False, repr=False)
class Execution(Shown):
    """An executed schedule beside plain execution.

    Attributes
    ----------
    solution
        What was executed.
    comparison
        Figures measured on the way, and what differs at the end.
    kernels
        What computed the operations, in words.
    tolerance
        Up to which relative difference numbers are the same; 0: bit for bit.
    """

    solution: Solution
    comparison: Comparison
    kernels: str
    tolerance: float = 0.0

    @property
    def same(self) -> bool:
        """Whether the results are those of plain execution, and all figures the verifier's."""
        return self.comparison.same

    def parts(self, width: int | None = None) -> Iterator[Part]:
        """Yield heading, figures, and what differs."""
        from spmopt.reporting.execution import execution_parts

        del width
        yield from execution_parts(*self._subject, kernels=self.kernels, tolerance=self.tolerance)

    def record(self) -> Mapping[str, object]:
        """Return the figures, as ``spmopt run --json``."""
        from spmopt.reporting.execution import execution_record

        return execution_record(*self._subject, kernels=self.kernels, tolerance=self.tolerance)

    @property
    def _subject(self) -> tuple[Instance, Result, Comparison]:
        return self.solution.instance, self.solution.result, self.comparison


@checked
def run(
    result: str | Path | Solution,
    *,
    kernels: str | Kernel | None = None,
    seed: int = 0,
    callbacks: Callbacks = QUIET,
) -> Execution:
    """Execute a verified schedule on real bytes, and compare the results with plain execution.

    Every DMA command copies bytes between an array of exactly the scratchpad's size and DRAM,
    every operation reads its operands only from where the schedule has them, and what is given up
    is overwritten. Plain execution runs the same kernels on whole tensors.

    Parameters
    ----------
    result
        Result file, or solution.
    kernels
        What computes operations: hash, results that follow from every operand byte and mean nothing
        (default); or a function of the index of an operation and the bytes of what it reads, that
        returns the bytes of what it writes.
    seed
        Of the contents of DRAM at the start.
    callbacks
        Receive progress.

    Returns
    -------
    Execution
        What was executed, and whether the results are the same.

    Raises
    ------
    InputError
        The file cannot be read, holds no schedule, or needs more memory than there is.
    ScheduleError
        The schedule is not legal.
    """
    from spmopt.execution.commands import machine_program
    from spmopt.execution.comparison import compare, plain_order
    from spmopt.execution.executor import execute, execute_plainly
    from spmopt.execution.hashing import hash_kernel, random_contents
    from spmopt.verifier import require_legal

    if not isinstance(result, Solution):
        result = unverified(result, callbacks)
    if seed < 0:
        raise InputError(f"seed: must be 0 or more, is {seed}")
    if isinstance(kernels, str) and kernels != "hash":
        raise InputError(f"kernels {kernels!r}: must be hash, or a function")
    require_feasible(result)
    instance, schedule = result.instance, result.schedule
    callbacks.progress("verifying", None)
    report = require_legal(instance, schedule, result.result.totals)
    callbacks.progress("executing", None)
    kernel = kernels if callable(kernels) else hash_kernel(instance)
    contents = random_contents(instance, seed)
    program = machine_program(instance, schedule)
    found = execute(program, contents, kernel)
    callbacks.progress("executing without a scratchpad", None)
    order = plain_order(instance, schedule.steps.operation)
    expected = execute_plainly(instance, order, contents, kernel)
    comparison = compare(program, found, expected, totals=report.totals)
    named = "a function" if callable(kernels) else "hash, of every operand byte"
    return Execution(solution=result, comparison=comparison, kernels=f"{named}; seed {seed}")
