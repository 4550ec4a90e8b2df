"""What a schedule spends, in words that sheets and headlines share."""

from __future__ import annotations

from spmopt.core.machine import Machine
from spmopt.core.result import Totals
from spmopt.hardware.energy import EnergyReport
from spmopt.report.quantities import share, si


def energy_split(report: EnergyReport) -> str:
    """Who takes which share of the energy; empty where there is none."""
    if not report.energy_j:
        return ""
    parts = {
        "DRAM": report.dram_j,
        "SPM reads": report.spm_read_j,
        "SPM writes": report.spm_write_j,
        "MACs": report.mac_j,
        "leakage": report.leakage_j,
    }
    return ", ".join(f"{name} {share(part / report.energy_j)}" for name, part in parts.items())


def area_split(report: EnergyReport) -> str:
    """Square millimeters of each part; empty unless all of them are known."""
    area = report.area
    if area.spm_mm2 is None or area.total_mm2 is None:
        return ""
    parts = f"SPM {area.spm_mm2:.4g}, engine {area.engine_mm2:.4g}"
    return parts + (f", DRAM interface {area.interface_mm2:.4g}" if area.interface_mm2 else "")


def bank_names(machine: Machine) -> tuple[str, ...]:
    """Size and technology of each bank, in the order of addresses."""
    return tuple(f"{si(bank.spm_bytes, 'B')} {bank.technology}".strip() for bank in machine.banks)


def bank_uses(machine: Machine, totals: Totals) -> tuple[str, ...]:
    """What operations, transfers and moves read from each bank, and write to it."""
    uses = zip(machine.banks, totals.bank_read_bytes, totals.bank_write_bytes, strict=True)
    return tuple(
        f"{si(float(read), 'B')} read, {si(float(write), 'B')} written" for _, read, write in uses
    )
