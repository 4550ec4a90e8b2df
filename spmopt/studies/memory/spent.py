"""What a workload takes of a scratchpad of some technology, in two readings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import ceil

from spmopt.core.machine import Machine
from spmopt.core.result import Totals
from spmopt.hardware.energy import energy_report
from spmopt.hardware.technology import Scratchpad
from spmopt.studies.memory.assumptions import Assumptions

_TRANSACTION = 32
"""Bytes of an access to GDDR5X."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Time, energy and area.

    Attributes
    ----------
    time_s
        In which the scratchpad leaks.
    dram_s
        What waiting for the DRAM adds; 0 where ``time_s`` has it.
    read_bytes, write_bytes, dram_bytes
        Of the scratchpad, and over the DRAM boundary.
    spm_read_j, spm_write_j, leakage_j, dram_j, mac_j
        Parts of the energy.
    area_mm2
        Of the scratchpad.
    """

    time_s: float
    dram_s: float
    read_bytes: int
    write_bytes: int
    dram_bytes: int
    spm_read_j: float
    spm_write_j: float
    leakage_j: float
    dram_j: float
    mac_j: float
    area_mm2: float

    def row(self) -> Mapping[str, float]:
        """As part of a row."""
        return asdict(self)


TYPES = {name: int if name.endswith("_bytes") else float for name in Spent.__dataclass_fields__}
"""Columns of a row."""


def scheduled(machine: Machine, totals: Totals, scratchpad: Scratchpad) -> Spent:
    """As a schedule takes it: accesses of the schedule, in its makespan.

    Operands are read and results written once a pass, and what goes to the DRAM is read,
    what comes from there written once more.
    """
    found = energy_report(totals, machine)
    return Spent(
        time_s=found.time_s,
        dram_s=0.0,
        read_bytes=totals.spm_read_bytes + totals.dram_out_bytes,
        write_bytes=totals.spm_write_bytes + totals.dram_in_bytes,
        dram_bytes=totals.traffic_bytes,
        spm_read_j=found.spm_read_j,
        spm_write_j=found.spm_write_j,
        leakage_j=found.leakage_j,
        dram_j=found.dram_j,
        mac_j=found.mac_j,
        area_mm2=scratchpad.point.area_mm2,
    )


def one_by_one(
    scratchpad: Scratchpad,
    accessed: tuple[int, int],
    like: Spent,
    assumed: Assumptions,
) -> Spent:
    """As DeepNVM++ counts it (section III-B): accesses one after another, each in whole cycles.

    ``n_r t_r + n_w t_w`` is the time, in which the cache leaks; what the DRAM adds is counted
    apart, and no leakage with it. This is what the paper's figures agree with; it does not say.

    Parameters
    ----------
    accessed
        Bytes that are read and written.
    like
        A schedule, for its traffic to the DRAM and its arithmetic.
    """
    reads, writes = (Fraction(size, scratchpad.access_bytes) for size in accessed)
    point = scratchpad.point
    cycles = reads * _cycles(point.read_latency_ns, assumed) + writes * _cycles(
        point.write_latency_ns, assumed
    )
    time_s = float(cycles / assumed.clock_hz)
    transactions = Fraction(like.dram_bytes, _TRANSACTION)
    return Spent(
        time_s=time_s,
        dram_s=float(transactions * assumed.dram_cycles / assumed.clock_hz),
        read_bytes=accessed[0],
        write_bytes=accessed[1],
        dram_bytes=like.dram_bytes,
        spm_read_j=float(reads) * point.read_energy_pj * 1e-12,
        spm_write_j=float(writes) * point.write_energy_pj * 1e-12,
        leakage_j=scratchpad.leakage_w * time_s,
        dram_j=like.dram_j,
        mac_j=like.mac_j,
        area_mm2=point.area_mm2,
    )


def _cycles(latency_ns: float, assumed: Assumptions) -> int:
    return ceil(latency_ns * 1e-9 * assumed.clock_hz)
