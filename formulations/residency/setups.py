"""Dual values once more, where commands have a set-up time: steps up the dual that knows of it.

The linear program has no commands, and its dual values prove little of their costs: steps that
compute for long have no dual value of DMA time there, though the set-ups of their commands fill
them. On SqueezeNet (1 MB, 500 cycles) the program's dual values prove 288,560 cycles without
set-ups, 292,229 with them; after 300 steps from there 306,626, after 1,500 306,898.
"""

from __future__ import annotations

from formulations.residency.bound.duals import CostCoefficients, certificate, multipliers
from formulations.residency.bound.ranked import RankedIntervals
from formulations.residency.subgradient import ascend
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.scheduler import Request
from spmopt.core.timeline import relax_timeline

_STEPS = 300
_STEP_S, _ACCESS_S = 1e-4, 1e-7
"""Counted seconds of a step, and of an access in it."""


def setup_bytes(problem: Problem) -> float:
    """Return the bytes that the channel could move while a command is set up."""
    machine = problem.machine
    return machine.dma_setup_cycles * float(machine.bytes_per_cycle)


def with_setups(
    problem: Problem, request: Request, found: Certificate | None
) -> Certificate | None:
    """Return duals that prove at least as much as those found, where commands need set-ups."""
    setup = setup_bytes(problem)
    # Without set-ups the duals of the program are the best there are.
    if found is None or not setup or not request.objective.cycle or found.holds_for:
        return found
    line = relax_timeline(problem)
    coefficients = CostCoefficients(problem, line, request.objective)
    start = multipliers(found, coefficients)
    if start is None or problem.machine.banks:
        return found
    intervals = RankedIntervals(line, setup_bytes=setup, threads=request.threads)

    def late() -> bool:
        request.work.seconds += _STEP_S + _ACCESS_S * intervals.step.size
        return request.stop() or request.remaining_s() <= 0

    best, _ = ascend(intervals, coefficients, _STEPS, 0, late, start=start)
    return certificate(problem, request.objective, coefficients, best)
