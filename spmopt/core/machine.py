"""The machine: a compute engine, one scratchpad, one DRAM behind a DMA channel."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from spmopt.core.bank import Bank, check_banks
from spmopt.core.errors import InputError
from spmopt.core.limits import require_small


@dataclass(frozen=True, slots=True, kw_only=True)
class SystolicArray:
    """Dimensions of a systolic array; ``dataflow`` is ``os``, ``ws`` or ``is``."""

    rows: int
    columns: int
    dataflow: str = "os"

    def __post_init__(self) -> None:
        if self.rows < 1 or self.columns < 1:
            raise InputError("systolic array: rows and columns must be at least 1")
        if self.dataflow not in ("os", "ws", "is"):
            raise InputError(f"systolic array: dataflow {self.dataflow!r} is not os, ws or is")


@dataclass(frozen=True, slots=True, kw_only=True)
class Energy:
    """Energy of the events that a schedule causes (picojoules; leakage in watts)."""

    dram_pj_per_byte: float = 0.0
    spm_read_pj_per_byte: float = 0.0
    spm_write_pj_per_byte: float = 0.0
    mac_pj: float = 0.0
    leakage_w: float = 0.0

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if not (0 <= value < float("inf")):
                raise InputError(f"energy: {name} must be finite and not negative, is {value}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One accelerator (problem statement, section 1).

    ``operations_per_s`` counts multiplications and additions separately (the FLOP/s of
    a data sheet). With ``array`` set, matrix products are timed by the systolic array.
    ``banks``: memories that make up the scratchpad, none for a uniform one. They have its energy
    to read, write and leak each; what ``energy`` says of reads and writes is then 0, and its
    leakage that of all else.
    """

    name: str
    spm_bytes: int
    dram_bytes_per_s: int
    clock_hz: int
    operations_per_s: int
    dma_setup_cycles: int = 0
    page_bytes: int = 4096
    duplex: bool = False
    array: SystolicArray | None = None
    energy: Energy = Energy()
    source: str = ""
    banks: tuple[Bank, ...] = ()

    def __post_init__(self) -> None:
        for field in ("dram_bytes_per_s", "clock_hz", "operations_per_s", "page_bytes"):
            if getattr(self, field) < 1:
                raise InputError(f"machine {self.name}: {field} must be at least 1")
        for field in ("spm_bytes", "dram_bytes_per_s", "clock_hz", "operations_per_s"):
            require_small(f"machine {self.name}", field, getattr(self, field))
        require_small(f"machine {self.name}", "dma_setup_cycles", self.dma_setup_cycles)
        if self.dma_setup_cycles < 0:
            raise InputError(f"machine {self.name}: dma_setup_cycles must not be negative")
        if self.spm_bytes < self.page_bytes:
            raise InputError(
                f"machine {self.name}: SPM of {self.spm_bytes} bytes is smaller than one page "
                f"of {self.page_bytes}; give a larger --spm or a smaller --page"
            )
        if self.banks:
            check_banks(f"machine {self.name}", self.banks, self.spm_bytes, self.page_bytes)
            if self.energy.spm_read_pj_per_byte or self.energy.spm_write_pj_per_byte:
                raise InputError(
                    f"machine {self.name}: its banks have energies to read and write of their "
                    "own; set energy.spm_read_pj_per_byte and energy.spm_write_pj_per_byte to 0"
                )

    @property
    def bytes_per_cycle(self) -> Fraction:
        """DRAM bandwidth ``beta`` in bytes per cycle, exact."""
        return Fraction(self.dram_bytes_per_s, self.clock_hz)

    @property
    def spm_pages(self) -> int:
        """Whole pages in the scratchpad."""
        return sum(self.bank_pages)

    @property
    def bank_pages(self) -> tuple[int, ...]:
        """Whole pages of each bank, in the order of addresses; a uniform scratchpad is one bank."""
        sizes = [bank.spm_bytes for bank in self.banks] or [self.spm_bytes]
        return tuple(size // self.page_bytes for size in sizes)

    @property
    def leakage_w(self) -> float:
        """Leakage of everything, banks included."""
        return self.energy.leakage_w + sum(bank.leakage_w for bank in self.banks)
