"""Prices of a byte in each bank and step, and the certificate of integers made of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.residency.banks.facts import BankCoefficients
from formulations.residency.bound.prices import (
    binary_digits,
    dma_limit,
    rounded_channels,
    rounded_down,
)
from formulations.solver.program import Floats
from spmopt.core.instance import Instance
from spmopt.core.objective import Objective
from spmopt.core.result import BankPrices, Certificate

_MAGNITUDE = 57
"""Binary digits of the dearest path; the checker computes in 64 bits and takes two more."""


@dataclass(frozen=True, kw_only=True, eq=False)
class BankMultipliers:
    """Lagrange multipliers: ``hold`` and ``port`` (b, n), ``load`` and ``store`` (n,).

    Legal when not negative, and ``load`` (duplex: + ``store``) + all ports is at most the price of
    a byte of time. On one channel ``load`` and ``store`` are equal.
    """

    hold: Floats
    load: Floats
    store: Floats
    port: Floats

    def within(self, begin: int, end: int) -> BankMultipliers:
        """Return those of the steps [begin, end)."""
        return BankMultipliers(
            hold=self.hold[:, begin:end],
            load=self.load[begin:end],
            store=self.store[begin:end],
            port=self.port[:, begin:end],
        )

    def changed(self, begin: int, other: BankMultipliers) -> BankMultipliers:
        """Return them with others from the step ``begin`` on, as many as these are of."""
        found = [own.copy() for own in (self.hold, self.load, self.store, self.port)]
        steps = slice(begin, begin + other.load.size)
        for own, new in zip(found, (other.hold, other.load, other.store, other.port), strict=True):
            own[..., steps] = new
        return BankMultipliers(hold=found[0], load=found[1], store=found[2], port=found[3])

    @staticmethod
    def legal(
        facts: BankCoefficients, *, hold: Floats, load: Floats, store: Floats, port: Floats
    ) -> BankMultipliers:
        """Make them legal: negative ones become 0, too dear time is scaled down."""
        # A byte held spares crossing the channel and, in a slow bank, all that touches it there.
        moved = facts.byte_price + facts.touch_price
        dearest = 4 * (float(facts.line.passes.max(initial=1)) + 1) * moved
        hold = np.clip(hold, 0.0, dearest + 4 * facts.byte_price)
        load, store, port = (np.maximum(price, 0.0) for price in (load, store, port))
        total = load + port.sum(axis=0) + (store if facts.duplex else 0.0)
        over = np.maximum(total / facts.byte_time, 1.0) if facts.byte_time > 0 else np.inf
        return BankMultipliers(
            hold=hold,
            load=load / over,
            store=(store if facts.duplex else load) / over,
            port=port / over,
        )


def certificate(
    instance: Instance, objective: Objective, facts: BankCoefficients, prices: BankMultipliers
) -> Certificate:
    """Round prices down to multiples of ``2**-bits``; any legal prices prove a bound."""
    bits = _bits(facts, prices)
    limit = dma_limit(instance, objective, bits)
    load, store = rounded_channels(prices.load, prices.store, bits, limit, duplex=facts.duplex)
    left = limit - load - (store if facts.duplex else 0)
    banks = []
    for hold, port in zip(prices.hold, prices.port, strict=True):
        whole = np.minimum(rounded_down(port, bits, limit), left)
        left = left - whole
        banks.append(BankPrices(spm=rounded_down(hold, bits, 2**_MAGNITUDE), port=whole))
    return Certificate(
        objective=objective,
        bits=bits,
        spm=np.zeros(facts.line.steps, np.int64),
        dram_in=load,
        dram_out=store,
        banks=tuple(banks),
    )


def _bits(facts: BankCoefficients, prices: BankMultipliers) -> int:
    """Count as many as keep the dearest path within 64 bits."""
    passes = np.ones(facts.line.steps)
    np.maximum.at(passes, facts.line.step, facts.line.passes)
    touch = float((facts.read_byte + facts.write_byte).max())
    touch += facts.byte_time * float((facts.read_ratio + facts.write_ratio).max())
    moves = 2 * facts.byte_time + facts.in_byte + facts.out_byte + 2 * touch
    shares = float(np.maximum(facts.own_read, facts.own_write).max(initial=0.0))
    path = float(prices.hold.max(axis=0).sum() + ((passes + 1) * moves + 2 * shares * touch).sum())
    return binary_digits(facts.byte_price, path, _MAGNITUDE)
