"""Float prices to integer ones, so that a bound can be recomputed without rounding."""

from __future__ import annotations

from math import floor, frexp

import numpy as np

from formulations.residency.bound.prices import Economy, Multipliers
from formulations.residency.bound.rangemin import Floats
from spmopt.core.instance import Instance
from spmopt.core.objective import Objective
from spmopt.core.result import Certificate
from spmopt.core.table import Ints

_PRECISION = 44
_MAGNITUDE = 58
"""Binary digits of the dearest path; the checker computes in 64 bits and takes one more."""


def certificate(
    instance: Instance, objective: Objective, economy: Economy, prices: Multipliers
) -> Certificate:
    """Round prices down to multiples of ``2**-bits`` (problem statement, section 5).

    ``bits`` is such that the dearest price of a byte has 44 binary digits, or fewer where
    paths of that precision would overflow 64 bits. Any legal prices prove a bound, so rounding
    costs a little strength and no validity.
    """
    passes = _passes(instance)
    dearest = max(economy.byte_time, economy.in_byte, economy.out_byte)
    # At more than this only stationary operands stay resident, which the capacity covers: a
    # full step may have any price (its dual is unbounded), and this one proves as much.
    spm = np.minimum(prices.spm, 4 * (passes + 1) * dearest)
    moves = 2 * economy.byte_time + economy.in_byte + economy.out_byte
    path = float(spm.sum() + passes.sum() * moves)
    bits = min(_PRECISION - frexp(dearest)[1], _MAGNITUDE - frexp(path)[1])
    bits = max(0, bits) if dearest > 0 else 0
    # The checker rounds the weight of a cycle down first; stay legal under that too.
    cycle = floor(objective.cycle * 2**bits)
    limit = floor(cycle / instance.machine.bytes_per_cycle)
    load = _rounded(prices.load, bits, limit)
    store = load
    if economy.duplex:
        store = np.minimum(_rounded(prices.store, bits, limit), limit - load)
    return Certificate(
        objective=objective,
        bits=bits,
        spm=_rounded(spm, bits, 2**_MAGNITUDE),
        dram_in=load,
        dram_out=store,
    )


def multipliers(certificate: Certificate, economy: Economy) -> Multipliers | None:
    """Return prices of a certificate, nearly; None where they are not for such an instance."""
    if certificate.order is not None or certificate.spm.shape != economy.compute_cycles.shape:
        return None
    columns = (certificate.spm, certificate.dram_in, certificate.dram_out)
    spm, load, store = (np.ldexp(x.astype(np.float64), -certificate.bits) for x in columns)
    return Multipliers.legal(economy, spm, load, store)


def _passes(instance: Instance) -> Ints:
    """(n,) Most passes of an operand in each step."""
    most = [
        max((operand.passes for mode in op.modes for operand in mode.operands), default=1)
        for op in instance.operations
    ]
    return np.array(most, np.int64)


def _rounded(price: Floats, bits: int, limit: int) -> Ints:
    return np.minimum(np.floor(np.ldexp(price, bits)), float(limit)).astype(np.int64)
