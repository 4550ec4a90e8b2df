"""The Lagrangian bound again, byte by byte from the rules instead of from the table of arcs.

A byte is resident or not in a step, and valid in DRAM or not at its start. All ways to choose
residency and stores are tried; what they need and cost is read off R2 to R7.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import floor
from typing import Self

from spmopt.core.objective import Objective
from spmopt.core.operation import OpMapping
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.timeline import Access, Timeline, relax_timeline

Costs = dict[tuple[bool, bool], int]
"""Least cost by (resident in the last step, valid in DRAM)."""


def naive_bound(problem: Problem, certificate: Certificate) -> Fraction:
    """Equal to ``spmopt.verifier.bound``, for the class of the certificate."""
    line = relax_timeline(problem)
    objective, scale = certificate.objective, 2**certificate.bits
    machine, page = problem.machine, problem.machine.page_bytes
    total = 0
    for tensor, record in enumerate(problem.tensors):
        total += record.size_bytes * _cheapest(problem, line, certificate, tensor)
    exact, uses = Fraction(0), uses_of(problem, certificate)
    rooms = rooms_of(problem, certificate)
    for step, operation in enumerate(problem.operations):
        hold = int(certificate.spm[step]) * page
        total -= hold * machine.spm_pages
        exact += min(
            _rho(problem, certificate, step) * mapping.compute_cycles
            + hold * -(-mapping.scratch_bytes // page)
            + scale * of_mapping(objective, mapping)
            - sum(problem.tensors[t].size_bytes * uses[step, t, number] for t in operation.tensors)
            - rooms[step, number] * page * (machine.spm_pages - -(-mapping.scratch_bytes // page))
            for number, mapping in enumerate(operation.mappings)
        )
    found: Fraction = (total + exact) / scale
    return found


def of_mapping(objective: Objective, mapping: OpMapping) -> Fraction:
    """Return the cost of an operation in a mapping without its transfers and cycles."""
    return (
        mapping.macs * objective.mac
        + mapping.spm_read_bytes * objective.spm_read_byte
        + mapping.spm_write_bytes * objective.spm_write_byte
        + mapping.own_picojoules * objective.own_picojoule
    )


def uses_of(problem: Problem, certificate: Certificate) -> dict[tuple[int, int, int], int]:
    """What a byte of a tensor pays in a step in each mapping; 0 where nothing is said."""
    places = [
        (step, tensor, number)
        for step, operation in enumerate(problem.operations)
        for tensor in operation.tensors
        for number in range(len(operation.mappings))
    ]
    several = [place for place in places if len(problem.operations[place[0]].mappings) > 1]
    given = [0] * len(several) if certificate.uses is None else certificate.uses.tolist()
    return dict.fromkeys(places, 0) | dict(zip(several, given, strict=True))


def rooms_of(problem: Problem, certificate: Certificate) -> dict[tuple[int, int], int]:
    """What a resident byte pays more in a step in each mapping; 0 where nothing is said."""
    counts = [len(operation.mappings) for operation in problem.operations]
    places = [(step, number) for step, count in enumerate(counts) for number in range(count)]
    several = [place for place in places if counts[place[0]] > 1]
    given = [0] * len(several) if certificate.rooms is None else certificate.rooms.tolist()
    return dict.fromkeys(places, 0) | dict(zip(several, given, strict=True))


def _rho(problem: Problem, certificate: Certificate, step: int) -> int:
    """What is left of the step's time for the operation."""
    dual = int(certificate.dram_in[step])
    if problem.machine.duplex:
        dual += int(certificate.dram_out[step])
    weight = certificate.objective.cycle * 2**certificate.bits
    left: Fraction = weight - problem.machine.bytes_per_cycle * dual
    return floor(left)


def _cheapest(problem: Problem, line: Timeline, certificate: Certificate, tensor: int) -> int:
    """Least cost of one byte over all steps."""
    rows = {int(line.step[a]): a for a in range(line.tensor.size) if line.tensor[a] == tensor}
    live = bool(line.live_before[tensor])
    uses, rooms = uses_of(problem, certificate), rooms_of(problem, certificate)
    costs: Costs = {(False, bool(line.in_dram[tensor])): 0}
    for step in range(line.steps):
        access = rows.get(step, -1)
        after: Costs = {}
        mappings = problem.operations[step].mappings if access >= 0 else (None,)
        for number, mapping in enumerate(mappings):
            there = line if mapping is None else with_mapping(line, access, mapping)
            here = _byte(problem, there, certificate, step, access)
            here = here.moving_as(problem, certificate, tensor)
            here = _with_setups(problem, certificate, here, step, tensor)
            use = uses.get((step, tensor, number), 0)
            room = rooms[step, number] if access >= 0 else 0
            for state, resident, store in product(costs, (False, True), (False, True)):
                found = here.move(state, resident, store, live)
                if found is None:
                    continue
                valid, paid = found
                cost, key = costs[state] + paid + use + resident * room, (resident, valid)
                after[key] = min(after.get(key, cost), cost)
        costs = after
        if access >= 0:
            live = bool(line.live_after[access])
    keep = bool(line.keep[tensor])
    return min(cost for (_, valid), cost in costs.items() if valid or not keep)


def with_mapping(line: Timeline, access: int, mapping: OpMapping) -> Timeline:
    """Return a timeline whose access is that of a mapping."""
    operand = mapping.operands[access - int(line.first[line.step[access]])]
    fetches, firm = line.fetches.copy(), line.required_resident.copy()
    fetches[access], firm[access] = operand.fetches, operand.required_resident
    return replace(line, fetches=fetches, required_resident=firm)


def _byte(
    problem: Problem, line: Timeline, certificate: Certificate, step: int, access: int
) -> Byte:
    objective, scale = certificate.objective, 2**certificate.bits
    inward, outward = int(certificate.dram_in[step]), int(certificate.dram_out[step])
    rest = floor(_rho(problem, certificate, step) / problem.machine.bytes_per_cycle)
    firm = rest + (inward + outward if problem.machine.duplex else inward)
    byte = Byte.used(line, access, load=0, store=0, hold=int(certificate.spm[step]))
    # R6: only loads of required-resident operands and stores of required-resident results are firm.
    loads_firm, stores_firm = (
        byte.required_resident and byte.reads,
        byte.required_resident and byte.writes,
    )
    streams = bool(certificate.holds_for) and access >= 0
    if streams:
        streams = not _may_be_whole(problem, step, int(line.tensor[access]))
    return replace(
        byte,
        load=(firm if loads_firm else inward) + floor(objective.dram_in_byte * scale),
        store=(firm if stores_firm else outward) + floor(objective.dram_out_byte * scale),
        streams=streams,
    )


def _with_setups(
    problem: Problem, certificate: Certificate, byte: Byte, step: int, tensor: int
) -> Byte:
    """Add what a byte's share of a command's set-up costs, for each command that moves it."""
    machine, size = problem.machine, problem.tensors[tensor].size_bytes
    factor = machine.dma_setup_cycles * machine.bytes_per_cycle
    inward, outward = int(certificate.dram_in[step]), int(certificate.dram_out[step])
    both = inward + outward if machine.duplex else inward
    rest = machine.dma_setup_cycles * _rho(problem, certificate, step)
    firm_in, firm_out = (
        byte.required_resident and byte.reads,
        byte.required_resident and byte.writes,
    )
    return replace(
        byte,
        setup_in=(floor(factor * both) + rest if firm_in else floor(factor * inward)) // size,
        setup_out=(floor(factor * both) + rest if firm_out else floor(factor * outward)) // size,
        stream_setup_in=floor(factor * inward) // size,
        stream_setup_out=floor(factor * outward) // size,
    )


@dataclass(frozen=True, kw_only=True)
class Byte:
    """One byte in one step: how the step uses it, and what it pays there."""

    reads: bool
    writes: bool
    required_resident: bool
    fetches: int
    needed_after: bool
    load: int
    store: int
    hold: int
    streams: bool = False
    setup_in: int = 0
    setup_out: int = 0
    stream_setup_in: int = 0
    stream_setup_out: int = 0

    @classmethod
    def used(cls, line: Timeline, access: int, *, load: int, store: int, hold: int) -> Self:
        """As an access uses it; -1 for none."""
        kind = int(line.kind[access]) if access >= 0 else -1
        return cls(
            reads=kind in (Access.READ, Access.UPDATE),
            writes=kind in (Access.WRITE, Access.UPDATE),
            required_resident=access >= 0 and bool(line.required_resident[access]),
            fetches=int(line.fetches[access]) if access >= 0 else 0,
            needed_after=access >= 0 and bool(line.live_after[access]),
            load=load,
            store=store,
            hold=hold,
        )

    def moving_as(self, problem: Problem, certificate: Certificate, tensor: int) -> Self:
        """As a part of a byte, each price rounded down, where its tensor is compressed."""
        ratio = problem.machine.moved_ratio(problem.tensors[tensor].kind)
        if ratio == 1:
            return self
        rest = (1 - ratio) * 2**certificate.bits
        into, out = certificate.objective.unpacked_byte, certificate.objective.packed_byte
        load, store = ratio * self.load + rest * into, ratio * self.store + rest * out
        return replace(self, load=max(0, floor(load)), store=max(0, floor(store)))

    def move(
        self, before: tuple[bool, bool], resident: bool, store: bool, live: bool
    ) -> tuple[bool, int] | None:
        """Whether the byte is valid in DRAM afterwards, and the cost; None if not legal."""
        was_resident, valid = before
        blind = self.writes and not self.reads
        cost = self.hold if resident else 0
        if (self.required_resident and not resident) or (self.streams and resident):
            return None
        if live and not blind and not (resident or valid):
            return None  # R5
        if resident and not was_resident and not blind:
            if not valid:
                return None  # R2
            cost += self.load + self.setup_in
        if self.reads and not resident:
            if not valid:
                return None  # R3
            cost += self.fetches * self.load + self.stream_setup_in
        if self.writes:
            valid = not resident and self.needed_after
            if valid:  # R4
                cost += self.fetches * self.store + self.stream_setup_out
                if blind and self.fetches > 1:
                    cost += (self.fetches - 1) * self.load + self.stream_setup_in
        if store:
            if valid or not resident:
                return None
            valid, cost = True, cost + self.store + self.setup_out
        return valid, cost


def _may_be_whole(problem: Problem, step: int, tensor: int) -> bool:
    """Whether R1 and R3 let all of a tensor be resident in a step, in one of its mappings."""
    machine, operation = problem.machine, problem.operations[step]
    for mapping in operation.mappings:
        resident = {tensor}
        for used, operand in zip(operation.tensors, mapping.operands, strict=True):
            if operand.required_resident:
                resident.add(used)
        free = machine.spm_bytes // machine.page_bytes
        for size in (mapping.scratch_bytes, *(problem.tensors[t].size_bytes for t in resident)):
            free -= (size + machine.page_bytes - 1) // machine.page_bytes
        if free >= 0:
            return True
    return False
