"""A first residency plan and first duals where time counts and every operand is required-resident.

Transfers of a step for its own operands wait for its computing (R6); hidden behind it are
transfers for other steps alone, and each byte of these takes up room in the step. Where transfers
take longer than computing, time is thus that of all transfers and of the computing that hides
none. Hiding is one more interval, of one step, that saves the time of its bytes: the same flow.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from formulations.residency.bound.duals import CostCoefficients, Multipliers
from formulations.residency.flow.hide import Hiding
from formulations.residency.flow.network import Packing, pack
from formulations.residency.flow.savings import SavingIntervals, spare_units
from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline, fitting_timeline


def time_start(problem: Problem, request: Request) -> tuple[ResidencyPlan, Multipliers] | None:
    """Return plan and dual values; None where the flow does not apply or the time is too short.

    With ``pi`` the dual value of a byte of capacity, a byte moved in a step has the dual value of
    its time less ``pi``: bytes moved a step ahead pay for capacity, and altogether as much as in
    their own step.

    Raises
    ------
    InfeasibleError
        An operation's required-resident operands and scratch do not fit the SPM.
    """
    machine, objective, page = problem.machine, request.objective, problem.machine.page_bytes
    if not objective.cycle or objective.replayed or machine.duplex or problem.several_mappings:
        return None
    line = fitting_timeline(problem)
    byte_time = objective.cycle / machine.bytes_per_cycle
    intervals = SavingIntervals.of(line, _drop_times(objective, byte_time))
    if intervals is None or byte_time < intervals.unit:
        return None
    capacity, need = spare_units(machine, line, page), _bytes_hidden(line, machine.bytes_per_cycle)
    packing, pages = _packing(intervals, capacity, need, page, int(byte_time / intervals.unit))
    packed = pack(packing, request)
    if packed is None:
        return None
    kept = np.minimum(packed.kept[: pages.size] * page, intervals.size_bytes)
    residency_plan = Hiding(
        intervals, kept, capacity=capacity, need=need, page=page
    ).residency_plan()
    coefficients = CostCoefficients(problem, line, objective)
    spm = (packed.dual / page).astype(np.float64) * float(intervals.unit)
    # A byte moved a step ahead pays for room, and saves as much of its time.
    dma = coefficients.byte_time - spm
    return residency_plan, Multipliers.legal(coefficients, spm, dma, dma)


def _drop_times(objective: Objective, byte_time: Fraction) -> Objective:
    """State time as a dual value of bytes."""
    return replace(
        objective,
        cycle=Fraction(0),
        dram_in_byte=objective.dram_in_byte + byte_time,
        dram_out_byte=objective.dram_out_byte + byte_time,
    )


def _bytes_hidden(line: Timeline, rate: Fraction) -> Ints:
    """Count bytes (n,) that the channel moves while a step computes, at most all there are."""
    most = int(line.size_bytes[line.tensor].sum())
    return np.array([min(int(cycles * rate), most) for cycles in line.compute_cycles.tolist()])


def _packing(
    intervals: SavingIntervals, capacity: Ints, need: Ints, page: int, byte_saving: int
) -> tuple[Packing, Ints]:
    """Pack intervals in pages, the last as dear as a full one, and hiding; return the pages too."""
    steps = np.arange(capacity.size)
    pages = -(-intervals.size_bytes // page)
    packing = Packing(
        capacity=capacity,
        begin=np.concatenate((intervals.begin, steps)),
        end=np.concatenate((intervals.end, steps + 1)),
        most=np.concatenate((pages, np.minimum(-(-need // page), capacity))),
        saving=np.concatenate(
            (intervals.saving * page, np.full(capacity.size, byte_saving * page))
        ),
    )
    return packing, pages
