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
from dataclasses import dataclass, replace

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
from formulations.residency.bound.mapped import Payments
from formulations.residency.bound.ranked import RankedIntervals
from formulations.residency.mapping_duals import cheapest_mappings, costs_apart
from formulations.residency.program.paths import path_use
from formulations.residency.subgradient import HOLD_SCALE, POLISH, Ascent, setup_bytes
from formulations.solver.program import Floats
from spmopt.core.instants import END, PARTS, START, by_instants, bytes_held_early
from spmopt.core.mappings import fits_alone
from spmopt.core.objective import Objective
from spmopt.core.operation import FIGURES
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

    Takes as many steps as there is time for; the first proves something already. Payments for
    mappings remain those with barriers, or there are none, whichever proves more at the start.
    """
    search = _Search(problem, objective, of_steps)
    start = multipliers(of_steps, search.coefficients)
    if start is None:
        best = search.climb(Multipliers.zero(search.coefficients), request, np.inf)
    else:
        best = search.climb(start, request, (1 - _CLOSE) * search.by_steps(start))
    return search.certificate(best)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Point:
    """Dual values, their bound, and what the operations leave: room and bytes that they hide."""

    at_start: Floats
    of_steps: Multipliers
    way: Payments | None
    bound: float
    dual: DualFunction
    room: Floats
    hidden: Floats


class _Search:
    """The dual of a problem over instants, and the best dual values so far."""

    def __init__(self, problem: Problem, objective: Objective, of_steps: Certificate) -> None:
        line = relax_timeline(problem)
        self._problem = problem
        self.coefficients = CostCoefficients(problem, line, objective)
        setup = setup_bytes(problem)
        self._by_steps = RankedIntervals(line, setup_bytes=setup)
        # A load may run beside another operation than its set-up: of streams alone it is known.
        self._intervals = RankedIntervals(
            by_instants(line), early=bytes_held_early(line), setup_bytes=setup, loads=False
        )
        self._steps, self._objective = line.steps, objective
        machine, table = problem.machine, problem.operands
        self._whole_bytes = machine.page_bytes * machine.spm_pages
        self._fit = fits_alone(problem)
        self._cycles = table.mappings.figures[FIGURES.index("compute_cycles"), table.mapping]
        self._ways: list[Payments | None] = [None]
        if problem.several_mappings:
            self._ways = [*Payments.ways(problem, of_steps)]
        self._at_instants = copy(self.coefficients)
        # Room and computing belong to operations, not to instants: they are added by steps.
        self._at_instants.capacity_bytes = np.zeros(PARTS * line.steps + 1)
        self._at_instants.compute_cycles = np.zeros(PARTS * line.steps + 1)

    @staticmethod
    def _spread(before: Floats, start: Floats, end: Floats, after: float) -> Floats:
        return np.append(np.stack((before, start, end), axis=1).ravel(), after)

    def by_steps(self, duals: Multipliers) -> float:
        """Return the bound at dual values with barriers between steps."""
        none = copy(self.coefficients)
        none.capacity_bytes = none.compute_cycles = np.zeros(self._steps)
        nothing = np.zeros(self._steps)
        duals_in_ways = ((_dual(self._by_steps, none, duals, way), way) for way in self._ways)
        return max(self._point(dual, nothing, duals, way).bound for dual, way in duals_in_ways)

    def climb(self, start: Multipliers, request: Request, enough: float) -> _Point:
        """Step up, from where holding pays at starts or at ends, whichever proves more."""
        steps, coefficients = self._steps, self.coefficients
        scale = HOLD_SCALE * coefficients.dearest_byte or 1.0
        time = coefficients.byte_time or 1.0
        moves = [start.load / time] + ([start.store / time] if coefficients.duplex else [])
        paid, nothing = start.spm / scale, np.zeros(steps)
        points = [np.concatenate((*held, *moves)) for held in ((paid, nothing), (nothing, paid))]
        tried = [(self._try(point, scale, way), point) for way in self._ways for point in points]
        best, point = max(tried, key=lambda each: each[0].bound)
        turns = request.params.residency.replay_steps
        ascent = Ascent(point, turns, POLISH)
        for _ in range(turns):
            if best.bound >= enough or request.stop() or request.remaining_s() <= 0:
                break
            found = self._try(ascent.point, scale, best.way)
            best = max(best, found, key=lambda each: each.bound)
            ascent.step(self._slope(found))
            ascent.point[2 * steps :] = np.minimum(ascent.point[2 * steps :], 1.0)
        return best

    def _try(self, point: Floats, scale: float, way: Payments | None) -> _Point:
        """Evaluate dual values."""
        coefficients = self.coefficients
        count = 4 if coefficients.duplex else 3
        held_start, held_end, *moves = np.split(point, count)
        shares = [coefficients.byte_time * each for each in moves]
        duals = Multipliers.legal(coefficients, scale * held_end, shares[0], shares[-1])
        at_start = scale * held_start
        columns = self._dual_columns(at_start, duals)
        dual = _dual(self._intervals, self._at_instants, columns, way)
        return self._point(dual, at_start, duals, way)

    def _point(
        self, dual: DualFunction, at_start: Floats, duals: Multipliers, way: Payments | None
    ) -> _Point:
        """Add computing and room to paths; operations run in the mapping that costs least."""
        own, held = self.coefficients, at_start + duals.spm
        if way is None:
            room, hidden = own.capacity_bytes, own.covered_bytes
            value = dual.value + duals.computing(own) - float((held * room).sum())
        else:
            _, rooms, costs = costs_apart(
                self._problem, own, self._objective, replace(duals, spm=held)
            )
            costs = np.where(self._fit, costs - way.earned - way.rooms * rooms, np.inf)
            first = self._problem.operands.first_mapping[:-1]
            chosen = first + cheapest_mappings(self._problem, costs)
            room, hidden = rooms[chosen], self._cycles[chosen] * own.bytes_per_cycle
            value = dual.value - own.constant + float(costs[chosen].sum())
            value -= float(held.sum()) * self._whole_bytes
        return _Point(
            at_start=at_start,
            of_steps=duals,
            way=way,
            bound=value,
            dual=dual,
            room=room,
            hidden=hidden,
        )

    def _slope(self, point: _Point) -> Floats:
        """Return a subgradient."""
        held, into, out = path_use(point.dual)
        room, typical = np.maximum(point.room, 1.0), self.coefficients.typical_bytes
        moved = [x[START::PARTS] + x[END::PARTS] for x in (into, out)]
        duplex = self.coefficients.duplex
        channels = moved if duplex else [moved[0] + moved[1]]
        if duplex:  # between operations, too, the dual values are those of the step
            channels = [c + x[:-1:PARTS] for c, x in zip(channels, (into, out), strict=True)]
        return np.concatenate(
            (
                held[START::PARTS] / room - 1,
                held[END::PARTS] / room - 1,
                *((each - point.hidden) / typical for each in channels),
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

    def certificate(self, best: _Point) -> Certificate:
        """Round dual values down to multiples of ``2**-bits``."""
        problem, objective = self._problem, self._objective
        coefficients, duals = self.coefficients, best.of_steps
        fetches, largest = problem.operands.most_fetches(), float(problem.machine.most_moved)
        dearest = largest * coefficients.dearest_byte
        # As of steps: a full one may have any dual value, and this one proves as much.
        most = 4 * (fetches + 1) * dearest
        start, end = np.minimum(best.at_start, most), np.minimum(duals.spm, most)
        moves = 2 * coefficients.byte_time + coefficients.in_byte + coefficients.out_byte
        moves = largest * moves + coefficients.unpacked + coefficients.packed
        path = float(start.sum() + end.sum() + (PARTS * fetches.sum() + 1) * moves)
        path += dearest_setups(problem, dearest)
        paid = best.way if best.way is not None and best.way.uses.any() else None
        if paid is not None:  # of all tensors together, which is more than of any path
            path += float(np.abs(paid.uses).sum() + paid.rooms_listed.sum())
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
            uses=None if paid is None else np.rint(np.ldexp(paid.uses, bits)).astype(np.int64),
            rooms=None if paid is None else round_down(paid.rooms_listed, bits, 2**MAGNITUDE),
        )


def _dual(
    intervals: RankedIntervals,
    coefficients: CostCoefficients,
    duals: Multipliers,
    way: Payments | None,
) -> DualFunction:
    """Return the dual over intervals, at the payments for mappings if there are any."""
    if way is None:
        return DualFunction(intervals, coefficients, duals)
    return way.dual(intervals, coefficients, duals)
