"""Scratchpads of one area: how much of it is SRAM, and what the rest is."""

from __future__ import annotations

from dataclasses import dataclass

from spmopt.hardware.scratchpad import BankOf
from spmopt.hardware.technologies import load_technology
from spmopt.hardware.technology import Technology
from spmopt.studies.words import percent

SRAM, MRAMS = "nvsim-sram", ("nvsim-stt", "nvsim-sot")
BUDGET_BYTES = 4 * 2**20
"""The area is that of so much SRAM."""
SHARES = (1.0, 0.75, 0.5, 0.25, 0.0)
"""Of the area that SRAM takes."""
_PAGE = 4096


@dataclass(frozen=True, kw_only=True)
class Design:
    """A scratchpad: the share of the area that is SRAM, and the memory of the rest."""

    share: float
    mram: str

    @property
    def label(self) -> str:
        """As tables have it."""
        if self.share == 1:
            return "SRAM"
        rest = self.mram.removeprefix("nvsim-").upper()
        return rest if self.share == 0 else f"{percent(self.share)} SRAM, {rest}"

    def banks(self, ports: int | None = None) -> list[BankOf]:
        """Banks of whole pages: SRAM first, where streams pass."""
        budget = load_technology(SRAM).at(BUDGET_BYTES).point.area_mm2
        areas = ((SRAM, self.share * budget), (self.mram, (1 - self.share) * budget))
        return [
            BankOf(
                spm_bytes=largest(load_technology(name), area),
                technology=load_technology(name),
                ports=ports,
            )
            for name, area in areas
            if area > 0
        ]


def designs() -> list[Design]:
    """SRAM alone once, then shares of each other memory."""
    return [
        Design(share=share, mram=mram)
        for mram in MRAMS
        for share in SHARES
        if share < 1 or mram == MRAMS[0]
    ]


def largest(technology: Technology, area_mm2: float) -> int:
    """Bytes of whole pages of a memory that take at most an area, as large as can be."""
    low, high = 1, technology.most_bytes // _PAGE
    while low < high:
        middle = (low + high + 1) // 2
        fits = technology.at(middle * _PAGE).point.area_mm2 <= area_mm2
        low, high = (middle, high) if fits else (low, middle - 1)
    return low * _PAGE
