"""What more scratchpad and more bandwidth are worth, by the prices that prove the bound.

A certificate's prices hold for other machines, too (formulations/PROBLEM.md, section 5). Let
``pi_i`` be the price of a byte of scratchpad in step i, ``theta_i`` that of a cycle of the channel,
at most ``w``, the weight of a cycle.

* *Scratchpad.* The prices prove for every capacity ``C'`` (in whole pages)::

      LB(C') = LB(C) - (C' - C) sum_i pi_i

  So no schedule with more bytes is faster than this line, and every one with fewer is slower by
  as much at least. The best bound is convex in ``C``: the line is below it everywhere and touches
  it at ``C``, as far as the prices are the best ones, and its slope lies between those of the best
  bound to the left and to the right. (Where these differ, it may be any of them: a step that
  stationary operands fill by themselves may have any price.)
* *Bandwidth.* Where time alone is minimized, all prices times ``beta / beta'`` prove for every
  bandwidth ``beta'``::

      LB(beta') = A + (beta / beta') (LB(beta) - A),    A = sum_i (w - theta_i) c_i

  because rents, transfers and capacity all scale alike; so the bound falls by ``(LB - A) / beta``
  per byte per second at first; not at all where banks of the scratchpad hold the channel back
  (:func:`spmopt.hardware.scratchpad.with_technology`). Where bytes have a price of their own, the
  bound is evaluated at 1/128 more bandwidth with the prices of the channel scaled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm
from typing import Self

import numpy as np

from spmopt.analysis.steps import Reals
from spmopt.assemble.cost import unavoidable
from spmopt.core.instance import Instance
from spmopt.core.machine import Machine
from spmopt.core.order import reordered, same_order
from spmopt.core.result import Certificate, Result
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import relaxed_timeline
from spmopt.verifier import bound

_FRACTION = 128
_REST = 1e-3
_NOISE = 1e-6
"""Of a cycle, or of the price of a byte moved: a page that costs less costs nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Steps [begin, end) that price the scratchpad, and the sum of these prices."""

    begin: int
    end: int
    per_byte: Fraction


@dataclass(frozen=True, kw_only=True, eq=False)
class ShadowPrices:
    """Slopes of the certified bound, in units of the objective.

    Attributes
    ----------
    bound
        What the prices prove, recomputed.
    per_spm_byte
        How much the bound falls for each byte of scratchpad more.
    per_byte_per_s
        How much it falls for each byte per second of the DRAM more: 0 where banks of the
        scratchpad hold the channel back.
    spm_price : (n,)
        The part of ``per_spm_byte`` of every step.
    channel_price : (n,)
        What a cycle of the channel costs in each step, 0 to 1: in parts of a cycle of the
        schedule.
    page_bytes
        Of the machine.
    """

    bound: Fraction
    per_spm_byte: Fraction
    per_byte_per_s: Fraction
    spm_price: Reals
    channel_price: Reals
    certificate: Certificate
    page_bytes: int

    @classmethod
    def of(
        cls, instance: Instance, certificate: Certificate, proved: Fraction | None = None
    ) -> Self:
        """Evaluate the prices; ``proved`` is their bound if :mod:`spmopt.audit` has found it.

        Raises
        ------
        InputError
            Prices that prove nothing about ``instance``.
        """
        proved = bound(instance, certificate) if proved is None else proved
        unit = 2**certificate.bits
        weight, beta = certificate.objective.cycle, instance.machine.bytes_per_cycle
        channel, held = _channel(instance, certificate), _held(certificate)
        share = float(beta / (weight * unit)) if weight else 0.0
        return cls(
            bound=proved,
            per_spm_byte=Fraction(sum(held.tolist()), unit),
            per_byte_per_s=_bandwidth(instance, certificate, proved),
            spm_price=np.ldexp(held.astype(np.float64), -certificate.bits),
            channel_price=channel.astype(np.float64) * share,
            certificate=certificate,
            page_bytes=instance.machine.page_bytes,
        )

    @classmethod
    def of_result(
        cls, instance: Instance, result: Result, proved: Fraction | None = None
    ) -> Self | None:
        """Evaluate the prices of a result; None without a certificate for its order."""
        certificate = result.certificate
        if certificate is None or not same_order(certificate.order, result.order):
            return None
        return cls.of(instance, certificate, proved)

    @property
    def counted(self) -> Bools:
        """(n,) Where the scratchpad has a price that is more than what a solver leaves.

        Not the lowest, that together are less than 1/1000 of all; nor where all are nothing.
        """
        price, objective = self.spm_price, self.certificate.objective
        unit = float(objective.cycle or max(objective.dram_in_byte, objective.dram_out_byte))
        order = np.argsort(price, kind="stable")
        # Equal prices count together or not at all.
        last = np.searchsorted(price[order], price, side="right") - 1
        upto = np.cumsum(price[order])[last]
        enough = upto > _REST * price.sum()
        counted: Bools = enough & (price * self.page_bytes > _NOISE * unit)
        return counted

    def stretches(self) -> list[Stretch]:
        """Find where the scratchpad has a price that counts, dearest first."""
        counted = self.counted
        price = np.where(counted, _held(self.certificate), 0)
        priced = np.concatenate(([0], counted, [0])).astype(np.int64)
        begins, ends = np.flatnonzero(np.diff(priced) > 0), np.flatnonzero(np.diff(priced) < 0)
        upto = [0]
        for value in price.tolist():  # sums of prices may be too large for 64 bits
            upto.append(upto[-1] + value)
        found = [
            Stretch(
                begin=begin,
                end=end,
                per_byte=Fraction(upto[end] - upto[begin], 2**self.certificate.bits),
            )
            for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)
        ]
        return sorted(found, key=lambda stretch: -stretch.per_byte)


def held_by_banks(machine: Machine) -> bool:
    """Whether the channel is as fast as the banks of the scratchpad allow: no DRAM quickens it."""
    rates = None if machine.memory is None else machine.memory.rates
    return rates is not None and min(rates) <= machine.dram_bytes_per_s


def _held(certificate: Certificate) -> Ints:
    """Return (n,) prices of a byte held in each step; of the replay, at both of its instants."""
    at_start = certificate.spm_at_start
    return certificate.spm if at_start is None else certificate.spm + at_start


def _channel(instance: Instance, certificate: Certificate) -> Ints:
    """Return (n,) prices of a byte's time in each step, both directions of a duplex machine."""
    if instance.machine.duplex:
        return certificate.dram_in + certificate.dram_out
    return certificate.dram_in


def _bandwidth(instance: Instance, certificate: Certificate, proved: Fraction) -> Fraction:
    """Return how much the bound falls for each byte per second more."""
    objective, rate = certificate.objective, instance.machine.dram_bytes_per_s
    if not objective.cycle or held_by_banks(instance.machine):
        return Fraction(0)
    # Where streams of tensors that bypass the scratchpad hide computing, no straight line tells.
    if objective.dram_in_byte or objective.dram_out_byte or instance.bypassing:
        more = -(-rate // _FRACTION)
        faster = replace(instance.machine, dram_bytes_per_s=rate + more)
        scaled = {
            name: getattr(certificate, name).astype(object) * rate // (rate + more)
            for name in ("dram_in", "dram_out")
        }
        scaled = {name: np.asarray(column, np.int64) for name, column in scaled.items()}
        least = bound(replace(instance, machine=faster), replace(certificate, **scaled))
        return (proved - least) / more
    return (proved - _computing(instance, certificate)) / rate


def _computing(instance: Instance, certificate: Certificate) -> Fraction:
    """Sum up what of the bound no bandwidth lowers: ``sum_i (w - theta_i) c_i``, and constants."""
    objective, beta = certificate.objective, instance.machine.bytes_per_cycle
    if certificate.order is not None:
        instance = reordered(instance, certificate.order)
    line = relaxed_timeline(instance)
    weight = objective.cycle * 2**certificate.bits
    common = lcm(weight.denominator, beta.denominator)
    whole_weight, whole_beta = int(weight * common), int(beta * common)
    total = sum(
        (whole_weight - whole_beta * price) * cycles
        for price, cycles in zip(
            _channel(instance, certificate).tolist(), line.compute_cycles.tolist(), strict=True
        )
    )
    return Fraction(total, common * 2**certificate.bits) + unavoidable(objective, line)
