"""Prices of a certificate per byte of the channel, which are those of every bandwidth."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import frexp

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.instance import Instance
from spmopt.core.machine import Machine
from spmopt.core.objective import MAKESPAN, TRAFFIC
from spmopt.core.result import Certificate
from spmopt.core.table import Ints

BITS = 40
"""Prices are multiples of ``2**-BITS``, of coarser units where their paths would overflow."""
_MAGNITUDE = 58
"""Binary digits of the dearest path: what the verifier takes, less one for rounding."""


def unit_channel(instance: Instance) -> Instance:
    """``instance`` on a channel of one byte a cycle, where prices per byte are per cycle too."""
    machine = instance.machine
    rate = replace(machine, dram_bytes_per_s=machine.clock_hz, dma_setup_cycles=0)
    return replace(instance, machine=rate)


def per_channel_byte(instance: Instance, certificate: Certificate) -> Certificate:
    """The prices of ``certificate`` as a certificate of :func:`unit_channel`, rounded down.

    A cycle moves ``beta`` bytes, so that the price of a byte of DMA time becomes
    ``nu_q = beta mu_q``, that of a byte of SPM ``h_q = beta pi_q``. Prices of traffic are taken
    for those of a machine that only waits for its channel, ``nu_q = 1``.

    Raises
    ------
    InputError
        Prices of another objective than time or traffic, of another order than the listed one,
        or of the traffic of a duplex machine.
    """
    objective, machine = certificate.objective, instance.machine
    if certificate.order is not None:
        raise InputError("cut: needs prices of the listed order; reorder the instance first")
    if objective not in (MAKESPAN, TRAFFIC):
        raise InputError(f"cut: prices of {objective.name} are for one machine; take those of time")
    if objective == TRAFFIC and machine.duplex:
        raise InputError("cut: on two channels traffic bounds no time; take prices of time")
    columns = (certificate.spm, certificate.dram_in, certificate.dram_out)
    scale = Fraction(1, 2**certificate.bits)
    if objective == TRAFFIC:
        every = np.full_like(certificate.spm, 2**certificate.bits)
        columns = (certificate.spm, every, every)
    else:
        scale *= machine.bytes_per_cycle
    bits = _bits(instance, float(scale) * float(certificate.spm.sum(dtype=np.float64)))
    spm, inward, outward = (_scaled(column, scale * 2**bits) for column in columns)
    return Certificate(objective=MAKESPAN, bits=bits, spm=spm, dram_in=inward, dram_out=outward)


def on_machine(prices: Certificate, machine: Machine) -> Certificate:
    """Prices per byte of the channel as a certificate for ``machine``, rounded down.

    It proves there what the cut proves, but for the rounding, and a search may start from it.
    """
    beta = machine.bytes_per_cycle
    bits = max(0, prices.bits + frexp(float(beta))[1] - 1)
    scale = Fraction(2**bits, 2**prices.bits) / beta
    spm, inward, outward = (
        _scaled(column, scale) for column in (prices.spm, prices.dram_in, prices.dram_out)
    )
    return replace(prices, bits=bits, spm=spm, dram_in=inward, dram_out=outward)


def free_prices(instance: Instance) -> tuple[Certificate, ...]:
    """Prices that need no solve: SPM costs nothing, a step is all computing or all channel.

    The cuts are the computing, and the compulsory traffic over the bandwidth (on a duplex machine
    that of each direction).
    """
    nothing = np.zeros(len(instance.operations), np.int64)
    bits = _bits(instance, 0.0)
    every = np.full_like(nothing, 2**bits)
    channels = [(every, every)]
    if instance.machine.duplex:
        channels = [(every, nothing), (nothing, every)]
    return tuple(
        Certificate(objective=MAKESPAN, bits=bits, spm=nothing, dram_in=inward, dram_out=outward)
        for inward, outward in ((nothing, nothing), *channels)
    )


def _bits(instance: Instance, held: float) -> int:
    """Most bits at which the dearest path, ``held`` and every move at its full price, fits."""
    moves = sum(
        2 * max((operand.passes for mode in op.modes for operand in mode.operands), default=1)
        for op in instance.operations
    )
    return max(0, min(BITS, _MAGNITUDE - frexp(held + moves)[1]))


def _scaled(prices: Ints, scale: Fraction) -> Ints:
    numerator, denominator = scale.as_integer_ratio()
    return np.array([price * numerator // denominator for price in prices.tolist()], np.int64)
