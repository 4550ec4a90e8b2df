"""The exact objective of a plan with its banks, as the verifier has it of the schedule."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from spmopt.assemble.commands import derive_commands
from spmopt.assemble.cost import residency_plan_cost
from spmopt.assemble.index import resident_bytes
from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.schedule import BankRows, Command, ResidencyPlan
from spmopt.core.shares import STREAM_BANK, Shares
from spmopt.core.timeline import Timeline, timeline

_Row = tuple[int, int, int, int, int]
"""Pages [first, last) of a tensor, their bank, steps [begin, end)."""
_Table = list[list[Fraction]]


def residency_plan_value(
    problem: Problem, residency_plan: ResidencyPlan, objective: Objective
) -> Fraction:
    """Return the objective of a legal residency plan that says which page lies in which bank."""
    line = timeline(problem, residency_plan.steps)
    read, write = _touch(problem, line, residency_plan)
    busiest = [_busiest(problem, *step) for step in zip(read, write, strict=True)]
    waits = replace(line, compute_cycles=np.maximum(line.compute_cycles, busiest))
    value = residency_plan_cost(problem.machine, waits, residency_plan).value(objective, line)
    if objective.bank_read_byte:
        for weights, table in (
            (objective.bank_read_byte, read),
            (objective.bank_write_byte, write),
        ):
            for bank, weight in enumerate(weights):
                value += weight * sum((step[bank] for step in table), Fraction(0))
    return value


def _busiest(problem: Problem, read: list[Fraction], write: list[Fraction]) -> int:
    """Return the cycles, rounded up, for which a bank's port is busy in a step, at most."""
    machine, busiest = problem.machine, Fraction(0)
    for bank, out, into in zip(machine.banks, read, write, strict=True):
        seconds = out / bank.read_bytes_per_s if bank.read_bytes_per_s else Fraction(0)
        seconds += into / bank.write_bytes_per_s if bank.write_bytes_per_s else Fraction(0)
        busiest = max(busiest, seconds)
    return -int(-busiest * machine.clock_hz // 1)


def _touch(
    problem: Problem, line: Timeline, residency_plan: ResidencyPlan
) -> tuple[_Table, _Table]:
    """Return bytes that are read and written, by step and bank."""
    machine = problem.machine
    read, write = (
        [[Fraction(0)] * len(machine.banks) for _ in range(line.steps)] for _ in range(2)
    )
    where = _Where(residency_plan, machine.page_bytes, line.size_bytes.tolist())
    for step, tensor, begin, end, old, new in where.moves():
        size = where.bytes_of(tensor, begin, end)
        read[step][old] += size
        write[step][new] += size
    for step, kind, tensor, begin, end, fetches in derive_commands(line, residency_plan).rows():
        into = kind in (Command.LOAD, Command.STREAM_IN)
        side = (write if into else read)[step]
        if kind in (Command.STREAM_IN, Command.STREAM_OUT):
            side[STREAM_BANK] += (end - begin) * fetches
        else:
            for bank, size in where.bytes_by_bank(step, tensor, begin, end):
                side[bank] += size
    shares = Shares.of(line)
    for step in range(line.steps):
        read[step][STREAM_BANK] += shares.loose_read[step]
        write[step][STREAM_BANK] += shares.loose_write[step]
    held = resident_bytes(residency_plan.residency, line.step, line.tensor).tolist()
    columns = (line.step.tolist(), line.tensor.tolist(), held)
    for access, (step, tensor, resident) in enumerate(zip(*columns, strict=True)):
        own = [(STREAM_BANK, int(line.size_bytes[tensor]) - resident)]
        for bank, size in [*own, *where.bytes_by_bank(step, tensor, 0, resident)]:
            read[step][bank] += size * shares.read[access]
            write[step][bank] += size * shares.write[access]
    return read, write


class _Where:
    """Banks of the pages of each tensor."""

    def __init__(self, residency_plan: ResidencyPlan, page_bytes: int, sizes: list[int]) -> None:
        banks = BankRows.empty() if residency_plan.banks is None else residency_plan.banks
        self._page, self._sizes = page_bytes, sizes
        self._rows: dict[int, list[_Row]] = defaultdict(list)
        for tensor, first, pages, bank, begin, end in banks.rows():
            if tensor >= 0:
                self._rows[tensor].append((first, first + pages, bank, begin, end))

    def bytes_of(self, tensor: int, first: int, last: int) -> int:
        """Return the bytes of pages [first, last)."""
        return min(last * self._page, self._sizes[tensor]) - first * self._page

    def bytes_by_bank(
        self, step: int, tensor: int, begin: int, end: int
    ) -> Iterator[tuple[int, int]]:
        """Yield banks and how many of the bytes [begin, end) lie there in a step."""
        for first, last, bank, since, until in self._rows[tensor]:
            size = min(end, last * self._page) - max(begin, first * self._page)
            if since <= step < until and size > 0:
                yield bank, size

    def moves(self) -> Iterator[tuple[int, int, int, int, int, int]]:
        """Yield step, tensor, pages [first, last), the bank that they leave and that they enter."""
        for tensor, rows in self._rows.items():
            ended = defaultdict(list)
            for row in rows:
                ended[row[4]].append(row)
            for first, last, bank, begin, _ in rows:
                for low, high, old, _, _ in ended.get(begin, ()):
                    if max(low, first) < min(high, last):
                        yield begin, tensor, max(low, first), min(high, last), old, bank
