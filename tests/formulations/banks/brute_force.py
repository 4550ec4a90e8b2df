"""The optimum over all legal schedules of a tiny problem with banks, in its own order.

A dynamic program over the joint state of all tensors: resident prefix and valid suffix, as in
:mod:`tests.brute_force_moves` (rules R2 to R5 and R7), and the bank of every resident page. What a
step costs is written from the rules of the README of ``formulations/residency/banks``, byte by byte
and with fractions. Where banks forget, no page is moved within its bank to write it anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import product
from math import ceil, prod
from typing import NamedTuple

import numpy as np

from spmopt.core.objective import Objective
from spmopt.core.operation import Operand, Operation, OpMapping
from spmopt.core.problem import Problem
from spmopt.core.schedule import BankRows, Residency, ResidencyPlan, Steps, Stores
from tests import brute_force_moves as one
from tests.brute_force_moves import Move, Rules, State

Banks = tuple[int, ...]


class Own(NamedTuple):
    """State of a tensor: bytes, and the banks of its pages in the step before."""

    state: State
    banks: Banks
    ages: tuple[int, ...] = ()
    """Cycles since the pages were written, 0 in banks that do not forget."""


class Choice(NamedTuple):
    """What a tensor does in a step, and the bank of each of its pages meanwhile."""

    move: Move
    banks: Banks
    old: Banks


@dataclass(frozen=True)
class Optimum:
    """The least objective, and a residency plan that reaches it."""

    value: Fraction
    residency_plan: ResidencyPlan


Joint = tuple[Own, ...]
Step = tuple[int, tuple[Choice, ...]]
"""Number of the mapping, and a choice for each tensor."""
Way = tuple[Fraction, tuple[Step, ...]]


class TooLargeError(ValueError):
    """More choices than can be tried."""


@dataclass
class _Search:
    """What is minimized, and how many joint choices were tried."""

    objective: Objective
    most_tries: int | None
    tries: int = 0


@dataclass(frozen=True)
class _Here:
    """A step in one of its mappings."""

    rules: Rules
    step: int
    mapping: OpMapping

    @property
    def operation(self) -> Operation:
        return self.rules.problem.operations[self.step]

    def operand(self, tensor: int) -> Operand | None:
        """How the step uses ``tensor``, or None."""
        tensors = self.operation.tensors
        return self.mapping.operands[tensors.index(tensor)] if tensor in tensors else None


def optimum(
    problem: Problem, objective: Objective, *, most_tries: int | None = None
) -> Optimum | None:
    """Return the optimum in pages; stores by pages where time costs nothing, else by bytes.

    Raises
    ------
    TooLargeError
        More than ``most_tries`` joint choices.
    """
    store = problem.machine.page_bytes if objective.cycle == 0 else 1
    rules = Rules(problem, "page", store)
    start = tuple(Own(one.start(problem, tensor), ()) for tensor in range(len(problem.tensors)))
    ways: dict[Joint, Way] = {start: (Fraction(0), ())}
    search = _Search(objective, most_tries)
    for step, operation in enumerate(problem.operations):
        best: dict[Joint, Way] = {}
        for number, mapping in enumerate(operation.mappings):
            _advance(search, _Here(rules, step, mapping), number, ways, best)
        ways = best
    ended = [
        way
        for joint, way in ways.items()
        if all(one.finished(problem, t, own.state) for t, own in enumerate(joint))
    ]
    if not ended:
        return None
    value, taken = min(ended, key=lambda way: way[0])
    plan = residency_plan_of(problem, [c for _, c in taken], [number for number, _ in taken])
    return Optimum(value=value, residency_plan=plan)


def _advance(
    search: _Search, here: _Here, number: int, ways: dict[Joint, Way], best: dict[Joint, Way]
) -> None:
    """Enter the cheapest way into each new joint state."""
    known: dict[tuple[int, Own], list[Choice]] = {}
    costs: dict[tuple[Choice, ...], tuple[Fraction, int] | None] = {}
    touched = cache(partial(_touched, here))
    for joint, (value, taken) in ways.items():
        options = []
        for tensor, own in enumerate(joint):
            if (tensor, own) not in known:
                known[tensor, own] = list(_choices(here, tensor, own))
            options.append(known[tensor, own])
        search.tries += prod(map(len, options))
        if search.most_tries is not None and search.tries > search.most_tries:
            raise TooLargeError(f"{search.tries:,} choices up to step {here.step}")
        for choices in product(*options):
            if choices not in costs:
                costs[choices] = _cost(here, search.objective, choices, touched)
            known_cost = costs[choices]
            if known_cost is None:
                continue
            cost, cycles = known_cost
            new = _renewed(here, joint, choices, cycles)
            if new is not None and (new not in best or value + cost < best[new][0]):
                best[new] = (value + cost, (*taken, (number, choices)))


def _choices(here: _Here, tensor: int, own: Own) -> Iterator[Choice]:
    """Every move, with every choice of banks for the pages resident in the step."""
    machine = here.rules.problem.machine
    for move in one.moves(here.rules, here.step, here.operand(tensor), tensor, own.state):
        for chosen in product(
            range(len(machine.banks)), repeat=-(-move.resident // machine.page_bytes)
        ):
            yield Choice(move=move, banks=chosen, old=own.banks)


Bytes = tuple[list[Fraction], list[Fraction]]
"""Bytes that each bank reads and writes."""


def _cost(
    here: _Here,
    objective: Objective,
    choices: tuple[Choice, ...],
    touched: Callable[[int, Choice], Bytes],
) -> tuple[Fraction, int] | None:
    """What a step adds to the objective, and its cycles; None where a bank is too full (R1)."""
    machine, mapping = here.rules.problem.machine, here.mapping
    capacity = list(machine.bank_pages)
    for choice in choices:
        for bank in choice.banks:
            capacity[bank] -= 1
    if min(capacity) < 0 or sum(capacity) < -(-mapping.scratch_bytes // machine.page_bytes):
        return None
    read, write = ([Fraction(0)] * len(machine.banks) for _ in range(2))
    read[0] += 0 if here.operation.reads else mapping.spm_read_bytes
    write[0] += 0 if here.operation.writes else mapping.spm_write_bytes
    for tensor, choice in enumerate(choices):
        for total, own in zip((read, write), touched(tensor, choice), strict=True):
            for bank, size in enumerate(own):
                total[bank] += size
    value = Fraction(0)
    if objective.bank_read_byte:
        value += sum(w * b for w, b in zip(objective.bank_read_byte, read, strict=True))
        value += sum(w * b for w, b in zip(objective.bank_write_byte, write, strict=True))
    moves = [choice.move for choice in choices]
    value += objective.dram_in_byte * sum(m.load + m.stream_in for m in moves)
    value += objective.dram_out_byte * sum(m.store + m.stream_out for m in moves)
    value += objective.mac * mapping.macs
    cycles = _cycles(here, moves, (read, write))
    return value + objective.cycle * cycles, cycles


def _renewed(here: _Here, joint: Joint, choices: tuple[Choice, ...], cycles: int) -> Joint | None:
    """State after a step of so many cycles; None where a page is older than it lasts (R12)."""
    limits, operation = here.rules.problem.machine.retention_cycles, here.operation
    new = []
    for tensor, (own, choice) in enumerate(zip(joint, choices, strict=True)):
        writes, reads = tensor in operation.writes, tensor in operation.reads
        ages = []
        for page, bank in enumerate(choice.banks):
            limit = limits[bank]
            stays = page < len(own.banks) and own.banks[page] == bank
            old = own.ages[page] + cycles if stays else cycles
            if limit is not None and (old if reads or not writes else cycles) > limit:
                return None
            ages.append(0 if limit is None else cycles if writes else old)
        new.append(Own(choice.move.new, choice.banks, tuple(ages)))
    return tuple(new)


def _touched(here: _Here, tensor: int, choice: Choice) -> Bytes:
    """Bytes that each bank reads and writes for a tensor, each touch of each byte."""
    problem, operation, move = here.rules.problem, here.operation, choice.move
    page, sizes = problem.machine.page_bytes, [each.size_bytes for each in problem.tensors]
    read, write = ([Fraction(0)] * len(problem.machine.banks) for _ in range(2))
    often = dict(zip(operation.tensors, here.mapping.operands, strict=True))
    reads = sum(sizes[t] * often[t].fetches for t in operation.reads)
    of_read = of_write = Fraction(0)
    if tensor in operation.reads:
        of_read = Fraction(here.mapping.spm_read_bytes * often[tensor].fetches, reads)
    if tensor in operation.writes:
        of_write = Fraction(here.mapping.spm_write_bytes, sum(sizes[t] for t in operation.writes))
    written = tensor in operation.writes
    top = move.resident if written else sizes[tensor] - move.old.valid
    for byte in range(sizes[tensor]):
        number = byte // page
        bank = choice.banks[number] if byte < move.resident else 0  # a stream passes by bank 0
        read[bank] += of_read
        write[bank] += of_write
        if byte < move.resident:
            write[bank] += byte >= move.resident - move.load
            read[bank] += top - move.store <= byte < top
            if number < len(choice.old) and choice.old[number] != bank:
                read[choice.old[number]] += 1
                write[bank] += 1
    read[0] += move.stream_out
    write[0] += move.stream_in
    return read, write


def _cycles(here: _Here, moves: list[Move], touched: Bytes) -> int:
    """Duration of the step (R6)."""
    machine = here.rules.problem.machine

    def dma(size: int) -> int:
        busy = Fraction(size * machine.clock_hz, machine.dram_bytes_per_s)
        return machine.dma_setup_cycles + ceil(busy) if size else 0

    operation = here.mapping.compute_cycles
    for bank, read, write in zip(machine.banks, *touched, strict=True):
        seconds = read / bank.read_bytes_per_s if bank.read_bytes_per_s else Fraction(0)
        seconds += write / bank.write_bytes_per_s if bank.write_bytes_per_s else Fraction(0)
        operation = max(operation, ceil(seconds * machine.clock_hz))
    inward = sum(dma(m.load) + dma(m.stream_in) for m in moves)
    outward = sum(dma(m.store) + dma(m.stream_out) for m in moves)
    first = last = 0
    for tensor, move in enumerate(moves):
        operand = here.operand(tensor)
        if operand is not None and operand.required_resident:
            first += dma(move.load)
            last += dma(move.store) if tensor in here.operation.writes else 0
    alone = first + operation + last
    if machine.duplex:
        return max(inward + last, first + outward, alone)
    return max(inward + outward, alone)


def residency_plan_of(
    problem: Problem, taken: Sequence[tuple[Choice, ...]], mappings: list[int]
) -> ResidencyPlan:
    """The choices as a residency plan; a page that keeps its bank is in one row."""
    steps = len(taken)
    held, stored, banked = [], [], []
    for tensor in range(len(problem.tensors)):
        line = [choices[tensor] for choices in taken]
        held += [(tensor, i, i + 1, c.move.resident) for i, c in enumerate(line) if c.move.resident]
        stored += [(i, tensor, c.move.store) for i, c in enumerate(line) if c.move.store]
        for page in range(max(len(choice.banks) for choice in line)):
            where = [c.banks[page] if page < len(c.banks) else None for c in line]
            begin = 0
            for i in range(1, steps + 1):
                if i == steps or where[i] != where[begin]:
                    if (bank := where[begin]) is not None:
                        banked.append((tensor, page, 1, bank, begin, i))
                    begin = i
    banked += _scratch_rows(problem, taken, mappings)
    return ResidencyPlan(
        steps=Steps.listed(np.array(mappings, np.int64)),
        residency=Residency.of_rows(held),
        stores=Stores.of_rows(sorted(stored)),
        banks=BankRows.of_rows(banked),
    )


def _scratch_rows(
    problem: Problem, taken: Sequence[tuple[Choice, ...]], mappings: list[int]
) -> list[tuple[int, int, int, int, int, int]]:
    """Scratch wherever there is room."""
    machine, rows = problem.machine, []
    for step, choices in enumerate(taken):
        scratch = problem.operations[step].mappings[mappings[step]].scratch_bytes
        left = -(-scratch // machine.page_bytes)
        first = 0
        for bank, capacity in enumerate(machine.bank_pages):
            used = sum(choice.banks.count(bank) for choice in choices)
            pages = min(left, capacity - used)
            if pages:
                rows.append((-1, first, pages, bank, step, step + 1))
                first, left = first + pages, left - pages
    return rows
