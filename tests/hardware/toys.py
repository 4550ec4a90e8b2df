"""Technologies with figures that are easy to reckon with."""

from typing import Any

from spmopt.core.machine import Machine, SpmTechnology
from spmopt.hardware.technology import Interpolation, Point, Technology


def toy(capacity_bytes: int) -> Technology:
    """Accesses of 4 bytes: read in 1 ns for 1.5 pJ a byte, written in 2 ns for 3 pJ a byte."""
    return Technology(
        name="toy",
        cell="toy",
        source="by hand",
        access_bytes=4,
        between=Interpolation.NOTHING,
        points=(
            Point(
                capacity_bytes=capacity_bytes,
                read_latency_ns=1,
                write_latency_ns=2,
                read_energy_pj=6,
                write_energy_pj=12,
                leakage_mw=250,
                area_mm2=1,
            ),
        ),
    )


def toy_memory(machine: Machine, read: int | None, write: int | None, **more: Any) -> SpmTechnology:
    """Figures of a machine's scratchpad: bytes that its banks read and write a second."""
    given = {
        "area_mm2": 1,
        "banks": 1,
        "spm_bytes": machine.spm_bytes,
        "dram_bytes_per_s": machine.dram_bytes_per_s,
        **more,
    }
    return SpmTechnology(
        technology="toy",
        source="by hand",
        basis="published",
        read_bytes_per_s=read,
        write_bytes_per_s=write,
        **given,
    )
