"""One bank in place of several: what a scheduler that knows no banks is asked for."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from spmopt.core.machine import Machine
from spmopt.core.objective import Objective


def merged(objective: Objective, machine: Machine) -> Objective:
    """Weights of a uniform scratchpad: of each bank's weights the mean by size."""
    if not objective.bank_read_byte:
        return objective
    read = _mean(objective.bank_read_byte, machine)
    write = _mean(objective.bank_write_byte, machine)
    return replace(
        objective,
        dram_in_byte=objective.dram_in_byte + write,
        dram_out_byte=objective.dram_out_byte + read,
        spm_read_byte=objective.spm_read_byte + read,
        spm_write_byte=objective.spm_write_byte + write,
        bank_read_byte=(),
        bank_write_byte=(),
    )


def _mean(weights: tuple[Fraction, ...], machine: Machine) -> Fraction:
    sizes = [bank.spm_bytes for bank in machine.banks]
    total: Fraction = sum(
        (weight * size for weight, size in zip(weights, sizes, strict=True)), Fraction(0)
    )
    return total / sum(sizes)
