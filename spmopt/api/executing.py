"""Schedules executed on real numbers, and compared with plain execution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spmopt.api.arguments import check
from spmopt.api.callbacks import QUIET, Callbacks
from spmopt.api.inputs import Workload
from spmopt.api.shown import Shown
from spmopt.api.solutions import Solution
from spmopt.api.verifying import find_unverified, require_feasible
from spmopt.core.errors import ArgumentError, InputError

if TYPE_CHECKING:
    from spmopt.core.graph import Graph
    from spmopt.core.problem import Problem
    from spmopt.core.result import Result
    from spmopt.execution.comparison import Comparison
    from spmopt.execution.computations import Computation
    from spmopt.execution.executor import Kernel
    from spmopt.reporting.tables import Part

KERNELS = ("reference", "hash")
"""Kernels that compute operations, by name."""


@dataclass(frozen=True, eq=False, repr=False)
class Execution(Shown):
    """An executed schedule beside plain execution.

    Attributes
    ----------
    solution
        Executed solution.
    comparison
        Figures measured on the way, and differences at the end.
    kernels
        Kernels that computed the operations, in words.
    tolerance
        Up to which relative difference numbers are the same; 0: bit for bit.
    """

    solution: Solution
    comparison: Comparison
    kernels: str
    tolerance: float = 0.0

    @property
    def same(self) -> bool:
        """Whether results equal plain execution, and all figures equal the verifier's."""
        return self.comparison.same

    def parts(self) -> Iterator[Part]:
        """Yield heading, figures, and differences."""
        from spmopt.reporting.execution import execution_parts

        yield from execution_parts(*self._subject, kernels=self.kernels, tolerance=self.tolerance)

    def record(self) -> Mapping[str, object]:
        """Return the figures, as ``spmopt run --json``."""
        from spmopt.reporting.execution import execution_record

        return execution_record(*self._subject, kernels=self.kernels, tolerance=self.tolerance)

    @property
    def _subject(self) -> tuple[Problem, Result, Comparison]:
        return self.solution.problem, self.solution.result, self.comparison


@check
def run(
    result: str | Path | Solution,
    network: Workload | Graph | None = None,
    *,
    kernels: str | Kernel | None = None,
    data: str | None = None,
    seed: int = 0,
    callbacks: Callbacks = QUIET,
) -> Execution:
    """Execute a verified schedule on real numbers, and compare the results with plain execution.

    Every DMA command copies bytes between an array of exactly the scratchpad's size and DRAM,
    every operation reads its operands only from where the schedule has them, and freed bytes are
    overwritten. Plain execution runs the same kernels on whole tensors.

    Parameters
    ----------
    result
        Result file, or solution.
    network
        Scheduled network, as it was loaded: a result file has it only if it is fused.
    kernels
        Kernels: reference (the network's operators; default where the network is known), hash
        (results depend on every operand byte, without meaning), or in Python a function of the
        index of an operation and the bytes that it reads, which returns the bytes that it writes.
    data
        Initial DRAM content for kernels reference: integer (small whole numbers, exact sums in any
        order; default) or normal (normally distributed).
    seed
        Random seed of the initial DRAM content.
    callbacks
        Receive progress.

    Returns
    -------
    Execution
        Execution, and whether the results are the same.

    Raises
    ------
    InputError
        The file cannot be read, holds no schedule, is of another network, needs more memory than
        there is, or an operator has no kernel.
    ScheduleError
        The schedule is not legal.
    """
    from spmopt.execution.commands import machine_program
    from spmopt.execution.comparison import compare
    from spmopt.execution.executor import execute
    from spmopt.verifier import require_legal

    # numpy refuses negative seeds later, without naming the option.
    if seed < 0:
        raise ArgumentError("seed", f" {seed}: must be 0 or more")
    if isinstance(kernels, str) and kernels not in KERNELS:
        raise ArgumentError("kernels", f" {kernels}: must be {' or '.join(KERNELS)}, or a function")
    if not isinstance(result, Solution):
        result = find_unverified(result, callbacks)
    require_feasible(result)
    problem, schedule = result.problem, result.schedule
    callbacks.progress("verifying", None)
    report = require_legal(problem, schedule, result.result.totals)
    callbacks.progress("executing without a scratchpad", None)
    found = computation(result, network, kernels, data, seed=seed, callbacks=callbacks)
    callbacks.progress("executing", None)
    program = machine_program(problem, schedule)
    comparison = compare(
        program,
        execute(program, found.contents, found.kernel),
        found.expected,
        dtypes=found.dtypes,
        tolerance=found.tolerance,
        totals=report.totals,
    )
    return Execution(
        solution=result,
        comparison=comparison,
        kernels=found.words,
        tolerance=found.tolerance,
    )


def computation(
    solution: Solution,
    network: Workload | Graph | None,
    kernels: str | Kernel | None,
    data: str | None,
    *,
    seed: int,
    callbacks: Callbacks,
) -> Computation:
    """Choose kernels, and execute the operations plainly; arguments as of :func:`run`.

    Raises
    ------
    InputError
        The semantics of operations are unknown, or an operator has no kernel, where kernels are
        asked for; or tensors need more memory than this computer has.
    """
    from spmopt.execution.computations import by_bytes, by_graph, tileable_graph_for
    from spmopt.execution.memory import require_memory

    # At the start, as executed without a scratchpad, and with one.
    require_memory(3 * int(solution.problem.size_bytes.sum(dtype=object)))
    problem = solution.problem
    # Sums of floats depend on the order: plain execution follows that of the schedule.
    order = solution.schedule.steps.operation
    graph = network.graph if isinstance(network, Workload) else network
    if network is not None and graph is None:
        # A problem has sizes and cycles, but neither operators nor shapes.
        raise InputError("network: is a problem, which does not say what is computed; name it")
    # Only an explicit wish is an error below; otherwise hash kernels do.
    wanted = kernels == "reference" or network is not None or data is not None
    if kernels == "hash" or callable(kernels):
        if data is not None or network is not None:
            option = "network" if data is None else "data"
            raise ArgumentError(option, ": is for kernels reference; leave it or kernels out")
        return by_bytes(problem, order, seed, kernels if callable(kernels) else None)
    tileable = tileable_graph_for(problem, graph)
    if tileable is None:
        if wanted:
            raise InputError(
                "kernels reference: the result does not say what its operations compute; name the "
                "network beside it, with the options that it was loaded with"
            )
        return by_bytes(problem, order, seed)
    fusion_plan = problem.fusion_plan or None
    try:
        return by_graph(tileable, fusion_plan, problem, data or "integer", seed)
    except InputError as error:
        if wanted:
            raise
        callbacks.note(f"kernels are hash: {str(error).removeprefix('kernels: ')}")
        return by_bytes(problem, order, seed)
