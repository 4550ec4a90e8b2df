"""Float prices to integer ones, so that a bound can be recomputed without rounding."""

from __future__ import annotations

from math import floor, frexp

import numpy as np

from formulations.residency.prices import Economy, Multipliers
from formulations.residency.rangemin import Floats
from spmopt.core.instance import Instance
from spmopt.core.objective import Objective
from spmopt.core.result import Certificate
from spmopt.core.table import Ints

_PRECISION = 44


def certificate(
    instance: Instance, objective: Objective, economy: Economy, prices: Multipliers
) -> Certificate:
    """Round prices down to multiples of ``2**-bits`` (problem statement, section 5).

    ``bits`` is such that the dearest price of a byte has 44 binary digits. Any legal prices
    prove a bound, so rounding costs a little strength and no validity.
    """
    dearest = max(economy.byte_time, economy.in_byte, economy.out_byte)
    bits = max(0, _PRECISION - frexp(dearest)[1]) if dearest > 0 else 0
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
        spm=_rounded(prices.spm, bits, 2**62),
        dram_in=load,
        dram_out=store,
    )


def _rounded(price: Floats, bits: int, limit: int) -> Ints:
    return np.minimum(np.floor(np.ldexp(price, bits)), float(limit)).astype(np.int64)
