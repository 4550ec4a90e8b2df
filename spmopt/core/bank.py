"""Banks: a scratchpad of several memories, each with its own size, energy and rates.

The banks share one address space, one after the other, so that an address says which bank a page
lies in. README of ``formulations/residency/banks`` says what else changes in the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from spmopt.core.errors import InputError
from spmopt.core.limits import require_small

MOST = 8
"""Banks of a machine; a program of more would be slow, and no such machine is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bank:
    """One memory of the scratchpad.

    Attributes
    ----------
    spm_bytes
        Size; what is left over of the last page is not used.
    read_pj_per_byte, write_pj_per_byte
        Dynamic energy in picojoules, whoever reads or writes.
    leakage_w
        Power in watts, idle or not.
    read_bytes_per_s, write_bytes_per_s
        What its port reads or writes, one after the other; None where it is never slow.
    technology, source
        What it is called, and where its figures are from; for people.
    area_mm2
        Square millimeters, if known.
    """

    spm_bytes: int
    read_pj_per_byte: float = 0.0
    write_pj_per_byte: float = 0.0
    leakage_w: float = 0.0
    read_bytes_per_s: int | None = None
    write_bytes_per_s: int | None = None
    technology: str = ""
    source: str = ""
    area_mm2: float | None = None

    def __post_init__(self) -> None:
        require_small("bank", "spm_bytes", self.spm_bytes)
        for name in ("read_pj_per_byte", "write_pj_per_byte", "leakage_w", "area_mm2"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < inf:
                raise InputError(f"bank: {name} must be finite and not negative, is {value}")
        for name in ("read_bytes_per_s", "write_bytes_per_s"):
            rate = getattr(self, name)
            if rate is not None and rate < 1:
                raise InputError(f"bank: {name} must be at least 1, is {rate}")
            require_small("bank", name, rate or 1)

    @property
    def has_rates(self) -> bool:
        """Whether its port can be what a step waits for."""
        return self.read_bytes_per_s is not None or self.write_bytes_per_s is not None


def check_banks(where: str, banks: Sequence[Bank], spm_bytes: int, page_bytes: int) -> None:
    """Raise :class:`InputError` unless ``banks`` hold a page each and make up the scratchpad."""
    if len(banks) > MOST:
        raise InputError(f"{where}: {len(banks)} banks, at most {MOST} are possible; join some")
    for number, bank in enumerate(banks):
        if bank.spm_bytes < page_bytes:
            raise InputError(
                f"{where}: bank {number} of {bank.spm_bytes} bytes is smaller than one page of "
                f"{page_bytes}; give a larger --bank or a smaller --page"
            )
    total = sum(bank.spm_bytes for bank in banks)
    if total != spm_bytes:
        raise InputError(
            f"{where}: its banks have {total} bytes, the scratchpad {spm_bytes}; make them equal"
        )
