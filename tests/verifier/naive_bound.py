"""The Lagrangian bound again, byte by byte from the rules instead of from the table of arcs.

A byte is resident or not in a step, and valid in DRAM or not at its start. All ways to choose
residency and stores are tried; what they need and cost is read off R2 to R7.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import floor
from typing import Self

from spmopt.core.instance import Instance
from spmopt.core.result import KEPT_WHOLE, Certificate
from spmopt.core.timeline import Access, Timeline, relaxed_timeline

FREE, STAYS, GOES = range(3)
Costs = dict[tuple[bool, bool, int], int]
"""Least cost by (resident in the last step, valid in DRAM, what it must do up to the next use)."""


def naive_bound(instance: Instance, certificate: Certificate) -> Fraction:
    """Equal to ``spmopt.verifier.bound``, for the class of the certificate."""
    line = relaxed_timeline(instance)
    objective, scale = certificate.objective, 2**certificate.bits
    machine, page = instance.machine, instance.machine.page_bytes
    kept = certificate.holds_for == KEPT_WHOLE
    charges = _charges(certificate)
    total = 0
    for tensor, record in enumerate(instance.tensors):
        total += record.size_bytes * _cheapest(instance, line, certificate, tensor)
    for step in range(line.steps):
        total -= _most_charged(instance, step, charges) if kept else 0
        rho = _rho(instance, certificate, step)
        room = machine.spm_pages - -(-int(line.scratch_bytes[step]) // page)
        total += rho * int(line.compute_cycles[step]) - int(certificate.spm[step]) * room * page
    constant = sum(
        min(mode.macs for mode in operation.modes) * objective.mac
        + min(mode.spm_read_bytes for mode in operation.modes) * objective.spm_read_byte
        + min(mode.spm_write_bytes for mode in operation.modes) * objective.spm_write_byte
        for operation in instance.operations
    )
    return Fraction(total, scale) + constant


def _rho(instance: Instance, certificate: Certificate, step: int) -> int:
    """What is left of the step's time for the operation."""
    price = int(certificate.dram_in[step])
    if instance.machine.duplex:
        price += int(certificate.dram_out[step])
    weight = certificate.objective.cycle * 2**certificate.bits
    left: Fraction = weight - instance.machine.bytes_per_cycle * price
    return floor(left)


def _cheapest(instance: Instance, line: Timeline, certificate: Certificate, tensor: int) -> int:
    """Least cost of one byte over all steps."""
    rows = {int(line.step[a]): a for a in range(line.tensor.size) if line.tensor[a] == tensor}
    live = bool(line.live_before[tensor])
    kept, charges = certificate.holds_for == KEPT_WHOLE, _charges(certificate)
    costs: Costs = {(False, bool(line.in_dram[tensor]), FREE): 0}
    for step in range(line.steps):
        access = rows.get(step, -1)
        after: Costs = {}
        bars = kept and not _may_be_whole(instance, step, tensor)
        for (was, valid_before, duty), cost in costs.items():
            for resident in (False, True):
                if resident and ((duty == GOES and access >= 0) or (duty == STAYS and bars)):
                    continue
                if duty == STAYS and not resident:
                    continue
                for store in (False, True):
                    here = _byte(instance, line, certificate, step, access)
                    if not kept:
                        here = _with_setups(instance, certificate, here, step, tensor)
                    found = here.move((was, valid_before), resident, store, live)
                    if found is None:
                        continue
                    valid, paid = found
                    if resident and kept and (access >= 0 or duty == STAYS):
                        paid += charges.get((step, tensor), 0)
                    duties = [duty if resident else FREE]
                    if access >= 0:
                        lasts = (
                            kept and resident and line.live_after[access] and line.next[access] >= 0
                        )
                        duties = [STAYS, GOES] if lasts else [FREE]
                    for new in duties:
                        key = resident, valid, new
                        after[key] = min(after.get(key, cost + paid), cost + paid)
        costs = after
        if access >= 0:
            live = bool(line.live_after[access])
    keep = bool(line.keep[tensor])
    return min(cost for (_, valid, _), cost in costs.items() if valid or not keep)


def _charges(certificate: Certificate) -> dict[tuple[int, int], int]:
    """By step and tensor."""
    rows = certificate.charges
    if rows is None:
        return {}
    columns = (rows.step.tolist(), rows.tensor.tolist(), rows.price.tolist())
    return {(step, tensor): price for step, tensor, price in zip(*columns, strict=True)}


def _most_charged(instance: Instance, step: int, charges: dict[tuple[int, int], int]) -> int:
    """By trying every set of charged tensors, in every mode."""
    machine, most = instance.machine, 0
    charged = [tensor for at, tensor in charges if at == step]
    for mode in instance.operations[step].modes:
        pairs = zip(instance.operations[step].tensors, mode.operands, strict=True)
        fixed = {tensor for tensor, operand in pairs if operand.stationary}
        for size in range(len(charged) + 1):
            for chosen in combinations(charged, size):
                sizes = [instance.tensors[t].size_bytes for t in {*chosen, *fixed}]
                pages = sum(-(-x // machine.page_bytes) for x in (*sizes, mode.scratch_bytes))
                if pages <= machine.spm_pages:
                    paid = sum(instance.tensors[t].size_bytes * charges[step, t] for t in chosen)
                    most = max(most, paid)
    return most


def _byte(
    instance: Instance, line: Timeline, certificate: Certificate, step: int, access: int
) -> Byte:
    objective, scale = certificate.objective, 2**certificate.bits
    inward, outward = int(certificate.dram_in[step]), int(certificate.dram_out[step])
    rest = floor(_rho(instance, certificate, step) / instance.machine.bytes_per_cycle)
    firm = rest + (inward + outward if instance.machine.duplex else inward)
    byte = Byte.used(line, access, load=0, store=0, hold=int(certificate.spm[step]))
    # R6: only loads of stationary operands and stores of stationary results are firm.
    loads_firm, stores_firm = byte.stationary and byte.reads, byte.stationary and byte.writes
    streams = bool(certificate.holds_for) and access >= 0
    if streams:
        streams = not _may_be_whole(instance, step, int(line.tensor[access]))
    return replace(
        byte,
        load=(firm if loads_firm else inward) + floor(objective.dram_in_byte * scale),
        store=(firm if stores_firm else outward) + floor(objective.dram_out_byte * scale),
        streams=streams,
    )


def _with_setups(
    instance: Instance, certificate: Certificate, byte: Byte, step: int, tensor: int
) -> Byte:
    """Add what a byte's share of a command's set-up costs, for each command that moves it."""
    machine, size = instance.machine, instance.tensors[tensor].size_bytes
    factor = machine.dma_setup_cycles * machine.bytes_per_cycle
    inward, outward = int(certificate.dram_in[step]), int(certificate.dram_out[step])
    both = inward + outward if machine.duplex else inward
    rest = machine.dma_setup_cycles * _rho(instance, certificate, step)
    firm_in, firm_out = byte.stationary and byte.reads, byte.stationary and byte.writes
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
    stationary: bool
    passes: int
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
            stationary=access >= 0 and bool(line.stationary[access]),
            passes=int(line.passes[access]) if access >= 0 else 0,
            needed_after=access >= 0 and bool(line.live_after[access]),
            load=load,
            store=store,
            hold=hold,
        )

    def move(
        self, before: tuple[bool, bool], resident: bool, store: bool, live: bool
    ) -> tuple[bool, int] | None:
        """Whether the byte is valid in DRAM afterwards, and the cost; None if not legal."""
        was_resident, valid = before
        blind = self.writes and not self.reads
        cost = self.hold if resident else 0
        if (self.stationary and not resident) or (self.streams and resident):
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
            cost += self.passes * self.load + self.stream_setup_in
        if self.writes:
            valid = not resident and self.needed_after
            if valid:  # R4
                cost += self.passes * self.store + self.stream_setup_out
                if blind and self.passes > 1:
                    cost += (self.passes - 1) * self.load + self.stream_setup_in
        if store:
            if valid or not resident:
                return None
            valid, cost = True, cost + self.store + self.setup_out
        return valid, cost


def _may_be_whole(instance: Instance, step: int, tensor: int) -> bool:
    """Whether R1 and R3 let all of a tensor be resident in a step, in one of its modes."""
    machine, operation = instance.machine, instance.operations[step]
    for mode in operation.modes:
        resident = {tensor}
        for used, operand in zip(operation.tensors, mode.operands, strict=True):
            if operand.stationary:
                resident.add(used)
        free = machine.spm_bytes // machine.page_bytes
        for size in (mode.scratch_bytes, *(instance.tensors[t].size_bytes for t in resident)):
            free -= (size + machine.page_bytes - 1) // machine.page_bytes
        if free >= 0:
            return True
    return False
