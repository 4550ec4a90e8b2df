"""The optimum over all legal schedules of a small problem with banks, in its own order, fast.

As :mod:`tests.formulations.banks.brute_force`, but for tensors of any size and operations of
several mappings, with one array for all choices of a step in place of fractions and dictionaries.
What a byte costs in a bank is written anew from the rules of the README of
``formulations/residency/banks``, so that each of the two computations tests the other. Banks that
forget are left to the other one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import lcm, prod
from typing import NamedTuple

import numpy as np

from spmopt.core.objective import Objective
from spmopt.core.operation import Operand, OpMapping
from spmopt.core.problem import Problem
from spmopt.core.table import Ints
from tests import brute_force_moves as one
from tests.brute_force_moves import Rules, State
from tests.formulations.banks.brute_force import Choice, Optimum, residency_plan_of

_AT_ONCE = 400_000
_IN_ALL = 12_000_000
_LARGEST = 2**62


class Place(NamedTuple):
    """State of a tensor after a step: bytes, and the bank of each page resident in the step."""

    state: State
    banks: tuple[int, ...]


class TooLargeError(ValueError):
    """More choices than can be tried."""


@dataclass(frozen=True, kw_only=True)
class _Options:
    """What a tensor may do in a step, sorted by its old place.

    ``first`` (old + 1,); ``new`` (c,) place after the step; ``columns`` (c, 2 b + 5): pages by
    bank, busy time by bank, cost, cycles in, out, before and after the operation.
    """

    places: list[Place]
    first: Ints
    new: Ints
    columns: Ints
    taken: list[Choice]


@dataclass(frozen=True, kw_only=True)
class _Layer:
    """Joint places after a step (k, t), their values, and whence: joint place, mapping, choices."""

    places: list[list[Place]]
    joint: Ints
    value: Ints
    old: Ints
    mapping: Ints
    choice: Ints
    options: list[list[_Options]]


class _Search:
    """What stays the same from step to step; ``scale`` and ``ticks`` make costs and times whole."""

    def __init__(self, problem: Problem, objective: Objective, most: Fraction | None) -> None:
        self.problem, self.objective = problem, objective
        machine = problem.machine
        self.banks = len(machine.banks)
        store = machine.page_bytes if objective.cycle == 0 else 1
        self.rules = Rules(problem, "page", store)
        self.read_weight = objective.bank_read_byte or (Fraction(0),) * self.banks
        self.write_weight = objective.bank_write_byte or (Fraction(0),) * self.banks
        shares = [
            _shares(problem, step, mapping)
            for step, operation in enumerate(problem.operations)
            for mapping in operation.mappings
        ]
        parts = lcm(*(share.denominator for row in shares for pair in row for share in pair))
        weights = lcm(
            *(w.denominator for w in objective.weights),
            *(w.denominator for w in (*self.read_weight, *self.write_weight)),
        )
        self.scale = weights * parts
        self.read_time = [
            _seconds(bank.read_bytes_per_s) * machine.clock_hz for bank in machine.banks
        ]
        self.write_time = [
            _seconds(bank.write_bytes_per_s) * machine.clock_hz for bank in machine.banks
        ]
        self.ticks = parts * lcm(*(t.denominator for t in (*self.read_time, *self.write_time)))
        self.most = _LARGEST if most is None else int(most * self.scale)
        self.tried = 0

    def dma(self, size: int) -> int:
        """Cycles of one command."""
        machine = self.problem.machine
        busy = -(-size * machine.clock_hz // machine.dram_bytes_per_s)
        return machine.dma_setup_cycles + busy if size else 0


@dataclass(frozen=True)
class _Here:
    """A step in one of its mappings."""

    search: _Search
    step: int
    number: int
    mapping: OpMapping


def exact(
    problem: Problem, objective: Objective, *, at_most: Fraction | None = None
) -> Optimum | None:
    """Return the optimum in pages; stores by pages where time costs nothing, else by bytes.

    ``at_most``: the value of some legal schedule, beyond which nothing is followed.

    Raises
    ------
    TooLargeError
        The problem has too many choices.
    """
    search = _Search(problem, objective, at_most)
    count = len(problem.tensors)
    places = [[Place(one.start(problem, tensor), ())] for tensor in range(count)]
    joint, value = np.zeros((1, count), np.int64), np.zeros(1, np.int64)
    layers: list[_Layer] = []
    for step in range(len(problem.operations)):
        layer = _advance(search, step, places, joint, value)
        layers.append(layer)
        places, joint, value = layer.places, layer.joint, layer.value
    good = np.ones(value.size, bool)
    for tensor in range(count):
        ended = [one.finished(problem, tensor, place.state) for place in places[tensor]]
        good &= np.array(ended, bool)[joint[:, tensor]]
    if not good.any():
        return None
    at = int(np.flatnonzero(good)[np.argmin(value[good])])
    best = Fraction(int(value[at]), search.scale)
    steps: list[tuple[Choice, ...]] = []
    mappings: list[int] = []
    for layer in reversed(layers):
        mapping = int(layer.mapping[at])
        chosen = zip(layer.options[mapping], layer.choice[at].tolist(), strict=True)
        steps.append(tuple(options.taken[choice] for options, choice in chosen))
        mappings.append(mapping)
        at = int(layer.old[at])
    return Optimum(
        value=best, residency_plan=residency_plan_of(problem, tuple(steps[::-1]), mappings[::-1])
    )


def _advance(
    search: _Search, step: int, places: list[list[Place]], joint: Ints, value: Ints
) -> _Layer:
    """Try every choice of every joint place in every mapping.

    Keep the cheapest into each new one.
    """
    mappings = search.problem.operations[step].mappings
    ways = [_Here(search, step, number, mapping) for number, mapping in enumerate(mappings)]
    options = _numbered(
        [[_options(here, tensor, own) for tensor, own in enumerate(places)] for here in ways]
    )
    after = [own.places for own in options[0]]
    if prod(len(own) for own in after) > _LARGEST:
        raise TooLargeError("joint places")
    found: list[Ints] = []
    for here, each in zip(ways, options, strict=True):
        for rows in _chunks(each, joint):
            found.append(_tried(here, each, joint, value, rows))
            found = [_cheapest(np.concatenate(found, axis=1))]
    table = found[0]
    keys = table[0].copy()
    new = np.zeros((keys.size, len(after)), np.int64)
    for tensor in reversed(range(len(after))):
        keys, new[:, tensor] = np.divmod(keys, len(after[tensor]))
    return _Layer(
        places=after,
        joint=new,
        value=table[1],
        old=table[2],
        mapping=table[3],
        choice=table[4:].T,
        options=options,
    )


def _numbered(options: list[list[_Options]]) -> list[list[_Options]]:
    """Give the places after a step the same numbers in all mappings."""
    count = len(options[0])
    after = [sorted({p for each in options for p in each[t].places}) for t in range(count)]
    number = [{place: k for k, place in enumerate(own)} for own in after]
    return [
        [
            replace(
                own,
                places=after[t],
                new=np.array([number[t][place] for place in own.places], np.int64)[own.new],
            )
            for t, own in enumerate(each)
        ]
        for each in options
    ]


def _chunks(options: list[_Options], joint: Ints) -> Iterator[Ints]:
    """Rows of ``joint`` in portions of so many choices."""
    often = np.ones(len(joint), np.float64)
    for tensor, own in enumerate(options):
        often *= np.diff(own.first)[joint[:, tensor]]
    ends = np.cumsum(np.minimum(often, 4 * _AT_ONCE))
    portion = (ends / _AT_ONCE).astype(np.int64)
    yield from np.split(np.arange(len(joint)), np.flatnonzero(np.diff(portion)) + 1)


def _tried(here: _Here, options: list[_Options], joint: Ints, value: Ints, rows: Ints) -> Ints:
    """Return (4 + t, k): key of the new joint place, value, old joint place, mapping, choices."""
    search, machine, banks = here.search, here.search.problem.machine, here.search.banks
    room = np.array(machine.bank_pages)
    left = sum(machine.bank_pages) + (-here.mapping.scratch_bytes // machine.page_bytes)
    at, total = rows, np.zeros((rows.size, 2 * banks + 5), np.int64)
    key, picked = np.zeros(rows.size, np.int64), np.zeros((0, rows.size), np.int64)
    for tensor, own in enumerate(options):
        place = joint[at, tensor]
        often = np.diff(own.first)[place]
        again = np.repeat(np.arange(at.size), often)
        inside = np.arange(again.size) - np.repeat(np.cumsum(often) - often, often)
        choice = own.first[place][again] + inside
        search.tried += choice.size
        if choice.size > 20 * _AT_ONCE or search.tried > _IN_ALL:
            raise TooLargeError(f"{search.tried:,} choices up to step {here.step}")
        summed = total[again] + own.columns[choice]
        used = summed[:, :banks]
        fits = (used <= room).all(axis=1) & (used.sum(axis=1) <= left)
        again, choice, total = again[fits], choice[fits], summed[fits]
        at, key = at[again], key[again] * len(own.places) + own.new[choice]
        picked = np.concatenate((picked[:, again], choice[None, :]))
    cost = value[at] + _cost(here, total)
    good = cost <= search.most
    columns = np.stack((key, cost, at, np.full_like(at, here.number)))
    return np.concatenate((columns, picked))[:, good]


def _cheapest(columns: Ints) -> Ints:
    """Return the cheapest column of each key, sorted by key."""
    order = np.lexsort((columns[1], columns[0]))
    key = columns[0, order]
    first = np.ones(key.size, bool)
    first[1:] = key[1:] != key[:-1]
    best: Ints = columns[:, order[first]]
    return best


def _cost(here: _Here, total: Ints) -> Ints:
    """What a step adds to the objective (R6, energy), times ``scale``."""
    search, mapping = here.search, here.mapping
    objective, banks = search.objective, search.banks
    operation = search.problem.operations[here.step]
    loose_read = 0 if operation.reads else mapping.spm_read_bytes
    loose_write = 0 if operation.writes else mapping.spm_write_bytes
    busy = total[:, banks : 2 * banks].copy()
    busy[:, 0] += int(
        search.ticks * (search.read_time[0] * loose_read + search.write_time[0] * loose_write)
    )
    busiest = (-(-busy // search.ticks)).max(axis=1, initial=0)
    cost, inward, outward, before, after = total[:, 2 * banks :].T
    alone = before + np.maximum(mapping.compute_cycles, busiest) + after
    if search.problem.machine.duplex:
        channels = np.maximum(inward + after, before + outward)
    else:
        channels = inward + outward
    fixed = search.read_weight[0] * loose_read + search.write_weight[0] * loose_write
    fixed += objective.mac * mapping.macs
    fixed += objective.spm_read_byte * mapping.spm_read_bytes
    fixed += objective.spm_write_byte * mapping.spm_write_bytes
    cycle = int(objective.cycle * search.scale)
    result: Ints = cost + int(fixed * search.scale) + cycle * np.maximum(channels, alone)
    return result


def _options(here: _Here, tensor: int, places: list[Place]) -> _Options:
    """All choices of a tensor, from each of its places."""
    search, step, mapping = here.search, here.step, here.mapping
    operation = search.problem.operations[step]
    operand = None
    if tensor in operation.tensors:
        operand = mapping.operands[operation.tensors.index(tensor)]
    share = _shares(search.problem, step, mapping)[tensor]
    page = search.problem.machine.page_bytes
    taken: list[Choice] = []
    counts, after, columns = [], [], []
    for place in places:
        before = len(taken)
        for move in one.moves(search.rules, step, operand, tensor, place.state):
            for banks in product(range(search.banks), repeat=-(-move.resident // page)):
                choice = Choice(move=move, banks=banks, old=place.banks)
                taken.append(choice)
                after.append(Place(move.new, banks))
                columns.append(_columns(here, tensor, operand, choice, share))
        counts.append(len(taken) - before)
    new = sorted(set(after))
    number = {place: k for k, place in enumerate(new)}
    return _Options(
        places=new,
        first=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        new=np.array([number[place] for place in after], np.int64),
        columns=np.array(columns, np.int64).reshape(-1, 2 * search.banks + 5),
        taken=taken,
    )


def _columns(
    here: _Here,
    tensor: int,
    operand: Operand | None,
    choice: Choice,
    share: tuple[Fraction, Fraction],
) -> list[int]:
    """Pages and busy ticks by bank, cost, DMA cycles."""
    search, move = here.search, choice.move
    read, write = _bank_bytes(here, tensor, choice, share)
    cost = search.objective.dram_in_byte * (move.load + move.stream_in)
    cost += search.objective.dram_out_byte * (move.store + move.stream_out)
    cost += sum(w * x for w, x in zip(search.read_weight, read, strict=True))
    cost += sum(w * x for w, x in zip(search.write_weight, write, strict=True))
    busy = [
        search.ticks * (x * read_time + y * write_time)
        for x, y, read_time, write_time in zip(
            read, write, search.read_time, search.write_time, strict=True
        )
    ]
    firm = operand is not None and operand.required_resident
    result = tensor in search.problem.operations[here.step].writes
    load, store = search.dma(move.load), search.dma(move.store)
    whole = [*busy, cost * search.scale]
    assert all(number == int(number) for number in whole)
    return [
        *(choice.banks.count(bank) for bank in range(search.banks)),
        *(int(number) for number in whole),
        load + search.dma(move.stream_in),
        store + search.dma(move.stream_out),
        load if firm else 0,
        store if firm and result else 0,
    ]


def _bank_bytes(
    here: _Here, tensor: int, choice: Choice, share: tuple[Fraction, Fraction]
) -> tuple[list[Fraction], list[Fraction]]:
    """Bytes that each bank reads and writes for a tensor: byte by byte, each touch of each."""
    search, move, page = here.search, choice.move, here.search.problem.machine.page_bytes
    size = search.problem.tensors[tensor].size_bytes
    read, write = ([Fraction(0)] * search.banks for _ in range(2))
    written = tensor in search.problem.operations[here.step].writes
    top = move.resident if written else size - move.old.valid
    loaded = range(move.resident - move.load, move.resident)
    for byte in range(size):
        number = byte // page
        bank = choice.banks[number] if byte < move.resident else 0  # a stream passes by bank 0
        read[bank] += share[0]
        write[bank] += share[1]
        if byte >= move.resident:
            continue
        write[bank] += byte in loaded
        read[bank] += top - move.store <= byte < top
        if number < len(choice.old) and choice.old[number] != bank:
            read[choice.old[number]] += 1
            write[bank] += 1
    read[0] += move.stream_out
    write[0] += move.stream_in
    return read, write


def _shares(problem: Problem, step: int, mapping: OpMapping) -> list[tuple[Fraction, Fraction]]:
    """Bytes read and written per byte of each tensor by an operation."""
    operation = problem.operations[step]
    sizes = [tensor.size_bytes for tensor in problem.tensors]
    fetches = {t: o.fetches for t, o in zip(operation.tensors, mapping.operands, strict=True)}
    reads = sum(sizes[t] * fetches[t] for t in operation.reads)
    writes = sum(sizes[t] for t in operation.writes)
    return [
        (
            Fraction(mapping.spm_read_bytes * fetches[t], reads)
            if t in operation.reads
            else Fraction(0),
            Fraction(mapping.spm_write_bytes, writes) if t in operation.writes else Fraction(0),
        )
        for t in range(len(sizes))
    ]


def _seconds(rate: int | None) -> Fraction:
    return Fraction(1, rate) if rate else Fraction(0)
