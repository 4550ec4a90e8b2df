"""Worth of more scratchpad and more bandwidth, by the shadow prices that prove the bound.

A certificate's shadow prices hold for other machines, too (formulations/PROBLEM.md, section 5). Let
``pi_i`` be the shadow price of a byte of scratchpad in step i, ``theta_i`` that of a cycle of the
channel, at most ``w``, the weight of a cycle.

* *Scratchpad.* The shadow prices prove for every capacity ``C'`` (in whole pages)::

      LB(C') = LB(C) - (C' - C) sum_i pi_i

  So no schedule with more bytes is faster than this line, and every one with fewer is slower by
  as much at least. The best bound is convex in ``C``: the line is below it everywhere and touches
  it at ``C``, as far as the shadow prices are the best ones, and its slope lies between those of
  the best bound to the left and to the right. (Where these differ, it may be any of them: a step
  that required-resident operands fill by themselves may have any shadow price.)
  Where operations have several mappings, of which some do not fit or the room beside their
  scratch has a shadow price, the bound is the least of several lines: it is evaluated at one page
  more, and proves nothing of any other capacity.
* *Bandwidth.* Where time alone is minimized, all shadow prices times ``beta / beta'`` prove for
  every bandwidth ``beta'`` (with several mappings for every larger one: the least of lines in
  ``1 / beta'`` is concave)::

      LB(beta') = A + (beta / beta') (LB(beta) - A),    A = sum_i (w - theta_i) c_i

  because rents, transfers and capacity all scale alike; so the bound falls by ``(LB - A) / beta``
  per byte per second at first; not at all where banks of the scratchpad hold the channel back
  (:func:`spmopt.hardware.scratchpad.with_technology`). Where bytes have a shadow price of their
  own, be it in a bank, or banks have ports or commands a set-up, or computing waits for tiles of
  one buffer, the bound is evaluated at a little more bandwidth (:func:`little_bandwidth`) with the
  shadow prices of time scaled: it proves so much of that bandwidth, and nothing of less or more.
* *Banks.* Of a scratchpad of several memories, ``pi_i`` is the shadow price of a byte held anywhere
  and ``pi_bi`` the surcharge in bank ``b`` (:mod:`spmopt.verifier.bank_bound`), so that ``d`` bytes
  more there prove ``LB - d sum_i (pi_i + pi_bi)``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm
from typing import Self

import numpy as np

from spmopt.analysis.steps import Reals
from spmopt.assemble.cost import unavoidable
from spmopt.core.machine import Machine
from spmopt.core.mappings import fits_alone, on_channel
from spmopt.core.objective import Objective
from spmopt.core.order import reorder, same_order
from spmopt.core.problem import Problem
from spmopt.core.result import BankDuals, Certificate, Result
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import relax_timeline
from spmopt.core.units import LARGEST
from spmopt.verifier import bound

_FRACTION = 100
_GB = 10**9
_REST = 1e-3
# Of a cycle, or of the shadow price of a byte moved: a page that costs less costs nothing.
_NOISE = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False)
class SpaceDuals:
    """Dual values of a byte held in one memory, in units of the objective.

    Attributes
    ----------
    per_byte
        How much the bound falls for each byte more; of one page alone, where it is no line.
    dual : (n,)
        The part of every step; with rooms, the most that it can be.
    least
        Least shadow price that counts.
    """

    per_byte: Fraction
    dual: Reals
    least: float

    @classmethod
    def of(cls, exact: Ints, certificate: Certificate, page_bytes: int) -> Self:
        """Sum up the shadow prices ``exact`` (n,) of a certificate's steps."""
        objective, bits = certificate.objective, certificate.bits
        unit = float(objective.cycle or max(objective.dram_in_byte, objective.dram_out_byte))
        return cls(
            # Python's integers: sums of scaled duals may exceed 64 bits.
            per_byte=Fraction(sum(exact.tolist()), 2**bits),
            dual=np.ldexp(exact.astype(np.float64), -bits),
            least=_NOISE * unit / page_bytes,
        )

    @property
    def significant(self) -> Bools:
        """(n,) Where the scratchpad has a shadow price above the tolerance of solvers.

        Not the lowest, that together are less than 1/1000 of all; nor where all are nothing.
        """
        dual = self.dual
        order = np.argsort(dual, kind="stable")
        # Equal shadow prices count together or not at all.
        last = np.searchsorted(dual[order], dual, side="right") - 1
        upto = np.cumsum(dual[order])[last]
        counted: Bools = (upto > _REST * dual.sum()) & (dual > self.least)
        return counted


@dataclass(frozen=True, kw_only=True, eq=False)
class ShadowPrices:
    """Slopes of the certified bound, in units of the objective.

    Attributes
    ----------
    bound
        Bound at the shadow prices, recomputed.
    spm
        Dual values of a byte held anywhere on chip.
    per_byte_per_s
        How much it falls for each byte per second of the DRAM more, if that is
        :func:`little_bandwidth`: 0 where banks of the scratchpad hold the channel back.
    channel_dual : (n,)
        Cost of a cycle of the channel in each step, 0 to 1: in parts of a cycle of the schedule.
    banks
        Dual values of a byte held in each bank, of a scratchpad with banks.
    is_line
        Whether the shadow price of the scratchpad holds for any bytes more or less: else it was
        evaluated at one page more, and proves nothing of other capacities.
    """

    bound: Fraction
    spm: SpaceDuals
    per_byte_per_s: Fraction
    channel_dual: Reals
    certificate: Certificate
    banks: tuple[SpaceDuals, ...] = ()
    is_line: bool = True

    @classmethod
    def of(cls, problem: Problem, certificate: Certificate, proved: Fraction | None = None) -> Self:
        """Evaluate the shadow prices.

        ``proved`` is their bound if :mod:`spmopt.audit` has found it.

        Raises
        ------
        InputError
            Dual values that prove nothing about ``problem``.
        """
        proved = bound(problem, certificate) if proved is None else proved
        page_bytes, channel = problem.machine.page_bytes, _channel(problem, certificate)
        spm = SpaceDuals.of(_hold(problem, certificate), certificate, page_bytes)
        is_line = _is_line(problem, certificate)
        if not is_line:
            spm = replace(spm, per_byte=_of_a_page(problem, certificate, proved) / page_bytes)
        return cls(
            bound=proved,
            spm=spm,
            is_line=is_line,
            per_byte_per_s=_bandwidth(problem, certificate, proved),
            channel_dual=channel.astype(np.float64) * _of_a_cycle(problem, certificate),
            certificate=certificate,
            banks=_banks(problem, certificate),
        )

    @classmethod
    def of_result(
        cls, problem: Problem, result: Result, proved: Fraction | None = None
    ) -> Self | None:
        """Evaluate the shadow prices of a result; None without a certificate for its order."""
        certificate = result.certificate
        if certificate is None or not same_order(certificate.order, result.order):
            return None
        return cls.of(problem, certificate, proved)


def bytes_held_by_banks(machine: Machine) -> bool:
    """Whether the channel is as fast as the banks of the scratchpad allow: no DRAM quickens it."""
    rates = None if machine.memory is None else machine.memory.rates
    return rates is not None and min(rates) <= machine.dram_bytes_per_s


def little_bandwidth(machine: Machine) -> int:
    """Return the bytes per second more of the DRAM that are judged: 1 %, or 1 GB/s if that is less.

    Rounded up to whole ones; 0 where the rate is the largest that there is.
    """
    rate = machine.dram_bytes_per_s
    return min(-(-rate // _FRACTION), _GB, LARGEST - rate)


def _is_line(problem: Problem, certificate: Certificate) -> bool:
    # Theorems of banks and of the replay know the least of each figure alone.
    if problem.machine.banks or certificate.objective.replayed:
        return True
    rooms = certificate.rooms
    # A mapping that needs more scratchpad than there is may be the best with a page more.
    return (rooms is None or not rooms.any()) and bool(fits_alone(problem).all())


def _of_a_page(problem: Problem, certificate: Certificate, proved: Fraction) -> Fraction:
    """Return how much the bound falls with a page more."""
    machine = problem.machine
    larger = replace(machine, spm_bytes=machine.spm_bytes + machine.page_bytes)
    return max(Fraction(0), proved - bound(replace(problem, machine=larger), certificate))


def _hold(problem: Problem, certificate: Certificate) -> Ints:
    """Return (n,) shadow prices of a byte more in each step.

    Of the replay, at both of its instants; with the largest of the rooms of a step's mappings.
    """
    at_start, rooms = certificate.spm_at_start, certificate.rooms
    held = certificate.spm if at_start is None else certificate.spm + at_start
    if rooms is None:
        return held
    counts = np.diff(problem.operands.first_mapping)
    if certificate.order is not None:
        counts = counts[certificate.order]
    several, most = counts > 1, np.zeros_like(held)
    most[several] = np.maximum.reduceat(rooms, (np.cumsum(counts[several]) - counts[several]))
    return held + most


def _of_a_cycle(problem: Problem, certificate: Certificate) -> float:
    """Return the factor from the shadow price of a byte's time to parts of a cycle.

    Of the schedule.
    """
    weight, beta = certificate.objective.cycle, problem.machine.bytes_per_cycle
    return float(beta / (weight * 2**certificate.bits)) if weight else 0.0


def _banks(problem: Problem, certificate: Certificate) -> tuple[SpaceDuals, ...]:
    machine, none = problem.machine, np.zeros_like(certificate.spm)
    duals = certificate.banks or (BankDuals(spm=none, port=none),) * len(machine.banks)
    return tuple(
        SpaceDuals.of(certificate.spm + own.spm, certificate, machine.page_bytes) for own in duals
    )


def _channel(problem: Problem, certificate: Certificate) -> Ints:
    """Return (n,) shadow prices of a byte's time in each step.

    Both directions of a duplex machine.
    """
    if problem.machine.duplex:
        return certificate.dram_in + certificate.dram_out
    return certificate.dram_in


def _bandwidth(problem: Problem, certificate: Certificate, proved: Fraction) -> Fraction:
    """Return how much the bound falls for each byte per second more."""
    objective, rate = certificate.objective, problem.machine.dram_bytes_per_s
    if not objective.cycle or bytes_held_by_banks(problem.machine):
        return Fraction(0)
    # Where streams of tensors that bypass the scratchpad hide computing, no straight line tells;
    # nor where ports of banks or set-ups of commands take their time whatever the bandwidth.
    ports = any(bank.has_rates for bank in problem.machine.banks)
    fixed = ports or problem.machine.dma_setup_cycles or _weighs_bytes(objective)
    if not (problem.bypassing or fixed or problem.waits):
        # A bound below its own computing part proves nothing of more bandwidth.
        return max(Fraction(0), proved - _computing(problem, certificate)) / rate
    more = little_bandwidth(problem.machine)
    if not more:
        return Fraction(0)

    def scale(duals: Ints) -> Ints:
        return np.asarray(duals.astype(object) * rate // (rate + more), np.int64)

    other = replace(
        certificate,
        dram_in=scale(certificate.dram_in),
        dram_out=scale(certificate.dram_out),
        banks=tuple(replace(bank, port=scale(bank.port)) for bank in certificate.banks),
    )
    if not (problem.bypassing or fixed):  # all of them are of time
        of_mappings = certificate.uses, certificate.rooms
        uses, rooms = (None if each is None else scale(each) for each in of_mappings)
        other = replace(other, spm=scale(certificate.spm), uses=uses, rooms=rooms)
    # No schedule gets worse, so that a bound which is rounded upwards holds for both.
    faster = on_channel(problem, replace(problem.machine, dram_bytes_per_s=rate + more))
    return max(Fraction(0), (proved - bound(faster, other)) / more)


def _weighs_bytes(objective: Objective) -> bool:
    """Whether a byte costs more than its time, as it crosses the channel or in a bank."""
    of_dram = (objective.dram_in_byte, objective.dram_out_byte)
    return any((*of_dram, *objective.bank_read_byte, *objective.bank_write_byte))


def _computing(problem: Problem, certificate: Certificate) -> Fraction:
    """Sum up the part of the bound that no bandwidth lowers.

    ``sum_i (w - theta_i) c_i``, and constants.
    """
    objective, beta = certificate.objective, problem.machine.bytes_per_cycle
    if certificate.order is not None:
        problem = reorder(problem, certificate.order)
    line = relax_timeline(problem)
    weight = objective.cycle * 2**certificate.bits
    common = lcm(weight.denominator, beta.denominator)
    whole_weight, whole_beta = int(weight * common), int(beta * common)
    total = sum(
        (whole_weight - whole_beta * dual) * cycles
        for dual, cycles in zip(
            _channel(problem, certificate).tolist(), line.compute_cycles.tolist(), strict=True
        )
    )
    return Fraction(total, common * 2**certificate.bits) + unavoidable(objective, line)
