"""The bound of a scratchpad with banks again, byte by byte from the rules.

As :mod:`tests.verifier.naive_bound`: a byte is nowhere on chip, or in one bank, in a step, and
valid in DRAM or not at its start. All ways to choose bank, move and store are tried; what they cost
follows R2 to R8 and the table of what a bank reads and writes.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor

from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.shares import Shares
from spmopt.core.timeline import Access, Timeline, relax_timeline

State = tuple[int, bool]
"""Bank of the last step (-1: none), and whether DRAM has the byte."""
STREAMS = 0
"""The bank that streams pass by."""


class NaiveBankBound:
    """Dual values of all steps, and the cheapest way of each byte."""

    def __init__(self, problem: Problem, certificate: Certificate) -> None:
        self.problem, self.certificate = problem, certificate
        self.line: Timeline = relax_timeline(problem)
        self.shares = Shares.relax(problem, self.line)
        self.scale = 2**certificate.bits
        self.banks = range(len(problem.machine.banks))

    def value(self) -> Fraction:
        """Equal to ``spmopt.verifier.bound``."""
        machine, line, objective = self.problem.machine, self.line, self.certificate.objective
        page, total = machine.page_bytes, Fraction(0)
        for tensor, record in enumerate(self.problem.tensors):
            total += record.size_bytes * self.cheapest(tensor)
        for step in range(line.steps):
            scratch = -(-int(line.scratch_bytes[step]) // page)
            extra = [self.held(bank, step) - self.held(-1, step) for bank in self.banks]
            total += floor(self.rho(step)) * int(line.compute_cycles[step])
            total -= self.held(-1, step) * page * (machine.spm_pages - scratch)
            for bank, dual in zip(machine.banks, extra, strict=True):
                total -= dual * page * (bank.spm_bytes // page)
            total += min(extra) * page * scratch
            for loose, everywhere, read in (
                (self.shares.loose_read, self.shares.any_read, True),
                (self.shares.loose_write, self.shares.any_write, False),
            ):
                touched = [self.touched(bank, step, read) for bank in self.banks]
                total += loose[step] * touched[STREAMS] + everywhere[step] * min(touched)
        constant = sum(
            min(mapping.macs for mapping in operation.mappings) * objective.mac
            + min(mapping.spm_read_bytes for mapping in operation.mappings)
            * objective.spm_read_byte
            + min(mapping.spm_write_bytes for mapping in operation.mappings)
            * objective.spm_write_byte
            for operation in self.problem.operations
        )
        value: Fraction = total / self.scale + constant
        return value

    def held(self, bank: int, step: int) -> int:
        """Dual value of a byte held in a bank, or (-1) anywhere."""
        own = self.certificate.banks[bank].spm[step] if bank >= 0 else 0
        return int(self.certificate.spm[step]) + int(own)

    def touched(self, bank: int, step: int, read: bool) -> Fraction:
        """Exact dual value of a byte that a bank reads or writes."""
        objective, banks = self.certificate.objective, self.problem.machine.banks
        weights = objective.bank_read_byte if read else objective.bank_write_byte
        rate = banks[bank].read_bytes_per_s if read else banks[bank].write_bytes_per_s
        dual = weights[bank] * self.scale if weights else Fraction(0)
        if rate:
            port = int(self.certificate.banks[bank].port[step])
            dual += Fraction(port * self.problem.machine.dram_bytes_per_s, rate)
        return dual

    def rho(self, step: int) -> int:
        """What channel and ports leave of the dual value of the step's time."""
        weight = self.certificate.objective.cycle * self.scale
        return int(weight - self.problem.machine.bytes_per_cycle * self.channel(step))

    def channel(self, step: int) -> int:
        """Dual values of channel and ports together."""
        dual = int(self.certificate.dram_in[step])
        dual += int(self.certificate.dram_out[step]) if self.problem.machine.duplex else 0
        return dual + sum(int(bank.port[step]) for bank in self.certificate.banks)

    def dram(self, step: int, inward: bool, firm: bool) -> int:
        """Dual value of a byte over the channel, without what the banks say to it."""
        certificate, objective = self.certificate, self.certificate.objective
        column = certificate.dram_in if inward else certificate.dram_out
        own = objective.dram_in_byte if inward else objective.dram_out_byte
        dual = int(column[step])
        if firm:
            rest = Fraction(self.rho(step)) / self.problem.machine.bytes_per_cycle
            dual = self.channel(step) + floor(rest)
        return int(dual + floor(own * self.scale))

    def cheapest(self, tensor: int) -> int:
        """Least cost of one byte over all steps."""
        line = self.line
        rows = {int(line.step[a]): a for a in range(line.tensor.size) if line.tensor[a] == tensor}
        live = bool(line.live_before[tensor])
        costs: dict[State, int] = {(-1, bool(line.in_dram[tensor])): 0}
        for step in range(line.steps):
            access = rows.get(step, -1)
            after: dict[State, int] = {}
            for before, cost in costs.items():
                for bank in (-1, *self.banks):
                    for store in (False, True):
                        found = self.change(step, access, before, bank, store=store, live=live)
                        if found is not None:
                            valid, paid = found
                            key = bank, valid
                            after[key] = min(after.get(key, cost + paid), cost + paid)
            costs = after
            if access >= 0:
                live = bool(line.live_after[access])
        keep = bool(line.keep[tensor])
        return min(cost for (_, valid), cost in costs.items() if valid or not keep)

    def change(
        self, step: int, access: int, before: State, bank: int, *, store: bool, live: bool
    ) -> tuple[bool, int] | None:
        """Whether DRAM has the byte after a step in ``bank``, and the cost; None if not legal."""
        line, (last, valid) = self.line, before
        kind = int(line.kind[access]) if access >= 0 else -1
        reads, writes = kind in (Access.READ, Access.UPDATE), kind in (Access.WRITE, Access.UPDATE)
        required_resident = access >= 0 and bool(line.required_resident[access])
        fetches = int(line.fetches[access]) if access >= 0 else 0
        load = self.dram(step, True, required_resident and reads)
        keep = self.dram(step, False, required_resident and writes)
        read = [floor(self.touched(each, step, True)) for each in self.banks]
        write = [floor(self.touched(each, step, False)) for each in self.banks]
        resident, blind = bank >= 0, writes and not reads
        if required_resident and not resident:
            return None
        if live and not blind and not (resident or valid):
            return None  # R5
        cost = self.held(bank, step) if resident else 0
        if resident and not blind and last != bank:
            if last < 0 and not valid:
                return None  # R2
            cost += (load if last < 0 else read[last]) + write[bank]  # a load; R8: a move
        if reads and not resident and not valid:
            return None  # R3
        if access >= 0:
            cost += self.operation(step, access, bank if resident else STREAMS)
        if reads and not resident:
            cost += fetches * (load + write[STREAMS])
        if writes:
            valid = not resident and bool(line.live_after[access])
            if valid:  # R4
                cost += fetches * (keep + read[STREAMS])
                cost += (fetches - 1) * (load + write[STREAMS]) if blind else 0
        if store:
            if valid or not resident:
                return None
            valid, cost = True, cost + keep + read[bank]
        return valid, cost

    def operation(self, step: int, access: int, bank: int) -> int:
        """Dual value of what the operation itself reads and writes.

        Of a byte that lies in ``bank``.
        """
        read = self.shares.read[access] * self.touched(bank, step, True)
        write = self.shares.write[access] * self.touched(bank, step, False)
        return floor(read) + floor(write)
