"""Sources of technologies that do not agree, so that figures of both are not to be compared."""

from __future__ import annotations

from collections.abc import Iterable

from spmopt.core.machine import Machine
from spmopt.technology.figures import Basis

_APART = ("DeepNVM++", "NVSim")
"""How the sources begin of ``deepnvm-*`` and what is made of it, and of ``nvsim-*``."""


def sources_of(machine: Machine) -> tuple[str, ...]:
    """Where the figures of the scratchpad are from, of each bank; empty without a technology."""
    banks = tuple(bank.source for bank in machine.banks)
    return banks if machine.memory is None else (machine.memory.source, *banks)


def bases_of(machine: Machine) -> tuple[tuple[str, Basis], ...]:
    """Technologies of the scratchpad, of each bank, and what their figures rest on.

    Of a bank it is what its source ends in (:func:`spmopt.technology.machine.with_banks`).
    """
    found = [(bank.technology, bank.source.rpartition("; ")[2]) for bank in machine.banks]
    if machine.memory is not None:
        found.append((machine.memory.technology, machine.memory.basis))
    known = {str(basis) for basis in Basis}
    return tuple((name, Basis(text)) for name, text in found if text in known)


def least_sure(machine: Machine) -> Basis | None:
    """What the figures of the scratchpad rest on, of several banks the least sure.

    None where no technology is known.
    """
    return max((one for _, one in bases_of(machine)), key=list(Basis).index, default=None)


def disagreement(sources: Iterable[str]) -> str | None:
    """What is to be warned of where figures are of two sources that disagree; None where not.

    At 3 MB the leakage of DeepNVM++ (table II) and of the runs of NVSim differ by a factor of
    about 100 for SRAM, STT-MRAM and SOT-MRAM alike.
    """
    known = tuple(sources)
    if not all(any(source.startswith(name) for source in known) for name in _APART):
        return None
    return (
        "technologies of two sources, DeepNVM++ (deepnvm-*, relaxed-stt) and NVSim (nvsim-*): they "
        "disagree on leakage by about two orders of magnitude; compare within one source only"
    )
