"""Dual values without a program: a few subgradient steps on the Lagrangian dual.

The paths at given dual values use SPM and DMA time; their excess over the capacities is a
subgradient. Adam's scaling (Kingma and Ba, ICLR 2015) copes with the two kinds of dual values.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from formulations.residency.bound.dual import DualFunction
from formulations.residency.bound.duals import (
    CostCoefficients,
    Multipliers,
    certificate,
    multipliers,
)
from formulations.residency.bound.ranked import RankedIntervals
from formulations.residency.program.columns import PathColumns, of_keys
from formulations.residency.program.paths import path_columns, path_use
from formulations.residency.settings import Rates
from formulations.solver.program import Floats
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.scheduler import Request
from spmopt.core.timeline import relax_timeline

# Adam's 0.9 and 0.999 are for thousands of noisy steps; here there are some hundred exact ones.
_FIRST_DECAY, _SECOND_DECAY = 0.8, 0.95
_FAR, POLISH = (0.3, 0.002), (0.1, 0.002)
"""Rates where duals have far to go, as from scratch or to pay for set-ups, and from good ones."""
HOLD_SCALE = 0.5  # of the dearest byte: the size of a dual value of room, for one rate of both
_TINY = 1e-12  # no division by 0


def _ignore(bound: float) -> None:
    del bound


class Ascent:
    """Steps along subgradients from ``point``, which remains at 0 or above.

    Rates are those of the first and of the last of so many steps.
    """

    def __init__(self, point: Floats, iterations: int, rates: Rates) -> None:
        self.point = point
        self._first, self._second = np.zeros_like(point), np.zeros_like(point)
        self._iterations, self._rates = iterations, rates
        self._done = 0

    def step(self, slope: Floats) -> None:
        """Move on."""
        self._done += 1
        k, (first_rate, last_rate) = self._done, self._rates
        self._first = _FIRST_DECAY * self._first + (1 - _FIRST_DECAY) * slope
        self._second = _SECOND_DECAY * self._second + (1 - _SECOND_DECAY) * slope**2
        # Corrects the bias of averages that began at zero.
        trend = self._first / (1 - _FIRST_DECAY**k)
        spread = np.sqrt(self._second / (1 - _SECOND_DECAY**k)) + _TINY
        rate = first_rate * (last_rate / first_rate) ** (k / self._iterations)
        self.point = np.maximum(self.point + rate * trend / spread, 0.0)


def ascend(
    intervals: RankedIntervals,
    coefficients: CostCoefficients,
    iterations: int,
    samples: int,
    stop: Callable[[], bool],
    *,
    start: Multipliers | None = None,
    rates: Rates | None = None,
    tell: Callable[[float], None] = _ignore,
) -> tuple[Multipliers, PathColumns]:
    """Find duals and columns in some steps, from scratch or from duals that are good already.

    The paths of the last steps hover about an optimal solution: together, those of
    ``samples`` of them contain nearly every column that one needs. ``rates`` are those of the
    first and of the last step; between them they fall geometrically. ``tell`` hears of each best
    bound so far.

    Returns
    -------
    duals
        Those that proved most.
    columns
        On the paths of the last steps.
    """
    steps = intervals.steps
    unit = coefficients.dearest_byte
    channels = 2 if coefficients.duplex else 1
    # Both kinds of coordinates are near 1, so that one rate serves them.
    scale = HOLD_SCALE * unit
    first_rate, last_rate = rates or (_FAR if start is None else POLISH)
    if start is None:
        point = np.concatenate((np.zeros(steps), np.full(channels * steps, 0.5)))
    else:
        # Dual values are of any size (in joules they are tiny), and none where nothing has one.
        shares = [x / (coefficients.byte_time or 1.0) for x in (start.load, start.store)]
        point = np.concatenate((start.spm / (scale or 1.0), *shares[:channels]))
    ascent = Ascent(point, iterations, (first_rate, last_rate))
    seen = [np.empty(0, np.int64)]
    best, best_bound = None, -np.inf
    for k in range(1, iterations + 1):
        if stop() and (k > 1 or start is None):  # Dual values that are given prove what they do.
            break
        spm, dma = ascent.point[:steps] * scale, ascent.point[steps:] * coefficients.byte_time
        duals = Multipliers.legal(coefficients, spm, dma[:steps], dma[-steps:])
        dual = DualFunction(intervals, coefficients, duals)
        if dual.value > best_bound:
            best, best_bound = duals, dual.value
            tell(best_bound)
        slope = _excess(coefficients, dual)
        # No dual value can rise, and none that can fall would: its paths are a solution, the best.
        done = not ((slope > 0) | ((slope < 0) & (ascent.point > 0))).any()
        if done or k > iterations - samples:
            seen.append(path_columns(dual).key(steps))
        if done:
            break
        ascent.step(slope)
        # A byte of DMA costs at most its time: rho >= 0.
        ascent.point[steps:] = np.minimum(ascent.point[steps:], 1.0)
    return best or _without_steps(intervals, coefficients), of_keys(seen, steps)


def _without_steps(intervals: RankedIntervals, coefficients: CostCoefficients) -> Multipliers:
    """Return the best of duals that need no search: all time of the engine, or of a channel."""
    free, full = np.zeros(intervals.steps), np.full(intervals.steps, coefficients.byte_time)
    pairs = (free, free), (full, free), (free, full)
    known = [Multipliers.legal(coefficients, free, *pair) for pair in pairs]
    return max(known, key=lambda duals: DualFunction(intervals, coefficients, duals).value)


def _excess(coefficients: CostCoefficients, dual: DualFunction) -> Floats:
    """Return the excess use of SPM and DMA, each relative to its typical size."""
    held, into, out = path_use(dual)
    # Relative excess of each row: the subgradient, scaled.
    spm = held / np.maximum(coefficients.capacity_bytes, 1.0) - 1
    covered = coefficients.covered_bytes
    if coefficients.duplex:
        dma = np.concatenate((into - covered, out - covered))
    else:
        dma = into + out - covered
    return np.concatenate((spm, dma / coefficients.typical_bytes))


_STEP_S, _ACCESS_S, _BLOCK = 7e-6, 7e-8, 3_000
"""Seconds of a subgradient step on an idle machine, with the compiled kernel: beside its accesses,
and of an access. It takes those above some thousand in blocks, for a tenth each."""


def count_step(request: Request, accesses: int) -> None:
    """Count the work of a step."""
    request.work.seconds += _STEP_S + _ACCESS_S * (min(accesses, _BLOCK) + accesses / 10)


def setup_bytes(problem: Problem) -> float:
    """Return the bytes that the channel could move while a command is set up."""
    machine = problem.machine
    return machine.dma_setup_cycles * float(machine.bytes_per_cycle)


def with_setups(
    problem: Problem, request: Request, found: Certificate | None
) -> Certificate | None:
    """Return duals that prove at least as much as those found, where commands need set-ups.

    The linear program has no commands, and its dual values prove little of their costs: steps
    that compute for long have no dual value of DMA time there, though the set-ups of their
    commands fill them. On a random network of 146 operations (500 cycles a command) the program's
    dual values prove 114,994 cycles; after 300 steps from there 184,032, after 1,500 185,731.
    """
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
        count_step(request, intervals.step.size)
        return request.stop() or request.remaining_s() <= 0

    # At the rates of polishing 300 steps end up to 3 % lower: the start is a vertex, far away.
    count = request.params.residency.setup_steps
    best, _ = ascend(intervals, coefficients, count, 0, late, start=start, rates=_FAR)
    return certificate(problem, request.objective, coefficients, best)
