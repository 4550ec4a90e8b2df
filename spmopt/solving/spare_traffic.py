"""A schedule as fast that moves less, where DMA has time to spare.

Where computing decides the time, a search for the least time is free to move bytes again and again:
of a network of keywords 304 kB where 34 kB must. The least time, the objective, is searched first.
Then, on the same fusion plan, and layer by layer where that is as fast, bytes are
given a small cost, and a schedule that takes no longer and moves less is taken.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from spmopt.core.clock import cpu_s
from spmopt.core.objective import MAKESPAN, TRAFFIC
from spmopt.core.problem import Problem
from spmopt.core.result import Result, Totals
from spmopt.schedulers.registry import find
from spmopt.solving.barriers import on_whole_plan
from spmopt.solving.case import Case
from spmopt.solving.checked_calls import RESIDENCY
from spmopt.verifier.any_order import moved_once

_SHARE = Fraction(1, 1000)
"""Of the time, as the cost of all bytes that the first schedule moves."""
_WITHIN = 2e-5
"""Tolerance of that search: a fiftieth of the cost of bytes."""
_LIMIT, _ROUGH = 0.2, 0.01
"""Of the time limit, but no longer than the first search took; and a tolerance with which a rough
schedule is asked for, whatever it moves."""
_OFTEN, _BUSY = 1.25, 0.5
"""Traffic, of the least, from which a search is worth its time, and how busy DMA may be: one that
is busy for longer decides the time of too many steps."""


def with_less_traffic(case: Case, found: Result) -> Result:
    """Return a schedule that takes no longer and moves less, or the same one."""
    totals, listed = found.totals, case.listed
    if case.request.objective != MAKESPAN or case.problem.machine.banks or totals is None:
        return found
    if case.request.tolerance > _ROUGH:
        return found
    if found.order is not None or not _has_spare_time(case.problem, totals):
        return found
    wall, cpu = case.request.remaining_s(), cpu_s()
    least = _move_less(case, found)
    if found.fused is not None and listed is not None and listed.value == found.value:
        layers = _move_less(case, listed)
        if _traffic(layers) < _traffic(least):
            least = on_whole_plan(found.with_schedule_of(layers), layers, found.fused)
    return least.plus(wall - case.request.remaining_s(), cpu_s() - cpu)


def _has_spare_time(problem: Problem, totals: Totals) -> bool:
    channels = 2 if problem.machine.duplex else 1
    if totals.dma_cycles > _BUSY * channels * totals.makespan_cycles:
        return False
    return totals.traffic_bytes > _OFTEN * sum(moved_once(problem))


def _traffic(result: Result) -> int:
    assert result.totals is not None
    return result.totals.traffic_bytes


def _move_less(case: Case, found: Result) -> Result:
    """Return a schedule of the same fusion plan, at a cost of bytes, if it takes no longer."""
    request, totals = case.request, found.totals
    if request.is_over() or request.stop() or totals is None or found.residency_plan is None:
        return found
    weight = _SHARE * totals.makespan_cycles / totals.traffic_bytes
    seconds = min(_LIMIT * request.time_limit_s, found.solve_s)
    part = request.part(bounds=False).phase(seconds)
    part = replace(part, objective=MAKESPAN.plus(TRAFFIC, weight), tolerance=_WITHIN)
    case = Case(found.fused or case.problem, part)
    other = case.call(find(RESIDENCY), [found], duals=found.certificate)
    if other.totals is None or other.totals.makespan_cycles > totals.makespan_cycles:
        return found
    if _traffic(other) >= totals.traffic_bytes:
        return found
    return found.with_schedule_of(replace(other, value=other.totals.value(MAKESPAN)))
