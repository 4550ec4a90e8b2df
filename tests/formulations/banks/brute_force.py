"""The optimum over all legal schedules of a tiny problem with banks, in its own order.

A dynamic program over the joint state of all tensors: resident prefix and valid suffix, as in
:mod:`tests.brute_force_moves` (rules R2 to R5 and R7), and the bank of every resident page. What a
step costs is written from the rules of the README of ``formulations/residency/banks``, with
fractions. For problems of one mapping whose sizes are whole pages. Where banks forget, no page is
moved within its bank to write it anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import ceil
from typing import NamedTuple

import numpy as np

from spmopt.core.objective import Objective
from spmopt.core.operation import Operand, OpMapping
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
Way = tuple[Fraction, tuple[tuple[Choice, ...], ...]]


def optimum(problem: Problem, objective: Objective) -> Optimum | None:
    """The optimum in pages; stores by pages where time costs nothing, else by bytes."""
    store = problem.machine.page_bytes if objective.cycle == 0 else 1
    rules = Rules(problem, "page", store)
    start = tuple(Own(one.start(problem, tensor), ()) for tensor in range(len(problem.tensors)))
    ways: dict[Joint, Way] = {start: (Fraction(0), ())}
    for step in range(len(problem.operations)):
        ways = _advance(rules, objective, step, ways)
    ended = [
        way
        for joint, way in ways.items()
        if all(one.finished(problem, t, own.state) for t, own in enumerate(joint))
    ]
    if not ended:
        return None
    value, taken = min(ended, key=lambda way: way[0])
    return Optimum(value=value, residency_plan=residency_plan_of(problem, taken))


def _advance(
    rules: Rules, objective: Objective, step: int, ways: dict[Joint, Way]
) -> dict[Joint, Way]:
    best: dict[Joint, Way] = {}
    mapping = rules.problem.operations[step].mappings[0]
    known: dict[tuple[int, Own], list[Choice]] = {}
    costs: dict[tuple[Choice, ...], tuple[Fraction, int] | None] = {}
    for joint, (value, taken) in ways.items():
        options = []
        for tensor, own in enumerate(joint):
            key = (tensor, own)
            if key not in known:
                known[key] = list(_choices(rules, step, tensor, own))
            options.append(known[key])
        for choices in product(*options):
            if choices not in costs:
                costs[choices] = _cost(rules.problem, objective, step, mapping, choices)
            known_cost = costs[choices]
            if known_cost is None:
                continue
            cost, cycles = known_cost
            new = _renewed(rules.problem, step, joint, choices, cycles)
            if new is None:
                continue
            if new not in best or value + cost < best[new][0]:
                best[new] = (value + cost, (*taken, choices))
    return best


def _operand(problem: Problem, step: int, tensor: int) -> Operand | None:
    operation = problem.operations[step]
    if tensor not in operation.tensors:
        return None
    return operation.mappings[0].operands[operation.tensors.index(tensor)]


def _choices(rules: Rules, step: int, tensor: int, own: Own) -> Iterator[Choice]:
    """Every move, with every choice of banks for the pages resident in the step."""
    banks = range(len(rules.problem.machine.banks))
    page = rules.problem.machine.page_bytes
    operand = _operand(rules.problem, step, tensor)
    for move in one.moves(rules, step, operand, tensor, own.state):
        for chosen in product(banks, repeat=-(-move.resident // page)):
            yield Choice(move=move, banks=chosen, old=own.banks)


def _cost(
    problem: Problem,
    objective: Objective,
    step: int,
    mapping: OpMapping,
    choices: tuple[Choice, ...],
) -> tuple[Fraction, int] | None:
    """What a step adds to the objective, and its cycles; None where a bank is too full (R1)."""
    machine = problem.machine
    capacity = list(machine.bank_pages)
    for choice in choices:
        for bank in choice.banks:
            capacity[bank] -= 1
    if min(capacity) < 0 or sum(capacity) < -(-mapping.scratch_bytes // machine.page_bytes):
        return None
    read, write = _touched(problem, step, mapping, choices)
    value = Fraction(0)
    if objective.bank_read_byte:
        value += sum(w * b for w, b in zip(objective.bank_read_byte, read, strict=True))
        value += sum(w * b for w, b in zip(objective.bank_write_byte, write, strict=True))
    moves = [choice.move for choice in choices]
    value += objective.dram_in_byte * sum(m.load + m.stream_in for m in moves)
    value += objective.dram_out_byte * sum(m.store + m.stream_out for m in moves)
    value += objective.mac * mapping.macs
    cycles = _cycles(problem, step, mapping, moves, (read, write))
    return value + objective.cycle * cycles, cycles


def _renewed(
    problem: Problem, step: int, joint: Joint, choices: tuple[Choice, ...], cycles: int
) -> Joint | None:
    """State after a step of so many cycles; None where a page is older than it lasts (R12)."""
    limits, operation = problem.machine.retention_cycles, problem.operations[step]
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


def _touched(
    problem: Problem, step: int, mapping: OpMapping, choices: tuple[Choice, ...]
) -> tuple[list[Fraction], list[Fraction]]:
    """Bytes that each bank reads and writes."""
    banks, page = len(problem.machine.banks), problem.machine.page_bytes
    read, write = ([Fraction(0)] * banks for _ in range(2))
    operation = problem.operations[step]
    fetches = dict(zip(operation.tensors, mapping.operands, strict=True))
    sizes = [tensor.size_bytes for tensor in problem.tensors]
    reads = sum(sizes[t] * fetches[t].fetches for t in operation.reads)
    writes = sum(sizes[t] for t in operation.writes)
    read[0] += 0 if reads else mapping.spm_read_bytes
    write[0] += 0 if writes else mapping.spm_write_bytes
    for tensor, (move, now, before) in enumerate(choices):
        for here, there in zip(now, before, strict=False):
            if here != there:
                read[there] += page
                write[here] += page
        held = move.old.resident if move.load else 0
        for number, bank in enumerate(now):
            low, high = number * page, (number + 1) * page
            write[bank] += max(0, min(high, held + move.load) - max(low, held))
            top = _stored_up_to(problem, step, tensor, move)
            read[bank] += max(0, min(high, top) - max(low, top - move.store))
        write[0] += move.stream_in
        read[0] += move.stream_out
        for bank, size in [*((bank, page) for bank in now), (0, sizes[tensor] - move.resident)]:
            if tensor in operation.reads:
                share = Fraction(mapping.spm_read_bytes * fetches[tensor].fetches, reads)
                read[bank] += size * share
            if tensor in operation.writes:
                write[bank] += size * Fraction(mapping.spm_write_bytes, writes)
    return read, write


def _stored_up_to(problem: Problem, step: int, tensor: int, move: Move) -> int:
    """Where the bytes of a store end: where those valid in DRAM begin."""
    if tensor in problem.operations[step].writes:
        return move.resident
    return problem.tensors[tensor].size_bytes - move.old.valid


def _cycles(
    problem: Problem,
    step: int,
    mapping: OpMapping,
    moves: list[Move],
    touched: tuple[list[Fraction], list[Fraction]],
) -> int:
    """Duration of the step (R6)."""
    machine = problem.machine

    def dma(size: int) -> int:
        busy = Fraction(size * machine.clock_hz, machine.dram_bytes_per_s)
        return machine.dma_setup_cycles + ceil(busy) if size else 0

    operation = mapping.compute_cycles
    for bank, read, write in zip(machine.banks, *touched, strict=True):
        seconds = read / bank.read_bytes_per_s if bank.read_bytes_per_s else Fraction(0)
        seconds += write / bank.write_bytes_per_s if bank.write_bytes_per_s else Fraction(0)
        operation = max(operation, ceil(seconds * machine.clock_hz))
    inward = sum(dma(m.load) + dma(m.stream_in) for m in moves)
    outward = sum(dma(m.store) + dma(m.stream_out) for m in moves)
    first = last = 0
    for tensor, move in enumerate(moves):
        operand = _operand(problem, step, tensor)
        if operand is not None and operand.required_resident:
            first += dma(move.load)
            last += dma(move.store) if tensor in problem.operations[step].writes else 0
    alone = first + operation + last
    if machine.duplex:
        return max(inward + last, first + outward, alone)
    return max(inward + outward, alone)


def residency_plan_of(
    problem: Problem, taken: tuple[tuple[Choice, ...], ...], mappings: list[int] | None = None
) -> ResidencyPlan:
    """The choices as a residency plan; a page that keeps its bank is in one row."""
    steps = len(taken)
    mappings = mappings or [0] * steps
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
                    if where[begin] is not None:
                        banked.append((tensor, page, 1, where[begin], begin, i))
                    begin = i
    banked += _scratch_rows(problem, taken, mappings)
    rows = np.array(held, np.int64).reshape(-1, 4).T
    stores = np.array(sorted(stored), np.int64).reshape(-1, 3).T
    places = np.array(banked, np.int64).reshape(-1, 6).T
    return ResidencyPlan(
        steps=Steps.listed(np.array(mappings, np.int64)),
        residency=Residency(tensor=rows[0], begin=rows[1], end=rows[2], size_bytes=rows[3]),
        stores=Stores(step=stores[0], tensor=stores[1], size_bytes=stores[2]),
        banks=BankRows(
            tensor=places[0],
            tensor_page=places[1],
            pages=places[2],
            bank=places[3],
            begin=places[4],
            end=places[5],
        ),
    )


def _scratch_rows(
    problem: Problem, taken: tuple[tuple[Choice, ...], ...], mappings: list[int]
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
