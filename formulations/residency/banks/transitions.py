"""Cost of a step for a byte at given dual values, from each state to each: min-plus matrices.

States are those of :mod:`formulations.residency.banks.facts`. A byte that is given up after its use
goes from R to N at no cost; in the next step it is in N.
"""

from __future__ import annotations

import numpy as np

from formulations.residency.banks.duals import BankMultipliers
from formulations.residency.banks.facts import BankCoefficients
from formulations.solver.program import Floats
from spmopt.core.shares import STREAM_BANK
from spmopt.core.timeline import Access


class Transitions:
    """Costs of one byte.

    Attributes
    ----------
    waiting : (n, s, s)
        In a step that does not touch its tensor.
    access : (a, s, s)
        In the step of an access; of one that overwrites the tensor, rows are alike.
    """

    def __init__(self, facts: BankCoefficients, duals: BankMultipliers) -> None:
        """Compute the costs of all steps and accesses."""
        line = facts.line
        read = facts.read_byte[:, None] + duals.port * facts.read_ratio[:, None]
        write = facts.write_byte[:, None] + duals.port * facts.write_ratio[:, None]
        load, store = duals.load + facts.in_byte, duals.store + facts.out_byte
        waiting = _staying(duals.hold.T, _moves(read, write), load[:, None] + write.T)
        clean, dirty = _blocks(facts.bank_count)
        waiting[:, dirty, clean] = waiting[:, dirty, dirty] + (store[:, None] + read.T)[:, None, :]
        waiting[:, 0, 0] = 0.0
        # A clean byte leaves at no cost (R5).
        waiting[:, 1 : facts.bank_count + 1, 0] = 0.0
        # Per access: dual values of its step.
        at, kind = line.step, line.kind
        reads, writes = kind != Access.WRITE, kind != Access.READ
        # What the operation waits for takes channel, ports and computation: a byte's whole time.
        firm = facts.byte_time
        step_load = np.where(line.required_resident & reads, firm + facts.in_byte, load[at])
        step_store = np.where(line.required_resident & writes, firm + facts.out_byte, store[at])
        own = read.T[at] * facts.own_read[:, None] + write.T[at] * facts.own_write[:, None]
        held = duals.hold.T[at] + own
        access = _staying(held, _moves(read, write)[at], step_load[:, None] + write.T[at])
        leaving = (step_store[:, None] + read.T[at])[:, None, :]
        entering = access[:, :1, clean]
        access[:, dirty, clean] = access[:, dirty, dirty] + leaving
        updates = kind == Access.UPDATE
        access[updates, :1, dirty] = entering[updates]
        access[updates, clean, dirty] = access[updates, clean, clean]
        # An update leaves its bytes dirty; clean after it means stored in the step.
        access[updates, :, clean] = access[updates, :, dirty] + leaving[updates]
        overwrites = kind == Access.WRITE
        # A blind write follows any state alike.
        access[overwrites, :, dirty] = held[overwrites][:, None, :]
        access[overwrites, :, clean] = (held[:, None, :] + leaving)[overwrites]
        streamed = (
            facts.stream_in * (load[at] + write[STREAM_BANK][at])
            + facts.stream_out * (store[at] + read[STREAM_BANK][at])
            + own[:, STREAM_BANK]
        )
        streamed = np.where(line.required_resident, np.inf, streamed)
        access[:, : facts.bank_count + 1, 0] = streamed[:, None]
        access[overwrites, :, 0] = streamed[overwrites][:, None]
        self.waiting, self.access = waiting, access


def _blocks(banks: int) -> tuple[slice, slice]:
    """Return the states R and D of all banks."""
    return slice(1, banks + 1), slice(banks + 1, 2 * banks + 1)


def _moves(read: Floats, write: Floats) -> Floats:
    """Return (n, b, b) the cost of reading one bank and writing another; 0 where it remains."""
    moved: Floats = read.T[:, :, None] + write.T[:, None, :]
    banks = np.arange(read.shape[0])
    moved[:, banks, banks] = 0.0
    return moved


def _staying(held: Floats, moves: Floats, entering: Floats) -> Floats:
    """Dual value N to R, R to R, D to D; ``held`` and ``entering`` (k, b), ``moves`` (k, b, b)."""
    count, banks = held.shape
    clean, dirty = _blocks(banks)
    cost = np.full((count, 2 * banks + 1, 2 * banks + 1), np.inf)
    cost[:, 0, clean] = entering + held
    cost[:, clean, clean] = moves + held[:, None, :]
    cost[:, dirty, dirty] = moves + held[:, None, :]
    return cost
