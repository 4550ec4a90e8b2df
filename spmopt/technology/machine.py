"""A machine whose scratchpad is of some technology."""

from __future__ import annotations

from dataclasses import replace

from spmopt.core.errors import InputError
from spmopt.core.machine import Machine
from spmopt.technology.technology import Technology

_MARK = "scratchpad: "


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
