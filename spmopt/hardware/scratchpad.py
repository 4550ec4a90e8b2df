"""A machine whose scratchpad is of some technology, or of banks of several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from spmopt.core.errors import InputError
from spmopt.core.machine import Bank, Machine, SpmTechnology

if TYPE_CHECKING:  # most machines name no technology
    from spmopt.hardware.technology import Basis, Technology

_PAGE, _PAGES, _SMALLEST_PAGE = 4096, 128, 64
"""Bytes of a page that a machine does not say; pages that a small scratchpad has at least, since
each tensor leaves half of one free; and bytes of a page at least, a short burst of the DRAM."""


def with_technology(
    machine: Machine,
    technology: Technology,
    *,
    banks: int | None = None,
    named: str | None = None,
) -> Machine:
    """Return ``machine`` with a scratchpad of ``technology`` in its own size.

    Energy per byte of the scratchpad, and leakage, are the technology's; energy of DRAM and
    arithmetic stay the machine's. Every byte is counted as part of a whole access.

    Parameters
    ----------
    machine
        Its leakage is taken for the scratchpad's, and replaced. Values of an earlier technology are
        dropped.
    technology
        With figures for ``machine.spm_bytes``.
    banks
        Banks that work side by side, one access at a time each. The DMA channel is then no faster
        than they read or write: the channel of PROBLEM.md has one rate, so that the
        slower of the two holds for both directions, which never flatters a technology. How they
        hold back the engine is up to lowering, see :func:`spmopt.graph.cycles.access_cycles`.
        None: as many as it takes, nothing is slowed.
    named
        Name of the technology in the machine, to find it again: a path; default: its name.

    Raises
    ------
    InputError
        No figures for that capacity, fewer than one bank, or contents that do not last.
    """
    if technology.retention_ns is not None:
        raise InputError(
            f"technology {technology.name}: contents last for some time only, which is modeled of "
            "banks; give --bank SIZE:TECHNOLOGY"
        )
    scratchpad = technology.at(machine.spm_bytes)
    if banks is not None and banks < 1:
        raise InputError(f"technology {technology.name}: banks must be at least 1, is {banks}")
    old = machine.memory
    read_rate, write_rate = scratchpad.rates(banks)
    memory = SpmTechnology(
        technology=named or technology.name,
        source=technology.source,
        basis=str(scratchpad.basis),
        spm_bytes=machine.spm_bytes,
        area_mm2=scratchpad.point.area_mm2,
        # The DRAM's own rate: the channel of an earlier technology may have been slower.
        dram_bytes_per_s=machine.dram_bytes_per_s if old is None else old.dram_bytes_per_s,
        banks=banks,
        read_bytes_per_s=read_rate,
        write_bytes_per_s=write_rate,
    )
    energy = replace(
        machine.energy,
        spm_read_pj_per_byte=scratchpad.read_pj_per_byte,
        spm_write_pj_per_byte=scratchpad.write_pj_per_byte,
        leakage_w=scratchpad.leakage_w,
    )
    # One channel rate for both directions: see the parameter banks.
    rate = min((memory.dram_bytes_per_s, *(memory.rates or ())))
    return replace(machine, dram_bytes_per_s=rate, energy=energy, memory=memory, banks=())


@dataclass(frozen=True, slots=True, kw_only=True)
class BankOf:
    """A bank to be: its size, its technology, and ports side by side, one access at a time each.

    ``ports`` None: as many as it takes, so that nothing waits for the bank. ``named``: the name of
    the technology in the machine, to find it again: a path; None: its name.
    """

    spm_bytes: int
    technology: Technology
    ports: int | None = None
    named: str | None = None

    def __post_init__(self) -> None:
        if self.ports is not None and self.ports < 1:
            raise InputError(
                f"bank of {self.technology.name}: ports must be at least 1, is {self.ports}"
            )


def default_page(spm_bytes: int) -> int:
    """Return the bytes of a page of a machine that says none: a power of two."""
    return min(_PAGE, 1 << max(spm_bytes // _PAGES, _SMALLEST_PAGE).bit_length() - 1)


def with_banks(machine: Machine, banks: Sequence[BankOf]) -> Machine:
    """Return ``machine`` with a scratchpad of these banks, in the order of addresses.

    Streams pass by the first bank. Energy per byte and leakage are the technologies', each at its
    bank's size; energy of DRAM and arithmetic stay the machine's, whose leakage is taken for the
    scratchpad's, and replaced, as an earlier technology is. With ports the time that a bank reads
    and writes is part of every step (README of ``formulations/residency/banks``).

    Raises
    ------
    InputError
        No figures for the size of a bank, or one smaller than a page.
    """
    energy = replace(
        machine.energy, spm_read_pj_per_byte=0.0, spm_write_pj_per_byte=0.0, leakage_w=0.0
    )
    memory, spm_bytes = machine.memory, sum(each.spm_bytes for each in banks)
    chosen = machine.page_bytes != default_page(machine.spm_bytes)
    return replace(
        machine,
        spm_bytes=spm_bytes,
        page_bytes=machine.page_bytes if chosen else default_page(spm_bytes),
        dram_bytes_per_s=machine.dram_bytes_per_s if memory is None else memory.dram_bytes_per_s,
        energy=energy,
        memory=None,
        banks=tuple(map(_bank, banks)),
    )


def _bank(wanted: BankOf) -> Bank:
    pad = wanted.technology.at(wanted.spm_bytes)
    read_rate, write_rate = pad.rates(wanted.ports)
    return Bank(
        spm_bytes=wanted.spm_bytes,
        read_pj_per_byte=pad.read_pj_per_byte,
        write_pj_per_byte=pad.write_pj_per_byte,
        leakage_w=pad.leakage_w,
        read_bytes_per_s=read_rate,
        write_bytes_per_s=write_rate,
        technology=wanted.named or wanted.technology.name,
        source=f"{wanted.technology.source}; {pad.basis}",
        area_mm2=pad.point.area_mm2,
        retention_ns=wanted.technology.retention_ns,
    )


_APART = ("DeepNVM++", "NVSim")
"""How the sources begin of ``deepnvm-*`` and of figures derived from it, and of ``nvsim-*``."""


def sources_of(machine: Machine) -> tuple[str, ...]:
    """Where the figures of the scratchpad are from, of each bank; empty without a technology."""
    banks = tuple(bank.source for bank in machine.banks)
    return banks if machine.memory is None else (machine.memory.source, *banks)


def bases_of(machine: Machine) -> tuple[tuple[str, Basis], ...]:
    """Return the technologies of the scratchpad, of each bank, and the basis of their figures.

    Of a bank it is the end of its source (:func:`spmopt.hardware.scratchpad.with_banks`).
    """
    from spmopt.hardware.technology import Basis

    found = [(bank.technology, bank.source.rpartition("; ")[2]) for bank in machine.banks]
    if machine.memory is not None:
        found.append((machine.memory.technology, machine.memory.basis))
    known = {str(basis) for basis in Basis}
    return tuple((name, Basis(text)) for name, text in found if text in known)


def least_sure(machine: Machine) -> Basis | None:
    """Return the basis of the figures of the scratchpad, of several banks the least sure.

    None where no technology is known.
    """
    from spmopt.hardware.technology import Basis

    # Basis lists its members from the surest on.
    return max((one for _, one in bases_of(machine)), key=list(Basis).index, default=None)


def disagreement(sources: Iterable[str]) -> str | None:
    """Warnings where figures are of two sources that disagree; None where not.

    At 3 MB the leakage of DeepNVM++ (table II) and of the runs of NVSim differ by a factor of
    about 100 for SRAM, STT-MRAM and SOT-MRAM alike.
    """
    known = tuple(sources)
    if not all(any(source.startswith(name) for source in known) for name in _APART):
        return None
    return (
        "technologies of two sources, DeepNVM++ (deepnvm-*, relaxed-stt, scaled-*) and NVSim "
        "(nvsim-*): they disagree on leakage by about two orders of magnitude; compare within one "
        "source only"
    )
