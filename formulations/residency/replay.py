"""Dual values that prove a bound on the replay: steps up its own dual, from dual values of steps.

Without barriers there are no steps to share the channel's time with; the time between the starts
and ends of operations takes their place (:mod:`spmopt.verifier.replay_bound`). Bytes are held at
instants and move while an operation runs, or between operations, where nothing hides it. At the
dual values of steps this dual proves 0.1 to 2 % less than theirs, and its optimum is often the
same: by a linear program on the LSTM and, with half its scratchpad, the small residual network of
the examples. After 300 steps 0.8 and 2.5 % of it are missing, after 1000 0.1 and 0.5, after 3000
0.01. The optimum of steps is never below it, for the instants allow all that steps do; so dual
values as good as theirs end the search.
"""

from __future__ import annotations

from copy import copy

import numpy as np

from formulations.residency.bound.dual import DualFunction
from formulations.residency.bound.duals import (
    MAGNITUDE,
    CostCoefficients,
    Multipliers,
    binary_digits,
    dearest_setups,
    dma_limit,
    multipliers,
    round_channels,
    round_down,
)
from formulations.residency.bound.ranked import RankedIntervals
from formulations.residency.program.paths import path_use
from formulations.residency.subgradient import HOLD_SCALE, POLISH, Ascent, setup_bytes
from formulations.solver.program import Floats
from spmopt.core.instants import END, PARTS, START, by_instants, bytes_held_early
from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.scheduler import Request
from spmopt.core.timeline import relax_timeline

_CLOSE = 1e-5
"""Of the bound at the dual values of steps: nothing more is to be had."""


def replay_certificate(
    problem: Problem, of_steps: Certificate, objective: Objective, request: Request
) -> Certificate:
    """Return duals that prove a bound on the replay, from those of the same costs with barriers.

    Takes as many steps as there is time for; the first proves something already.
    """
    search = _Search(problem, objective)
    start = multipliers(of_steps, search.coefficients)
    if start is None:
        search.climb(Multipliers.zero(search.coefficients), request, np.inf)
    else:
        search.climb(start, request, (1 - _CLOSE) * search.by_steps(start))
    return search.certificate(problem, objective)


class _Search:
    """The dual of a problem over instants, and the best dual values so far."""

    def __init__(self, problem: Problem, objective: Objective) -> None:
        line = relax_timeline(problem)
        self.coefficients = CostCoefficients(problem, line, objective)
        setup = setup_bytes(problem)
        self._by_steps = RankedIntervals(line, setup_bytes=setup)
        # A load may run beside another operation than its set-up: of streams alone it is known.
        self._intervals = RankedIntervals(
            by_instants(line), early=bytes_held_early(line), setup_bytes=setup, loads=False
        )
        self._steps, self._bound = line.steps, -np.inf
        self._at_instants = copy(self.coefficients)
        room = self.coefficients.capacity_bytes
        self._at_instants.capacity_bytes = self._spread(np.zeros_like(room), room, room, 0.0)
        # Time of computing belongs to operations, not to instants: it is added by steps.
        self._at_instants.compute_cycles = np.zeros(PARTS * line.steps + 1)
        self.at_start, self.of_steps = np.zeros(line.steps), Multipliers.zero(self.coefficients)

    @staticmethod
    def _spread(before: Floats, start: Floats, end: Floats, after: float) -> Floats:
        return np.append(np.stack((before, start, end), axis=1).ravel(), after)

    def by_steps(self, duals: Multipliers) -> float:
        """Return the bound at dual values with barriers between steps."""
        return DualFunction(self._by_steps, self.coefficients, duals).value

    def climb(self, start: Multipliers, request: Request, enough: float) -> None:
        """Step up; a byte held pays at starts first of all, where that proves most by itself."""
        steps, coefficients = self._steps, self.coefficients
        scale = HOLD_SCALE * coefficients.dearest_byte or 1.0
        time = coefficients.byte_time or 1.0
        columns = [start.spm / scale, np.zeros(steps), start.load / time]
        columns += [start.store / time] if coefficients.duplex else []
        turns = request.params.residency.replay_steps
        ascent = Ascent(np.concatenate(columns), turns, POLISH)
        for turn in range(turns):
            if turn and (self._bound >= enough or request.stop() or request.remaining_s() <= 0):
                break
            held_start, held_end, *moves = np.split(ascent.point, len(columns))
            shares = [coefficients.byte_time * each for each in moves]
            duals = Multipliers.legal(coefficients, scale * held_end, shares[0], shares[-1])
            ascent.step(self._try(scale * held_start, duals))
            ascent.point[2 * steps :] = np.minimum(ascent.point[2 * steps :], 1.0)

    def _try(self, at_start: Floats, duals: Multipliers) -> Floats:
        """Evaluate dual values, keep them if they prove more, and return a subgradient."""
        coefficients = self.coefficients
        dual = DualFunction(self._intervals, self._at_instants, self._dual_columns(at_start, duals))
        # The copy's time is no operation's; computing is added by steps.
        bound = dual.value + duals.computing(coefficients)
        if bound > self._bound:
            self._bound, self.at_start, self.of_steps = bound, at_start, duals
        held, into, out = path_use(dual)
        covered, typical = coefficients.covered_bytes, coefficients.typical_bytes
        room = np.maximum(coefficients.capacity_bytes, 1.0)
        moved = [x[START::PARTS] + x[END::PARTS] for x in (into, out)]
        channels = moved if coefficients.duplex else [moved[0] + moved[1]]
        if coefficients.duplex:  # between operations, too, the dual values are those of the step
            channels = [c + x[:-1:PARTS] for c, x in zip(channels, (into, out), strict=True)]
        return np.concatenate(
            (
                held[START::PARTS] / room - 1,
                held[END::PARTS] / room - 1,
                *((each - covered) / typical for each in channels),
            )
        )

    def _dual_columns(self, at_start: Floats, duals: Multipliers) -> Multipliers:
        """Return dual values at instants, as the verifier derives them."""
        load, store, time = duals.load, duals.store, self.coefficients.byte_time
        spm = self._spread(np.zeros_like(at_start), at_start, duals.spm, 0.0)
        if self.coefficients.duplex:
            into = self._spread(load, load, load, 0.0)
            return Multipliers(spm=spm, load=into, store=self._spread(store, store, store, time))
        idle = np.full_like(load, time)
        into = self._spread(idle, load, load, time)
        return Multipliers(spm=spm, load=into, store=into)

    def certificate(self, problem: Problem, objective: Objective) -> Certificate:
        """Round the best dual values down to multiples of ``2**-bits``."""
        coefficients, duals = self.coefficients, self.of_steps
        dearest, fetches = coefficients.dearest_byte, problem.operands.most_fetches()
        # As of steps: a full one may have any dual value, and this one proves as much.
        most = 4 * (fetches + 1) * dearest
        start, end = np.minimum(self.at_start, most), np.minimum(duals.spm, most)
        moves = 2 * coefficients.byte_time + coefficients.in_byte + coefficients.out_byte
        path = float(start.sum() + end.sum() + (PARTS * fetches.sum() + 1) * moves)
        path += dearest_setups(problem, dearest)
        bits = binary_digits(dearest, path, MAGNITUDE) if dearest > 0 else 0
        limit = dma_limit(problem, objective, bits)
        duplex = coefficients.duplex
        load, store = round_channels(duals.load, duals.store, bits, limit, duplex=duplex)
        return Certificate(
            objective=objective,
            bits=bits,
            spm=round_down(end, bits, 2**MAGNITUDE),
            dram_in=load,
            dram_out=store,
            spm_at_start=round_down(start, bits, 2**MAGNITUDE),
        )
