"""Prices and figures of an instance with banks, as floating-point arrays.

States of a byte, in this order: N (DRAM only), R (also in bank 0, 1, ..), D (dirty in bank 0, ..).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import SupportsFloat

import numpy as np

from formulations.solver.program import Floats
from spmopt.assemble.commands import stream_passes
from spmopt.assemble.cost import unavoidable
from spmopt.core.instance import Instance
from spmopt.core.objective import Objective
from spmopt.core.shares import Shares
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline


@dataclass(frozen=True, kw_only=True, eq=False)
class BankCoefficients:
    """What every part of the formulation reads.

    Attributes
    ----------
    cycle_bytes
        ``beta``: bytes that DRAM moves in a cycle.
    byte_time
        Objective units per byte of DMA time that nothing hides; 0 if time has no price.
    in_byte, out_byte
        Of a DMA byte, without what it costs in a bank.
    read_byte, write_byte : (b,)
        Objective units per byte that a bank reads or writes.
    read_ratio, write_ratio : (b,)
        Bytes that DRAM moves while the port reads or writes one; 0 where it is never slow.
    capacity_bytes : (b,)
    scratch_bytes : (n,)
        In whole pages.
    computing_bytes : (n,)
        Bytes that DRAM moves while the step computes.
    own_read, own_write : (a,)
        Bytes that an operation reads and writes per byte of its operand.
    stream_in, stream_out : (a,)
        How often a byte crosses each way that is not resident (R3, R4).
    loose_read, loose_write : (n,)
        Bytes of no operand, of the stream bank.
    constant
        Part of the objective that no schedule changes, in a scratchpad of these banks.
    """

    line: Timeline
    duplex: bool
    page_bytes: int
    cycle_bytes: float
    byte_time: float
    in_byte: float
    out_byte: float
    read_byte: Floats
    write_byte: Floats
    read_ratio: Floats
    write_ratio: Floats
    capacity_bytes: Floats
    scratch_bytes: Floats
    computing_bytes: Floats
    own_read: Floats
    own_write: Floats
    stream_in: Ints
    stream_out: Ints
    loose_read: Floats
    loose_write: Floats
    constant: float

    @property
    def bank_count(self) -> int:
        """Number of banks."""
        return int(self.capacity_bytes.size)

    @property
    def ported(self) -> Bools:
        """(b,) Banks whose port may be what a step waits for, where time has a price."""
        slow: Bools = (self.read_ratio > 0) | (self.write_ratio > 0)
        return slow & (self.byte_time > 0)

    @property
    def byte_price(self) -> float:
        """The most that one byte can cost to move: a unit for prices."""
        dearest = max(self.in_byte + self.write_byte.max(), self.out_byte + self.read_byte.max())
        return max(self.byte_time, float(dearest)) or 1.0

    @staticmethod
    def of(
        instance: Instance, line: Timeline, objective: Objective, *, relaxed: bool
    ) -> BankCoefficients:
        """Read the figures off an instance with banks.

        ``relaxed``: ``line`` has the least of each figure over the modes of an operation.
        """
        machine, page = instance.machine, instance.machine.page_bytes
        shares = Shares.relaxed(instance, line) if relaxed else Shares.of(line)
        beta = float(machine.bytes_per_cycle)
        none = np.zeros(len(machine.banks))
        read = _floats(objective.bank_read_byte) if objective.bank_read_byte else none
        write = _floats(objective.bank_write_byte) if objective.bank_write_byte else none
        # On one port nothing else waits for, a step's time is as if DRAM had moved the bytes.
        dram = machine.dram_bytes_per_s
        read_ratio = _floats([dram / (bank.read_bytes_per_s or np.inf) for bank in machine.banks])
        write_ratio = _floats([dram / (bank.write_bytes_per_s or np.inf) for bank in machine.banks])
        fixed = (
            float(unavoidable(objective, line))
            + float(read[0]) * sum(shares.loose_read)
            + float(write[0]) * sum(shares.loose_write)
            + float(read.min()) * sum(shares.any_read)
            + float(write.min()) * sum(shares.any_write)
        )
        stream_in, stream_out = stream_passes(line)
        return BankCoefficients(
            line=line,
            duplex=machine.duplex,
            page_bytes=page,
            cycle_bytes=beta,
            byte_time=float(objective.cycle) / beta,
            in_byte=float(objective.dram_in_byte),
            out_byte=float(objective.dram_out_byte),
            read_byte=read,
            write_byte=write,
            read_ratio=read_ratio,
            write_ratio=write_ratio,
            capacity_bytes=_floats(machine.bank_pages) * page,
            scratch_bytes=_floats(machine.pages(line.scratch_bytes) * page),
            computing_bytes=line.compute_cycles.astype(np.float64) * beta,
            own_read=_floats(shares.read),
            own_write=_floats(shares.write),
            stream_in=stream_in,
            stream_out=stream_out,
            loose_read=_floats(shares.loose_read),
            loose_write=_floats(shares.loose_write),
            constant=fixed,
        )


def _floats(values: Iterable[SupportsFloat]) -> Floats:
    return np.array([float(value) for value in values], np.float64)
