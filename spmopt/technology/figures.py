"""The figures of one scratchpad, at one capacity."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import isfinite

from spmopt.core.errors import InputError

FIGURES = (
    "read_latency_ns",
    "write_latency_ns",
    "read_energy_pj",
    "write_energy_pj",
    "leakage_mw",
    "area_mm2",
)
"""Names of the figures that depend on the capacity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What a source says of one capacity; latencies and energies are of one access.

    Attributes
    ----------
    capacity_bytes
        Size of the memory.
    read_latency_ns, write_latency_ns
        From the start of an access to its end.
    read_energy_pj, write_energy_pj
        Dynamic energy.
    leakage_mw
        Power of the whole memory, idle or not.
    area_mm2
        Of the whole memory, periphery included.
    configuration
        What the memory was designed for, where a source has several designs of a capacity.
    """

    capacity_bytes: int
    read_latency_ns: float
    write_latency_ns: float
    read_energy_pj: float
    write_energy_pj: float
    leakage_mw: float
    area_mm2: float
    configuration: str = ""

    def __post_init__(self) -> None:
        for name in ("capacity_bytes", *FIGURES):
            value = getattr(self, name)
            if not (isfinite(value) and value > 0):
                raise InputError(f"{name} must be greater than 0, is {value}")

    @property
    def edap(self) -> float:
        """Energy-delay-area product (pJ ns mm2) by which configurations are chosen.

        Energy and delay are those of a read and a write together. DeepNVM++ (algorithm 1) does
        not say what it takes; leakage, which is no energy of an access, is left out here.
        """
        energy = self.read_energy_pj + self.write_energy_pj
        return energy * (self.read_latency_ns + self.write_latency_ns) * self.area_mm2


class Basis(StrEnum):
    """Where the figures come from."""

    PUBLISHED = "published"
    FITTED = "fit"
    EXTRAPOLATED = "fit, beyond its points"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scratchpad:
    """A scratchpad of some technology: figures of one access, and per byte.

    ``access_bytes`` go through in one access. A *bank* does one access at a time, so that its
    rate is ``access_bytes`` over the latency, without pipelining.
    """

    technology: str
    basis: Basis
    access_bytes: int
    point: Point

    @property
    def read_pj_per_byte(self) -> float:
        """Energy to read a byte, where whole accesses are read."""
        return self.point.read_energy_pj / self.access_bytes

    @property
    def write_pj_per_byte(self) -> float:
        """Energy to write a byte, where whole accesses are written."""
        return self.point.write_energy_pj / self.access_bytes

    @property
    def leakage_w(self) -> float:
        """Leakage power in watts."""
        return self.point.leakage_mw / 1000

    @property
    def read_bytes_per_s(self) -> float:
        """What one bank reads."""
        return self.access_bytes / self.point.read_latency_ns * 1e9

    @property
    def write_bytes_per_s(self) -> float:
        """What one bank writes."""
        return self.access_bytes / self.point.write_latency_ns * 1e9
