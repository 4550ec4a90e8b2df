"""Cuts between machines: the duals of one solved machine bound the time of all that lower alike.

``CUTS.md`` beside this module derives them. In short: dual values prove a bound on the machine that
they were found on, with bandwidth ``beta`` (formulations/PROBLEM.md, section 5). Scaled by
``beta / beta'`` they are legal dual values of every machine with the same operations, so that there

    T' >= sum_q (1 - nu_q) c'_q + (beta / beta') (P - sum_q pi_q room'_q),

with ``nu_q`` the share of step q that the channel prices, ``pi_q`` the dual value of a byte of SPM,
``P`` the sum over tensors of their cheapest life at these dual values, and ``room'_q`` the bytes of
whole pages that the scratch of step q leaves. ``P`` is read off the verifier's exact bound: no
solver is trusted, and no second evaluation of paths exists.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from math import ceil, floor, frexp
from operator import mul

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.machine import Machine
from spmopt.core.objective import MAKESPAN, TRAFFIC
from spmopt.core.operation import relax_mapping
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline, relax_timeline
from spmopt.verifier import bound


@dataclass(frozen=True, kw_only=True, eq=False)
class Cut:
    """A bound on every machine on which operations and tensors have this fingerprint.

    Attributes
    ----------
    fingerprint
        See :func:`fingerprint`.
    certificate
        The dual values, of time or traffic; unit ``2**-bits``.
    home
        The machine that they are for.
    beta
        Its bytes a cycle; 1 with dual values of traffic, where the unit of time is that of a byte.
    free : (n,)
        ``1 - nu``: dual value of a cycle of computing, in ``2**-bits``.
    life
        ``P``, in ``2**-bits``.
    scratch_bytes : (n,)
        Least scratch of each step.
    """

    fingerprint: bytes
    certificate: Certificate
    home: Machine
    beta: Fraction
    free: Ints
    life: int
    scratch_bytes: Ints

    @staticmethod
    def of(problem: Problem, certificate: Certificate, proved: Fraction | None = None) -> Cut:
        """Make the cut of duals for ``problem`` and its machine; of banks only all bytes count.

        Of a machine that some tensors bypass it is a cut for schedules that may keep them too, of
        one whose commands have a set-up for commands without any.

        Parameters
        ----------
        proved
            Bound of :func:`spmopt.verifier.bound` for them, if already computed.

        Raises
        ------
        InputError
            Dual values of another objective than time or traffic, of another order than the listed
            one, or of traffic on a duplex machine; dual values that the verifier refuses.
        """
        _require(problem, certificate)
        if problem.machine.banks:
            problem, certificate, proved = *_uniform(problem, certificate), None
        machine = problem.machine
        if machine.bypass or machine.dma_setup_cycles:
            # Set-ups are no bytes, and neither bandwidth nor another machine's set-up scales them.
            free = replace(machine, bypass=(), dma_setup_cycles=0)
            problem, proved = replace(problem, machine=free), None
        if problem.several_mappings:
            # Figures of one mapping do not scale alike with bandwidth and with room.
            problem, certificate, proved = *_of_least_figures(problem, certificate), None
        if proved is None or machine.bounds_count_pages:
            # Other machines may have pages of another size.
            proved = bound(problem, certificate, pages=False)
        line = relax_timeline(problem)
        cut = Cut(
            fingerprint=fingerprint(problem, line),
            certificate=certificate,
            home=problem.machine,
            beta=_beta(problem, certificate),
            free=_free(problem, certificate),
            life=int(proved * 2**certificate.bits),
            scratch_bytes=line.scratch_bytes,
        )
        # The bound holds for this machine: remove its terms of compute time and of room.
        computing, room = _dot(cut.free, line.compute_cycles), cut._room_dual(problem.machine)
        return replace(cut, life=cut.life - computing + room)

    def least_bytes(self, machine: Machine) -> Fraction:
        """Return ``beta (P - sum pi room')``, exact: bytes that cross the channel, so priced.

        No byte is priced above its time, so that it bounds the traffic too.
        """
        priced = self.life - self._room_dual(machine)
        return self.beta * Fraction(priced, 2**self.certificate.bits)

    def least_cycles(self, compute_cycles: Ints, machine: Machine) -> Fraction:
        """Bound on the makespan on ``machine``, exact, in its cycles.

        Parameters
        ----------
        compute_cycles : (n,)
            Of the operations on ``machine``; the least of an operation's mappings.
        """
        computing = Fraction(_dot(self.free, compute_cycles), 2**self.certificate.bits)
        return computing + self.least_bytes(machine) / machine.bytes_per_cycle

    def duals(self, machine: Machine) -> Certificate:
        """Return the duals scaled to ``machine``, rounded down: nearly as strong as the cut.

        A search may start from them.
        """
        certificate = self.certificate
        scale = self.beta / machine.bytes_per_cycle
        bits = max(0, certificate.bits - frexp(float(scale))[1])  # as large numbers as they were
        scale *= Fraction(2**bits, 2**certificate.bits)
        inward, outward = certificate.dram_in, certificate.dram_out
        if certificate.objective == TRAFFIC:
            # Every byte of traffic has dual value 1 in both directions.
            inward = outward = np.full_like(certificate.spm, 2**certificate.bits)
        columns = (_scale(column, scale) for column in (certificate.spm, inward, outward))
        spm, inward, outward = columns
        return replace(
            certificate, objective=MAKESPAN, bits=bits, spm=spm, dram_in=inward, dram_out=outward
        )

    def _room_dual(self, machine: Machine) -> int:
        page = machine.page_bytes
        room = machine.spm_pages * page - -(-self.scratch_bytes // page) * page
        return _dot(self.certificate.spm, room)


def fingerprint(problem: Problem, line: Timeline | None = None) -> bytes:
    """Hash the data that problems of one cut share: all but times, capacity and bandwidth.

    Of several mappings only the least of each figure counts, as it does for a bound. Names do not.
    """
    line = relax_timeline(problem) if line is None else line
    columns = (line.first, line.tensor, line.kind, line.fetches, line.required_resident)
    tensors = (line.size_bytes, line.in_dram, line.keep, line.scratch_bytes)
    digest = sha256(b"duplex" if problem.machine.duplex else b"one channel")
    for column in (*columns, *tensors):
        # Sizes too: else bytes could pass from one column to the next with the same digest.
        digest.update(column.size.to_bytes(8, "little"))
        digest.update(np.ascontiguousarray(column).tobytes())
    if not line.moved.plain:
        digest.update(repr((line.moved.denominator, line.moved.numerator.tolist())).encode())
    return digest.digest()


def free_duals(problem: Problem) -> tuple[Certificate, ...]:
    """Make duals that need no solve: SPM costs nothing, a step is all computing or all channel.

    The cuts are the compute time with its compulsory waits, and the compulsory traffic over the
    bandwidth (on a duplex machine, one cut per direction).
    """
    nothing = np.zeros(len(problem.operations), np.int64)
    bits = _free_bits(problem)

    def duals(inward: Ints, outward: Ints) -> Certificate:
        return Certificate(
            objective=MAKESPAN, bits=bits, spm=nothing, dram_in=inward, dram_out=outward
        )

    computing = duals(nothing, nothing)
    if not problem.machine.duplex:
        return computing, replace(computing, objective=TRAFFIC)
    # floor: rounded up, the channel would cost more than the step has time.
    every = np.full_like(nothing, floor(2**bits / problem.machine.bytes_per_cycle))
    return computing, duals(every, nothing), duals(nothing, every)


def _of_least_figures(problem: Problem, certificate: Certificate) -> tuple[Problem, Certificate]:
    """Return the problem with the least of each figure of an operation's mappings."""
    operations = tuple(
        replace(each, mappings=(relax_mapping(each.mappings),)) for each in problem.operations
    )
    least = replace(problem, operations=operations, listed=None, fused_from=None, fusion_plan=())
    return least, replace(certificate, uses=None, rooms=None)


def _require(problem: Problem, certificate: Certificate) -> None:
    objective = certificate.objective
    if certificate.holds_for:
        raise InputError(
            f"cut: needs dual values for all schedules, not for {certificate.holds_for}"
        )
    if certificate.order is not None:
        raise InputError("cut: needs dual values of the listed order; reorder the problem first")
    if objective not in (MAKESPAN, TRAFFIC):
        raise InputError(
            f"cut: dual values of {objective.name} are for one machine; take those of time"
        )
    if objective == TRAFFIC and problem.machine.duplex:
        raise InputError("cut: on two channels traffic bounds no time; take dual values of time")


def _uniform(problem: Problem, certificate: Certificate) -> tuple[Problem, Certificate]:
    """Make a scratchpad of as many pages without banks, and dual values for it: all are legal."""
    machine = problem.machine
    size = machine.spm_pages * machine.page_bytes
    held = [bank.spm for bank in certificate.banks]
    # A byte lies in some bank and pays at least the cheapest one.
    spm = certificate.spm + np.minimum.reduce(held) if held else certificate.spm
    plain = replace(machine, spm_bytes=size, banks=())
    return replace(problem, machine=plain), replace(certificate, spm=spm, banks=())


def _beta(problem: Problem, certificate: Certificate) -> Fraction:
    return Fraction(1) if certificate.objective == TRAFFIC else problem.machine.bytes_per_cycle


def _free(problem: Problem, certificate: Certificate) -> Ints:
    """(n,) Return the verifier's dual value of a compute cycle, rounded down."""
    if certificate.objective == TRAFFIC:
        return np.zeros_like(certificate.spm)
    channel = certificate.dram_in.tolist()
    if problem.machine.duplex:
        channel = (certificate.dram_in + certificate.dram_out).tolist()
    numerator, denominator = problem.machine.bytes_per_cycle.as_integer_ratio()
    whole = 2**certificate.bits * denominator
    return np.array([(whole - numerator * dual) // denominator for dual in channel], np.int64)


def _free_bits(problem: Problem) -> int:
    """Find the most bits, up to 40, at which all moves of a step at full dual value fit 64 bits."""
    moves = 2 * ceil(problem.machine.most_moved) * int(problem.operands.most_fetches().sum())
    dearest = floor(moves / problem.machine.bytes_per_cycle) + 1
    return max(0, min(40, 58 - dearest.bit_length()))


def _scale(duals: Ints, scale: Fraction) -> Ints:
    numerator, denominator = scale.as_integer_ratio()
    return np.array([dual * numerator // denominator for dual in duals.tolist()], np.int64)


def _dot(left: Ints, right: Ints) -> int:
    """Multiply exactly: the products exceed 64 bits."""
    return sum(map(mul, left.tolist(), right.tolist()))
