"""Dual values of a byte in each bank and step, and the certificate of integers made of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.residency.banks.facts import BankCoefficients
from formulations.residency.bound.duals import (
    MAGNITUDE,
    binary_digits,
    dma_limit,
    round_channels,
    round_down,
)
from formulations.solver.program import Floats
from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.result import BankDuals, Certificate

_MAGNITUDE = MAGNITUDE - 1
"""Binary digits of the dearest path; the checker takes one more than without banks."""


@dataclass(frozen=True, kw_only=True, eq=False)
class BankMultipliers:
    """Lagrange multipliers: ``hold`` and ``port`` (b, n), ``load`` and ``store`` (n,).

    Legal when not negative, and ``load`` (duplex: + ``store``) + all ports is at most the dual
    value of a byte of time. On one channel ``load`` and ``store`` are equal.
    """

    hold: Floats
    load: Floats
    store: Floats
    port: Floats

    @staticmethod
    def legal(
        facts: BankCoefficients, *, hold: Floats, load: Floats, store: Floats, port: Floats
    ) -> BankMultipliers:
        """Make them legal: negative ones become 0, too dear time is scaled down."""
        # A byte held spares crossing the channel and, in a slow bank, all that touches it there.
        moved = facts.byte_dual + facts.touch_dual
        dearest = 4 * (float(facts.line.fetches.max(initial=1)) + 1) * moved
        hold = np.clip(hold, 0.0, dearest + 4 * facts.byte_dual)
        load, store, port = (np.maximum(dual, 0.0) for dual in (load, store, port))
        total = load + port.sum(axis=0) + (store if facts.duplex else 0.0)
        over = np.maximum(total / facts.byte_time, 1.0) if facts.byte_time > 0 else np.inf
        return BankMultipliers(
            hold=hold,
            load=load / over,
            store=(store if facts.duplex else load) / over,
            port=port / over,
        )


def certificate(
    problem: Problem, objective: Objective, facts: BankCoefficients, duals: BankMultipliers
) -> Certificate:
    """Round dual values down to multiples of ``2**-bits``; any legal dual values prove a bound."""
    bits = _bits(facts, duals)
    limit = dma_limit(problem, objective, bits)
    load, store = round_channels(duals.load, duals.store, bits, limit, duplex=facts.duplex)
    left = limit - load - (store if facts.duplex else 0)
    banks = []
    for hold, port in zip(duals.hold, duals.port, strict=True):
        whole = np.minimum(round_down(port, bits, limit), left)
        left = left - whole
        banks.append(BankDuals(spm=round_down(hold, bits, 2**_MAGNITUDE), port=whole))
    return Certificate(
        objective=objective,
        bits=bits,
        spm=np.zeros(facts.line.steps, np.int64),
        dram_in=load,
        dram_out=store,
        banks=tuple(banks),
    )


def _bits(facts: BankCoefficients, duals: BankMultipliers) -> int:
    """Count as many as keep the dearest path within 64 bits."""
    fetches = np.ones(facts.line.steps)
    np.maximum.at(fetches, facts.line.step, facts.line.fetches)
    touch = float((facts.read_byte + facts.write_byte).max())
    touch += facts.byte_time * float((facts.read_ratio + facts.write_ratio).max())
    moves = 2 * facts.byte_time + facts.in_byte + facts.out_byte + 2 * touch
    shares = float(np.maximum(facts.own_read, facts.own_write).max(initial=0.0))
    path = float(duals.hold.max(axis=0).sum() + ((fetches + 1) * moves + 2 * shares * touch).sum())
    return binary_digits(facts.byte_dual, path, _MAGNITUDE)
