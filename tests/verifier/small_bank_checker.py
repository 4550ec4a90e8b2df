"""A small checker of what banks add to a schedule, page by page and byte by byte.

Written from the README of ``formulations/residency/banks`` and from nothing else. It takes tables
whose residency, mappings and commands are legal (R1 to R5, R7, R9, R10 without banks) and says
whether addresses and moves are (R0, R8), what each bank reads and writes, and how long each step is
(R6).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil

from spmopt.core.machine import Machine
from spmopt.core.operation import OpMapping
from spmopt.core.problem import Problem
from spmopt.core.schedule import Command, Schedule

_Page = tuple[int, int]
"""Tensor (-1: scratch) and page of it."""


@dataclass(frozen=True)
class Checked:
    """Why a schedule is refused, if it is; else what its banks do, and its durations."""

    refused: str | None
    read: tuple[Fraction, ...] = ()
    write: tuple[Fraction, ...] = ()
    cycles: tuple[int, ...] = ()
    moved_bytes: int = 0


def checked(problem: Problem, schedule: Schedule) -> Checked:
    """Check one schedule."""
    steps = range(len(problem.operations))
    places = [_places(schedule, step) for step in steps]
    refused = _bad_rows(problem, schedule) or next(
        (why for step in steps if (why := _bad_step(problem, schedule, places, step)) is not None),
        None,
    )
    if refused is not None:
        return Checked(refused)
    banks = len(problem.machine.banks)
    read, write = [Fraction(0)] * banks, [Fraction(0)] * banks
    cycles = []
    for step in steps:
        own = _touched(problem, schedule, places, step)
        cycles.append(_cycles(problem, schedule, step, own))
        read = [x + y for x, y in zip(read, own[0], strict=True)]
        write = [x + y for x, y in zip(write, own[1], strict=True)]
    moved = sum(end - begin for _, _, begin, end in _rows(schedule.moves))
    return Checked(None, tuple(read), tuple(write), tuple(cycles), moved)


def _rows(table: object) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in vars(table).values()), strict=True))


def _places(schedule: Schedule, step: int) -> list[tuple[_Page, int]]:
    """Every page that has an address in a step, with it."""
    return [
        ((tensor, first + page), address + page)
        for tensor, first, pages, address, begin, end in _rows(schedule.placements)
        if begin <= step < end
        for page in range(pages)
    ]


def _bad_rows(problem: Problem, schedule: Schedule) -> str | None:
    """Moves that say nothing: out of range, of part of a page, out of order."""
    page, rows = problem.machine.page_bytes, _rows(schedule.moves)
    for step, tensor, begin, end in rows:
        if not (0 < step < len(problem.operations) and 0 <= tensor < len(problem.tensors)):
            return "move of nothing"
        size = problem.tensors[tensor].size_bytes
        if not 0 <= begin < end <= size or begin % page or (end % page and end != size):
            return "move of no whole pages"
    for one, other in pairwise(rows):
        if other[:2] < one[:2] or (other[:2] == one[:2] and other[2] < one[3]):
            return "moves out of order or twice"
    return None


def _resident(schedule: Schedule, tensor: int, step: int) -> int:
    rows = _rows(schedule.residency)
    return sum(size for t, begin, end, size in rows if t == tensor and begin <= step < end)


def _mapping(problem: Problem, schedule: Schedule, step: int) -> OpMapping:
    operation = problem.operations[int(schedule.steps.operation[step])]
    return operation.mappings[int(schedule.steps.mapping[step])]


def _bad_step(
    problem: Problem, schedule: Schedule, places: list[list[tuple[_Page, int]]], step: int
) -> str | None:
    """R8, of one step and the step before."""
    machine, here = problem.machine, places[step]
    page = machine.page_bytes
    wanted = {
        (tensor, number)
        for tensor in range(len(problem.tensors))
        for number in range(-(-_resident(schedule, tensor, step) // page))
    }
    scratch = -(-_mapping(problem, schedule, step).scratch_bytes // page)
    wanted |= {(-1, number) for number in range(scratch)}
    if sorted(key for key, _ in here) != sorted(wanted):
        return "not one address a page"
    addresses = [address for _, address in here]
    if len(set(addresses)) < len(addresses):
        return "two pages at one address"
    if any(not 0 <= address < sum(machine.bank_pages) for address in addresses):
        return "outside the banks"
    before, now = dict(places[step - 1] if step else []), dict(here)
    changed = {key for key in now if key in before and key[0] >= 0 and now[key] != before[key]}
    said = {
        (tensor, number)
        for at, tensor, begin, end in _rows(schedule.moves)
        if at == step
        for number in range(begin // page, -(-end // page))
    }
    return None if said == changed else "moves are not those of the addresses"


def _bank(machine: Machine, address: int) -> int:
    for bank, pages in enumerate(machine.bank_pages):
        if address < pages:
            return bank
        address -= pages
    raise AssertionError("outside")


def _touched(
    problem: Problem, schedule: Schedule, places: list[list[tuple[_Page, int]]], step: int
) -> tuple[list[Fraction], list[Fraction]]:
    """Bytes that each bank reads and writes in a step."""
    machine, page = problem.machine, problem.machine.page_bytes
    read, write = ([Fraction(0)] * len(machine.banks) for _ in range(2))
    before = dict(places[step - 1]) if step else {}
    now = dict(places[step])
    for at, tensor, begin, end in _rows(schedule.moves):
        for byte in range(begin, end) if at == step else ():
            read[_bank(machine, before[tensor, byte // page])] += 1
            write[_bank(machine, now[tensor, byte // page])] += 1
    for at, kind, tensor, begin, end, fetches in _rows(schedule.commands):
        for byte in range(begin, end) if at == step else ():
            if kind == Command.STREAM_IN:
                write[0] += fetches
            elif kind == Command.STREAM_OUT:
                read[0] += fetches
            elif kind == Command.LOAD:
                write[_bank(machine, now[tensor, byte // page])] += 1
            else:
                read[_bank(machine, now[tensor, byte // page])] += 1
    operation = problem.operations[int(schedule.steps.operation[step])]
    mapping = _mapping(problem, schedule, step)
    operands = dict(zip(operation.tensors, mapping.operands, strict=True))
    sizes = [tensor.size_bytes for tensor in problem.tensors]
    weights = (
        (read, mapping.spm_read_bytes, {t: operands[t].fetches for t in operation.reads}),
        (write, mapping.spm_write_bytes, dict.fromkeys(operation.writes, 1)),
    )
    for column, total, often in weights:
        whole = sum(times * sizes[t] for t, times in often.items())
        column[0] += total if not whole else 0
        for tensor, times in often.items():
            held = _resident(schedule, tensor, step)
            for byte in range(sizes[tensor]):
                bank = _bank(machine, now[tensor, byte // page]) if byte < held else 0
                column[bank] += Fraction(total * times, whole)
    return read, write


def _cycles(
    problem: Problem,
    schedule: Schedule,
    step: int,
    touched: tuple[list[Fraction], list[Fraction]],
) -> int:
    """R6."""
    machine, mapping = problem.machine, _mapping(problem, schedule, step)
    operation = problem.operations[int(schedule.steps.operation[step])]
    alone = mapping.compute_cycles
    for bank, read, write in zip(machine.banks, *touched, strict=True):
        seconds = read / bank.read_bytes_per_s if bank.read_bytes_per_s else Fraction(0)
        seconds += write / bank.write_bytes_per_s if bank.write_bytes_per_s else Fraction(0)
        alone = max(alone, ceil(seconds * machine.clock_hz))
    required_resident = {
        t for t, o in zip(operation.tensors, mapping.operands, strict=True) if o.required_resident
    }
    inward = outward = first = last = 0
    for at, kind, tensor, begin, end, fetches in _rows(schedule.commands):
        if at != step:
            continue
        size = (end - begin) * fetches
        cycles = machine.dma_setup_cycles + ceil(
            Fraction(size * machine.clock_hz, machine.dram_bytes_per_s)
        )
        if kind in (Command.LOAD, Command.STREAM_IN):
            inward += cycles
        else:
            outward += cycles
        if tensor in required_resident and kind == Command.LOAD:
            first += cycles
        if tensor in required_resident and kind == Command.STORE and tensor in operation.writes:
            last += cycles
    alone += first + last
    if machine.duplex:
        return max(inward + last, first + outward, alone)
    return max(inward + outward, alone)
