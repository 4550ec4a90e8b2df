"""Area of a machine, and the energy and time of a schedule on it.

Energy by its parts, power, EDP, EDAP.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spmopt.core.machine import Bank, Machine
from spmopt.core.objective import energy_objective
from spmopt.core.result import Totals

_GIGA = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaReport:
    """Areas of a machine's parts (square millimeters).

    ``spm_mm2`` is None where the machine does not name the technology of its scratchpad, or of
    every bank.
    ``engine_mm2`` is the area of the engine with its multiply-accumulate units, ``interface_mm2``
    the area of the interface to the DRAM, by the DRAM's own bandwidth.
    """

    spm_mm2: float | None
    engine_mm2: float
    interface_mm2: float

    @property
    def total_mm2(self) -> float | None:
        """All together; None where the scratchpad's is not known."""
        return None if self.spm_mm2 is None else self.spm_mm2 + self.engine_mm2 + self.interface_mm2


def area_report(machine: Machine) -> AreaReport:
    """Return the area of ``machine``, by its parts."""
    area, memory = machine.area, machine.memory
    # The interface is built for the DRAM, even if slow banks use less of it.
    bandwidth = machine.dram_bytes_per_s if memory is None else memory.dram_bytes_per_s
    return AreaReport(
        spm_mm2=_of_banks(machine.banks) if memory is None else memory.area_mm2,
        engine_mm2=area.engine_mm2 + area.mac_mm2 * machine.mac_units,
        interface_mm2=area.mm2_per_gbps * bandwidth / _GIGA,
    )


def _of_banks(banks: Sequence[Bank]) -> float | None:
    """Return the area of all banks; None without banks, or if one of them is not known."""
    known = [bank.area_mm2 for bank in banks if bank.area_mm2 is not None]
    # A sum over some banks would look like the area of all.
    return sum(known) if banks and len(known) == len(banks) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyReport:
    """Joules, seconds and area of a schedule.

    Attributes
    ----------
    time_s
        The makespan.
    energy_j
        All of it: the objective ``energy`` of the PROBLEM.md, section 3.
    dram_j, spm_read_j, spm_write_j, mac_j, leakage_j
        Its parts. The scratchpad is read by operations and by stores to DRAM, written by operations
        and by loads from it.
    area
        Of the machine.
    """

    time_s: float
    energy_j: float
    dram_j: float
    spm_read_j: float
    spm_write_j: float
    mac_j: float
    leakage_j: float
    area: AreaReport

    @property
    def power_w(self) -> float:
        """Average power: energy over time; 0 for a schedule that takes no time."""
        return self.energy_j / self.time_s if self.time_s else 0.0

    @property
    def edp_js(self) -> float:
        """Energy-delay product in joule seconds."""
        return self.energy_j * self.time_s

    @property
    def edap_js_mm2(self) -> float | None:
        """Energy-delay-area product (J s mm2); None where the scratchpad's area is not known."""
        area = self.area.total_mm2
        return None if area is None else self.edp_js * area


def energy_report(totals: Totals, machine: Machine) -> EnergyReport:
    """Energy and time of a schedule with these ``totals`` on ``machine``.

    Each part is rounded once.
    """
    weight = energy_objective(machine)
    # A DMA byte is weighed with the access to the scratchpad that it makes.
    from_dram = weight.dram_in_byte - weight.spm_write_byte
    to_dram = weight.dram_out_byte - weight.spm_read_byte
    read = totals.value(weight.only("spm_read_byte", "bank_read_byte"))
    write = totals.value(weight.only("spm_write_byte", "bank_write_byte"))
    arriving = totals.dram_in_bytes + totals.unpacked_bytes
    leaving = totals.dram_out_bytes + totals.packed_bytes
    return EnergyReport(
        time_s=totals.makespan_cycles / machine.clock_hz,
        energy_j=float(totals.value(weight)),
        dram_j=float(from_dram * totals.dram_in_bytes + to_dram * totals.dram_out_bytes),
        spm_read_j=float(read + weight.spm_read_byte * leaving),
        spm_write_j=float(write + weight.spm_write_byte * arriving),
        mac_j=float(totals.value(weight.only("mac", "own_picojoule"))),
        leakage_j=float(totals.value(weight.only("cycle"))),
        area=area_report(machine),
    )
