"""Objectives: non-negative weights on what a schedule spends."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from spmopt.core.errors import InputError
from spmopt.core.machine import Machine

_PICO = Fraction(1, 10**12)
WEIGHTS = ("cycle", "dram_in_byte", "dram_out_byte", "spm_read_byte", "spm_write_byte", "mac")
"""Names of the weights of events that every machine has."""


def _exact(value: float) -> Fraction:
    """The decimal a user wrote, not its binary neighbour."""
    return Fraction(str(value))


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """A weighted sum; each weight is in ``unit`` per event (problem statement, section 3).

    ``bank_read_byte`` and ``bank_write_byte`` are weights of a byte that each bank reads or writes,
    whoever asks for it; none for a uniform scratchpad.
    """

    name: str
    unit: str
    cycle: Fraction = Fraction(0)
    dram_in_byte: Fraction = Fraction(0)
    dram_out_byte: Fraction = Fraction(0)
    spm_read_byte: Fraction = Fraction(0)
    spm_write_byte: Fraction = Fraction(0)
    mac: Fraction = Fraction(0)
    bank_read_byte: tuple[Fraction, ...] = ()
    bank_write_byte: tuple[Fraction, ...] = ()

    @property
    def weights(self) -> tuple[Fraction, ...]:
        """All weights, those of banks last."""
        own = (getattr(self, name) for name in WEIGHTS)
        return (*own, *self.bank_read_byte, *self.bank_write_byte)

    @property
    def replayed(self) -> bool:
        """Whether a cycle is one of the replay, which has no barriers between steps."""
        return self.name == "replay"

    def __post_init__(self) -> None:
        for name in (*WEIGHTS, "bank_read_byte", "bank_write_byte"):
            value = getattr(self, name)
            if min(value if isinstance(value, tuple) else (value,), default=0) < 0:
                raise InputError(f"objective {self.name}: weight {name} must not be negative")
        if len(self.bank_read_byte) != len(self.bank_write_byte):
            raise InputError(f"objective {self.name}: needs both weights of each bank")


def spoken_name(name: str) -> str:
    """Name of an objective as the options have it."""
    return "time" if name == "makespan" else name


MAKESPAN = Objective(name="makespan", unit="cycles", cycle=Fraction(1))
REPLAY = Objective(name="replay", unit="cycles", cycle=Fraction(1))
TRAFFIC = Objective(
    name="traffic", unit="bytes", dram_in_byte=Fraction(1), dram_out_byte=Fraction(1)
)


def energy_objective(machine: Machine) -> Objective:
    """Joules on ``machine``: each DMA byte also writes (in) or reads (out) the SPM once.

    With banks every byte that one of them reads or writes has its price, those of DMA among them.
    """
    energy, banks = machine.energy, machine.banks
    read = _exact(energy.spm_read_pj_per_byte) * _PICO
    write = _exact(energy.spm_write_pj_per_byte) * _PICO
    dram = _exact(energy.dram_pj_per_byte) * _PICO
    return Objective(
        name="energy",
        unit="joules",
        cycle=sum((_exact(bank.leakage_w) for bank in banks), _exact(energy.leakage_w))
        / machine.clock_hz,
        dram_in_byte=dram + write,
        dram_out_byte=dram + read,
        spm_read_byte=read,
        spm_write_byte=write,
        mac=_exact(energy.mac_pj) * _PICO,
        bank_read_byte=tuple(_exact(bank.read_pj_per_byte) * _PICO for bank in banks),
        bank_write_byte=tuple(_exact(bank.write_pj_per_byte) * _PICO for bank in banks),
    )


def objective_named(name: str, machine: Machine) -> Objective:
    """``traffic``, ``time`` (also ``makespan``), ``replay`` or ``energy``."""
    if name in ("time", "makespan"):
        return MAKESPAN
    if name == "replay":
        return REPLAY
    if name == "traffic":
        return TRAFFIC
    if name == "energy":
        return energy_objective(machine)
    raise InputError(f"objective {name!r}: choose traffic, time, replay or energy")
