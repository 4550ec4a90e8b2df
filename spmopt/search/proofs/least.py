"""What any schedule of an instance takes at least, without a solver.

Computation, and *compulsory* traffic: what is read before it is written comes in once, what is to
be kept and is written goes out once (rules R3 to R5 and R7). A step takes at least its
computation, and at least its transfers, on a machine with one channel both directions together;
sums over steps of either are below the makespan (R6).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np

from spmopt.core.instance import Instance
from spmopt.core.machine import Machine
from spmopt.core.objective import energy_objective
from spmopt.core.timeline import Access, relaxed_timeline
from spmopt.search.proofs.pool import Pool
from spmopt.search.space.figures import Spent


@dataclass(frozen=True, kw_only=True)
class Least:
    """Lower bounds; ``energy_j`` where one is known beside what follows from the others."""

    cycles: Fraction
    in_bytes: int
    out_bytes: int
    traffic_bytes: Fraction
    spm_read_bytes: int
    spm_write_bytes: int
    macs: int
    energy_j: Fraction = Fraction(0)

    def spent(self, machine: Machine) -> Spent:
        """In physical units; cycles and bytes are whole, so that bounds are rounded up.

        Whichever banks are read and written, it takes no less than the cheapest ones do.
        """
        cycles, traffic = ceil(self.cycles), ceil(self.traffic_bytes)
        joules = energy_objective(machine)
        read, write = min(joules.bank_read_byte, default=0), min(joules.bank_write_byte, default=0)
        inward, outward = joules.dram_in_byte + write, joules.dram_out_byte + read
        more = max(0, traffic - self.in_bytes - self.out_bytes)
        energy = (
            joules.cycle * cycles
            + inward * self.in_bytes
            + outward * self.out_bytes
            + min(inward, outward) * more
            + (joules.spm_read_byte + read) * self.spm_read_bytes
            + (joules.spm_write_byte + write) * self.spm_write_bytes
            + joules.mac * self.macs
        )
        return Spent(
            time_s=cycles / machine.clock_hz,
            energy_j=float(max(energy, self.energy_j)),
            traffic_bytes=float(traffic),
        )


def least_of(instance: Instance, cuts: Pool | None = None) -> Least:
    """Bounds for every legal schedule of ``instance``, those of ``cuts`` among them."""
    line, machine = relaxed_timeline(instance), instance.machine
    touched = line.first_access >= 0
    kinds = line.kind[np.where(touched, line.first_access, 0)]
    comes_in = touched & line.in_dram & (kinds != Access.WRITE)
    written = np.zeros(line.size_bytes.size, bool)
    written[line.tensor[line.kind != Access.READ]] = True
    in_bytes = int(line.size_bytes[comes_in].sum())
    out_bytes = int(line.size_bytes[written & line.keep].sum())
    busiest = max(in_bytes, out_bytes) if machine.duplex else in_bytes + out_bytes
    cycles = max(Fraction(int(line.compute_cycles.sum())), busiest / machine.bytes_per_cycle)
    traffic = Fraction(in_bytes + out_bytes)
    for cut in () if cuts is None else cuts.alike(instance, line):
        cycles = max(cycles, cut.least_cycles(line.compute_cycles, machine))
        traffic = max(traffic, cut.least_bytes(machine))
    return Least(
        cycles=cycles,
        in_bytes=in_bytes,
        out_bytes=out_bytes,
        traffic_bytes=traffic,
        spm_read_bytes=int(line.spm_read_bytes.sum()),
        spm_write_bytes=int(line.spm_write_bytes.sum()),
        macs=int(line.macs.sum()),
    )
