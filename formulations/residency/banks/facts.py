"""Dual values and figures of a problem with banks, as floating-point arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import SupportsFloat

import numpy as np

from formulations.solver.program import Floats
from spmopt.assemble.cost import unavoidable
from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.shares import Shares
from spmopt.core.table import Bools
from spmopt.core.timeline import Timeline


class BankCoefficients:
    """Data that every part of the formulation reads.

    Attributes
    ----------
    cycle_bytes
        ``beta``: bytes that DRAM moves in a cycle.
    byte_time
        Objective units per byte of DMA time that nothing hides; 0 if time has no dual value.
    in_byte, out_byte
        Of a DMA byte, without its costs in a bank.
    read_byte, write_byte : (b,)
        Objective units per byte that a bank reads or writes.
    read_ratio, write_ratio : (b,)
        Bytes that DRAM moves while the port reads or writes one; 0 where it is never slow.
    capacity_bytes : (b,)
    scratch_bytes : (n,)
        In whole pages.
    own_read, own_write : (a,)
        Bytes that an operation reads and writes per byte of its operand.
    loose_read, loose_write : (n,)
        Bytes of no operand, of the stream bank.
    constant
        Part of the objective that no schedule changes, in a scratchpad of these banks.
    """

    def __init__(
        self, problem: Problem, line: Timeline, objective: Objective, *, relaxed: bool
    ) -> None:
        """Read the figures off a problem with banks.

        ``relaxed``: ``line`` has the least of each figure over the mappings of an operation.
        """
        machine, banks = problem.machine, problem.machine.banks
        shares = Shares.relax(problem, line) if relaxed else Shares.of(line)
        self.line = line
        self.duplex = machine.duplex
        self.cycle_bytes = float(machine.bytes_per_cycle)
        self.byte_time = float(objective.cycle) / self.cycle_bytes
        self.in_byte = float(objective.dram_in_byte)
        self.out_byte = float(objective.dram_out_byte)
        none = np.zeros(len(banks))
        self.read_byte = _floats(objective.bank_read_byte or none)
        self.write_byte = _floats(objective.bank_write_byte or none)
        # On one port nothing else waits for, a step's time is as if DRAM had moved the bytes.
        dram = machine.dram_bytes_per_s
        self.read_ratio = _floats(dram / (bank.read_bytes_per_s or np.inf) for bank in banks)
        self.write_ratio = _floats(dram / (bank.write_bytes_per_s or np.inf) for bank in banks)
        self.capacity_bytes = _floats(machine.bank_pages) * machine.page_bytes
        self.scratch_bytes = _floats(machine.pages(line.scratch_bytes) * machine.page_bytes)
        self.own_read, self.own_write = _floats(shares.read), _floats(shares.write)
        self.loose_read, self.loose_write = _floats(shares.loose_read), _floats(shares.loose_write)
        self.constant = (
            float(unavoidable(objective, line))
            + float(self.read_byte.min()) * sum(shares.any_read)
            + float(self.write_byte.min()) * sum(shares.any_write)
        )

    @property
    def bank_count(self) -> int:
        """Number of banks."""
        return int(self.capacity_bytes.size)

    @property
    def banks_with_port(self) -> Bools:
        """(b,) Banks with a port that a step may wait for, where time has a dual value."""
        slow: Bools = (self.read_ratio > 0) | (self.write_ratio > 0)
        return slow & (self.byte_time > 0)

    @property
    def byte_dual(self) -> float:
        """The most that one byte can cost to move: a unit for dual values."""
        dearest = max(self.in_byte + self.write_byte.max(), self.out_byte + self.read_byte.max())
        return max(self.byte_time, float(dearest)) or 1.0

    @property
    def touch_dual(self) -> float:
        """The most that a bank, and the time of its port, can cost a byte that is used in it."""
        shares = max(self.own_read.max(initial=0.0), self.own_write.max(initial=0.0), 1.0)
        ratio = self.read_ratio + self.write_ratio
        touch = self.read_byte + self.write_byte + self.byte_time * ratio
        return float(shares) * float(touch.max())


def _floats(values: Iterable[SupportsFloat]) -> Floats:
    return np.array([float(value) for value in values], np.float64)
