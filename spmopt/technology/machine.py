"""A machine whose scratchpad is of some technology, or of banks of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from spmopt.core.bank import Bank
from spmopt.core.errors import InputError
from spmopt.core.machine import Machine
from spmopt.technology.technology import Technology

_MARK = "scratchpad: "


@dataclass(frozen=True, slots=True, kw_only=True)
class BankOf:
    """A bank to be: its size, its technology, and ports side by side, one access at a time each.

    ``ports`` None: as many as it takes, so that nothing waits for the bank.
    """

    spm_bytes: int
    technology: Technology
    ports: int | None = None

    def __post_init__(self) -> None:
        if self.ports is not None and self.ports < 1:
            raise InputError(
                f"bank of {self.technology.name}: ports must be at least 1, is {self.ports}"
            )


def with_banks(machine: Machine, banks: Sequence[BankOf]) -> Machine:
    """``machine`` with a scratchpad of these banks, in the order of addresses.

    Streams pass by the first bank. Energy per byte and leakage are the technologies', each at its
    bank's size; energy of DRAM and arithmetic stay the machine's, whose leakage is taken for the
    scratchpad's, and replaced. With ports the time that a bank reads and writes is part of every
    step (README of ``formulations/residency/banks``).

    Raises
    ------
    InputError
        No figures for the size of a bank, or one smaller than a page.
    """
    energy = replace(
        machine.energy, spm_read_pj_per_byte=0.0, spm_write_pj_per_byte=0.0, leakage_w=0.0
    )
    rest = machine.source.partition(_MARK)[0].removesuffix("; ")
    own = _MARK + " + ".join(
        f"{each.spm_bytes} B {each.technology.name} ({each.technology.source}, "
        f"{each.technology.at(each.spm_bytes).basis})"
        for each in banks
    )
    return replace(
        machine,
        spm_bytes=sum(each.spm_bytes for each in banks),
        energy=energy,
        source=f"{rest}; {own}" if rest else own,
        banks=tuple(map(_bank, banks)),
    )


def _bank(wanted: BankOf) -> Bank:
    pad = wanted.technology.at(wanted.spm_bytes)
    rates: list[int | None] = [None, None]
    if wanted.ports is not None:
        alone = (pad.read_bytes_per_s, pad.write_bytes_per_s)
        rates = [max(1, int(wanted.ports * rate)) for rate in alone]
    return Bank(
        spm_bytes=wanted.spm_bytes,
        read_pj_per_byte=pad.read_pj_per_byte,
        write_pj_per_byte=pad.write_pj_per_byte,
        leakage_w=pad.leakage_w,
        read_bytes_per_s=rates[0],
        write_bytes_per_s=rates[1],
        technology=wanted.technology.name,
    )


def with_technology(
    machine: Machine, technology: Technology, *, banks: int | None = None
) -> Machine:
    """``machine`` with a scratchpad of ``technology`` in its own size.

    Energy per byte and leakage are the technology's; energy of DRAM and arithmetic stay the
    machine's. Every byte is counted as part of a whole access.

    Parameters
    ----------
    machine
        Its leakage is taken for the scratchpad's, and replaced. Its bandwidth is taken for the
        DRAM's: for other ``banks`` start from the same machine again.
    technology
        With figures for ``machine.spm_bytes``.
    banks
        Banks that work side by side, one access at a time each: the DMA channel is then no
        faster than they read or write. The channel of the problem statement has one rate, so that
        the slower of the two holds for both directions, which never flatters a technology; what
        the engine itself reads and writes is not slowed. None: as many as it takes, the channel
        stays as fast as the DRAM.

    Raises
    ------
    InputError
        No figures for that capacity, or fewer than one bank.
    """
    scratchpad = technology.at(machine.spm_bytes)
    if banks is not None and banks < 1:
        raise InputError(f"technology {technology.name}: banks must be at least 1, is {banks}")
    rate = machine.dram_bytes_per_s
    if banks is not None:
        slower = min(scratchpad.read_bytes_per_s, scratchpad.write_bytes_per_s)
        rate = min(rate, max(1, int(banks * slower)))
    energy = replace(
        machine.energy,
        spm_read_pj_per_byte=scratchpad.read_pj_per_byte,
        spm_write_pj_per_byte=scratchpad.write_pj_per_byte,
        leakage_w=scratchpad.leakage_w,
    )
    # What an earlier technology left there is no longer true.
    rest = machine.source.partition(_MARK)[0].removesuffix("; ")
    own = f"{_MARK}{technology.name} ({technology.source}, {scratchpad.basis})"
    source = f"{rest}; {own}" if rest else own
    return replace(machine, dram_bytes_per_s=rate, energy=energy, source=source)
