"""The machine: a compute engine, one scratchpad, one DRAM behind a DMA channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import floor
from typing import overload

from spmopt.core.errors import InputError
from spmopt.core.machine_parts import (
    AREA_FIGURES,
    ENERGY_FIGURES,
    Area,
    Bank,
    Blocks,
    Compression,
    Energy,
    SpmTechnology,
    SystolicArray,
    TypedFigures,
    VectorUnit,
    require_counts,
)
from spmopt.core.table import Ints

__all__ = [
    "AREA_FIGURES",
    "ENERGY_FIGURES",
    "FEATURES",
    "MOST",
    "RETENTION",
    "Area",
    "Bank",
    "Blocks",
    "Compression",
    "Energy",
    "Machine",
    "SpmTechnology",
    "SystolicArray",
    "TypedFigures",
    "VectorUnit",
]

MOST = 8
"""Banks of a machine; a program of more would be slow, and no such machine is known."""
FEATURES = {"bank": "banks", "bypass": "bypass", "compression": "compression"}
"""Features of a machine that only some schedulers support.

Keys of settings, and the fields they make up."""
RETENTION = "retention"
"""A feature that follows from a bank's technology: that contents last for some time only."""
_WHOLE = Fraction(1)
_FEW_PAGES = 128
"""Pages of a scratchpad of which part-filled ones are much."""


def _check_banks(where: str, banks: Sequence[Bank], spm_bytes: int, page_bytes: int) -> None:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One accelerator (PROBLEM.md, section 1).

    ``operations_per_s`` counts multiplications and additions separately (the FLOP/s of
    a data sheet). With ``array`` set, matrix products are timed by the systolic array; with
    ``blocks``, in blocks of an engine of dot products, at ``operations_per_s``. All other
    work is at the rate of ``vector``, see :attr:`vector_operations_per_s`.
    ``banks``: memories that make up the scratchpad, none for a uniform one. They have its energy
    to read, write and leak each; the reads and writes of ``energy`` are then 0, and its leakage is
    of everything else. ``types``: rates and energies of products of some element types, see
    :meth:`rate` and :meth:`mac_pj`; those of all others are ``operations_per_s`` and
    ``energy.mac_pj``. ``costs``: the file that cycles and energies of operations are from, where
    one is given. ``bypass``: kinds of tensors that are never in the scratchpad; each use streams
    all of them. ``compression``: kinds of tensors that are compressed in DRAM, and how far.
    ``memory`` is the scratchpad's technology, where one is named; another
    ``spm_bytes`` needs another, see :func:`spmopt.hardware.scratchpad.with_technology`.
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
    energy: Energy = field(default=Energy())
    area: Area = field(default=Area())
    memory: SpmTechnology | None = None
    source: str = ""
    banks: tuple[Bank, ...] = field(default=(), metadata={"group": "banks"})
    types: tuple[TypedFigures, ...] = field(default=(), metadata={"group": "types"})
    costs: str = field(default="", metadata={"group": "costs"})
    bypass: tuple[str, ...] = field(default=(), metadata={"group": "bypass"})
    blocks: Blocks | None = field(default=None, metadata={"group": "blocks"})
    vector: VectorUnit | None = field(default=None, metadata={"group": "vector"})
    compression: tuple[Compression, ...] = field(default=(), metadata={"group": "compression"})

    def __post_init__(self) -> None:
        where = f"machine {self.name}"
        counts = ("page_bytes", "spm_bytes", "dram_bytes_per_s", "clock_hz", "operations_per_s")
        require_counts(where, self, counts)
        require_counts(where, self, ("dma_setup_cycles",), least=0)
        if self.array is not None and self.blocks is not None:
            raise InputError(f"{where}: array and blocks both time its products; leave one out")
        names = [typed.element_type for typed in self.types]
        if len(set(names)) < len(names):
            raise InputError(f"{where}: figures of an element type stand twice; give each once")
        if self.spm_bytes < self.page_bytes:
            raise InputError(
                f"{where}: SPM of {self.spm_bytes} bytes is smaller than one page "
                f"of {self.page_bytes}; give a larger --spm or a smaller --page"
            )
        if self.banks:
            _check_banks(where, self.banks, self.spm_bytes, self.page_bytes)
            # Accesses of the array are known in sum only, and banks need them by operand.
            if self.array is not None and self.array.reuse:
                raise InputError(
                    f"{where}: array.reuse: which bank the array reads again is not modeled; "
                    "leave it or the banks out"
                )
            if self.memory is not None:
                raise InputError(
                    f"{where}: its banks have technologies of their own; name no other"
                )
            if self.energy.spm_read_pj_per_byte or self.energy.spm_write_pj_per_byte:
                raise InputError(
                    f"{where}: its banks have energies to read and write of their "
                    "own; set energy.spm_read_pj_per_byte and energy.spm_write_pj_per_byte to 0"
                )
        if self.bypass and (self.duplex or self.banks):
            what = "banks" if self.banks else "a duplex channel"
            raise InputError(f"{where}: bypass: not modeled with {what}; leave one of them out")
        if self.compression and self.banks:
            raise InputError(f"{where}: compression: not modeled with banks; leave one of them out")
        kinds = [each.kind for each in self.compression]
        if len(set(kinds)) < len(kinds):
            raise InputError(f"{where}: compression of a kind stands twice; give it once")
        if self.memory is not None and self.memory.spm_bytes != self.spm_bytes:
            raise InputError(
                f"{where}: SPM of {self.spm_bytes} bytes, but the figures of its "
                f"technology {self.memory.technology} are of {self.memory.spm_bytes}; "
                "name the technology again"
            )

    @property
    def features(self) -> frozenset[str]:
        """Those of its fields in :data:`FEATURES` that are not empty, and :data:`RETENTION`."""
        found = frozenset(name for name in FEATURES.values() if getattr(self, name))
        forgets = any(cycles is not None for cycles in self.retention_cycles)
        return found | {RETENTION} if forgets else found

    @property
    def retention_cycles(self) -> tuple[int | None, ...]:
        """Whole cycles that contents of each bank last; None: as long as they are needed."""
        return tuple(
            None
            if bank.retention_ns is None
            # Rounded down: contents must not be trusted for a part of a cycle.
            else floor(Fraction(bank.retention_ns) * self.clock_hz / 10**9)
            for bank in self.banks
        )

    def rate(self, element_type: str | None) -> int:
        """Return the operations a second of products of a type; None: of no known one."""
        found = self._assign_type(element_type, "operations_per_s")
        return self.operations_per_s if found is None else int(found)

    def mac_pj(self, element_type: str | None) -> float:
        """Return the energy of a multiply-accumulate of a type; None: of no known one."""
        found = self._assign_type(element_type, "mac_pj")
        return self.energy.mac_pj if found is None else found

    def moved_ratio(self, kind: str) -> Fraction:
        """Return the bytes that move per byte on chip of tensors of a kind; 1 by default."""
        return next((each.ratio for each in self.compression if each.kind == kind), _WHOLE)

    @property
    def most_moved(self) -> Fraction:
        """The largest of these ratios, 1 at least."""
        return max((each.ratio for each in self.compression if each.ratio > 1), default=_WHOLE)

    @property
    def has_own_energies(self) -> bool:
        """Whether operations state the energy of their arithmetic, which MACs alone do not give."""
        return bool(self.costs) or any(typed.mac_pj is not None for typed in self.types)

    @property
    def fastest(self) -> int:
        """Operations a second of products of the fastest type."""
        return max((self.operations_per_s, *(typed.operations_per_s or 0 for typed in self.types)))

    @property
    def special_cost(self) -> int:
        """Operations that a division, root, exponential or other elementary function costs."""
        return (self.vector or VectorUnit()).special

    @property
    def vector_operations_per_s(self) -> int:
        """Operations a second of all work but products.

        If ``vector`` does not say it: with an array one operation a column and cycle (of several
        cores, whose rate is that of as many arrays, of all columns), else ``operations_per_s``.
        """
        unit, array = self.vector or VectorUnit(), self.array
        if unit.rate is not None:
            return unit.rate
        if unit.lanes is not None:
            return unit.lanes * self.clock_hz
        if array is None:
            return self.operations_per_s
        arrays = round(Fraction(self.operations_per_s, array.operations_per_s(self.clock_hz)))
        return max(1, arrays) * array.columns * self.clock_hz

    def _assign_type(self, element_type: str | None, figure: str) -> float | None:
        """Return a figure of a type; of an unsigned integer that has none the signed one's."""
        own = {typed.element_type: getattr(typed, figure) for typed in self.types}
        found: float | None = own.get(element_type or "")
        # Engines multiply signed and unsigned integers at one rate.
        if found is None and element_type is not None and element_type.startswith("uint"):
            found = own.get(element_type[1:])
        return found

    @property
    def bytes_per_cycle(self) -> Fraction:
        """DRAM bandwidth ``beta`` in bytes per cycle, exact."""
        return _per_cycle(self.dram_bytes_per_s, self.clock_hz)

    @property
    def mac_units(self) -> int:
        """Multiply-accumulate units: of the array, or more where the rate of other work asks so.

        Each does two operations a cycle; a rate that makes no whole number of them is rounded.
        """
        units = max(1, self._rate_units)
        return units if self.array is None else max(units, self.array.rows * self.array.columns)

    @property
    def has_rate_of_array(self) -> bool:
        """Whether its rate is that of its own array, up to the rounding of a data sheet."""
        array, rate = self.array, self.operations_per_s
        if array is None:
            return False
        # As many digits as are given, at least two: 1.43 for 1.4336, 92 for 91.75.
        digits = len(str(rate).rstrip("0"))
        apart = abs(rate - array.operations_per_s(self.clock_hz))
        # Within half a unit of the last digit that is given.
        rounded = digits > 1 and 2 * apart <= 10 ** (len(str(rate)) - digits)
        return rounded or self._rate_units == array.rows * array.columns

    @property
    def _rate_units(self) -> int:
        # Two operations a MAC.
        return round(Fraction(self.operations_per_s, 2 * self.clock_hz))

    @property
    def bounds_count_pages(self) -> bool:
        """Whether bounds are worth evaluating in pages and commands, beside single bytes.

        Of many pages without set-ups, part-filled ones are a small part, and tables of them large.
        """
        return self.dma_setup_cycles > 0 or self.spm_pages <= _FEW_PAGES

    @property
    def spm_pages(self) -> int:
        """Whole pages in the scratchpad."""
        return sum(self.bank_pages)

    @property
    def bank_pages(self) -> tuple[int, ...]:
        """Whole pages of each bank, in the order of addresses; a uniform scratchpad is one bank."""
        # Rounded down per bank: no page spans two memories.
        sizes = [bank.spm_bytes for bank in self.banks] or [self.spm_bytes]
        return tuple(size // self.page_bytes for size in sizes)

    @overload
    def pages(self, size_bytes: int) -> int: ...
    @overload
    def pages(self, size_bytes: Ints) -> Ints: ...
    def pages(self, size_bytes: int | Ints) -> int | Ints:
        """Return the pages that hold so many bytes, ``ceil(size / g)``; of an array, each."""
        return -(-size_bytes // self.page_bytes)

    @property
    def leakage_w(self) -> float:
        """Leakage of everything, banks included."""
        return self.energy.leakage_w + sum(bank.leakage_w for bank in self.banks)


@lru_cache(256)
def _per_cycle(bytes_per_s: int, clock_hz: int) -> Fraction:
    return Fraction(bytes_per_s, clock_hz)
