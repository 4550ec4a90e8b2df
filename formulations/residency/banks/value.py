"""The exact objective of a plan with its banks, as the verifier has it of the schedule."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from math import ceil

import numpy as np

from spmopt.assemble.banks import moves_between
from spmopt.assemble.commands import derive_commands
from spmopt.assemble.cost import ResidencyPlanCost, residency_plan_cost
from spmopt.assemble.index import resident_bytes
from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.schedule import BankRows, Command, ResidencyPlan
from spmopt.core.shares import STREAM_BANK, Shares
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline, timeline

_Row = tuple[int, int, int, int, int]
"""Pages [first, last) of a tensor, their bank, steps [begin, end)."""
_Table = list[list[Fraction]]


def residency_plan_value(
    problem: Problem, residency_plan: ResidencyPlan, objective: Objective
) -> Fraction:
    """Return the objective of a legal residency plan that says which page lies in which bank."""
    line, cost, tables = _spend(problem, residency_plan)
    value = cost.value(objective, line)
    columns = (objective.bank_read_byte, objective.bank_write_byte)
    for weights, table in zip(columns, tables, strict=True):
        for bank, weight in enumerate(weights):
            value += weight * sum((step[bank] for step in table), Fraction(0))
    return value


def step_cycles(problem: Problem, residency_plan: ResidencyPlan) -> Ints:
    """Return (n,) the durations of its steps, ports included."""
    return _spend(problem, residency_plan)[1].step_time


def _spend(
    problem: Problem, residency_plan: ResidencyPlan
) -> tuple[Timeline, ResidencyPlanCost, tuple[_Table, _Table]]:
    """Return the timeline of a plan, its cost, and bytes read and written by step and bank."""
    line = timeline(problem, residency_plan.steps)
    read, write = _touch(problem, line, residency_plan)
    busiest = [_busiest(problem, *step) for step in zip(read, write, strict=True)]
    waits = replace(line, compute_cycles=np.maximum(line.compute_cycles, busiest))
    return line, residency_plan_cost(problem.machine, waits, residency_plan), (read, write)


def _busiest(problem: Problem, read: list[Fraction], write: list[Fraction]) -> int:
    """Return the cycles, rounded up, for which a bank's port is busy in a step, at most."""
    busiest = Fraction(0)
    for bank, out, into in zip(problem.machine.banks, read, write, strict=True):
        rates = ((out, bank.read_bytes_per_s), (into, bank.write_bytes_per_s))
        busiest = max(busiest, sum((size / rate for size, rate in rates if rate), Fraction(0)))
    return ceil(busiest * problem.machine.clock_hz)


def _touch(
    problem: Problem, line: Timeline, residency_plan: ResidencyPlan
) -> tuple[_Table, _Table]:
    """Return bytes that are read and written, by step and bank."""
    machine = problem.machine
    read, write = (
        [[Fraction(0)] * len(machine.banks) for _ in range(line.steps)] for _ in range(2)
    )
    banks = BankRows.empty() if residency_plan.banks is None else residency_plan.banks
    where: dict[int, list[_Row]] = defaultdict(list)
    for tensor, first, pages, bank, begin, end in banks.rows():
        where[tensor].append((first, first + pages, bank, begin, end))

    def add(side: list[Fraction], at: tuple[int, int, int, int], times: Fraction | int = 1) -> None:
        """Add bytes [low, high) of a tensor where they lie in a step."""
        step, tensor, low, high = at
        for first, last, bank, since, until in where[tensor]:
            size = min(high, last * machine.page_bytes) - max(low, first * machine.page_bytes)
            if since <= step < until and size > 0:
                side[bank] += size * times

    # A move reads where its bytes lay the step before.
    for step, tensor, low, high in moves_between(machine, line, banks).rows():
        add(read[step], (step - 1, tensor, low, high))
        add(write[step], (step, tensor, low, high))
    for step, kind, tensor, low, high, fetches in derive_commands(line, residency_plan).rows():
        into = kind in (Command.LOAD, Command.STREAM_IN)
        side = (write if into else read)[step]
        if kind in (Command.STREAM_IN, Command.STREAM_OUT):
            side[STREAM_BANK] += (high - low) * fetches
        else:
            add(side, (step, tensor, low, high))
    shares = Shares.of(line)
    for step in range(line.steps):
        read[step][STREAM_BANK] += shares.loose_read[step]
        write[step][STREAM_BANK] += shares.loose_write[step]
    held = resident_bytes(residency_plan.residency, line.step, line.tensor).tolist()
    columns = (line.step.tolist(), line.tensor.tolist(), held, shares.read, shares.write)
    for step, tensor, resident, own_read, own_write in zip(*columns, strict=True):
        # Of an operand that is not resident bytes pass by the stream bank.
        away = int(line.size_bytes[tensor]) - resident
        for side, share in ((read[step], own_read), (write[step], own_write)):
            side[STREAM_BANK] += away * share
            add(side, (step, tensor, 0, resident), share)
    return read, write
