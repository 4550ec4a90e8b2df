"""Cuts between machines: the prices of one solved machine bound the time of all that lower alike.

``CUTS.md`` beside this module derives them. In short: prices of SPM and DMA time prove a bound on
the machine that they were found on (problem statement, section 5). Written per byte *of the
channel*, not per cycle, they prove one on every machine with the same operations,

    T' >= sum_q (1 - nu_q) c'_q + (P - sum_q h_q room'_q) / beta',

with ``nu_q`` the share of step q that the channel prices, ``h_q = beta pi_q`` bytes of channel for
a byte of SPM, ``P`` the sum over tensors of their cheapest life at these prices, and ``room'_q``
the bytes of whole pages that the scratch of step q leaves.

``P`` is what the verifier's exact bound gives on a channel of one byte a cycle: no solver is
trusted, and no second evaluation of paths exists.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from operator import mul

import numpy as np
from numpy.typing import NDArray

from spmopt.core.instance import Instance
from spmopt.core.machine import Machine
from spmopt.core.result import Certificate
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline, relaxed_timeline
from spmopt.search.cuts_prices import unit_channel
from spmopt.verify import bound

_MARGIN = 2.0**-49
"""Of the sum of magnitudes: sixteen roundings of a double, of which at most ten happen."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Cut:
    """A bound on every machine on which operations and tensors have this fingerprint.

    Attributes
    ----------
    fingerprint
        See :func:`fingerprint`.
    prices
        Per byte of the channel (:func:`~spmopt.search.cuts_prices.per_channel_byte`).
    life
        ``P``, in units of ``2**-prices.bits`` bytes of channel.
    scratch_bytes : (n,)
        Least scratch of each step.
    duplex
        Reads and writes have a channel each.
    """

    fingerprint: bytes
    prices: Certificate
    life: int
    scratch_bytes: Ints
    duplex: bool

    @staticmethod
    def of(instance: Instance, prices: Certificate) -> Cut:
        """Evaluate ``prices`` on the operations of ``instance``.

        They may have been found on other operations, if as many: any legal prices prove a bound.

        Raises
        ------
        InputError
            Prices that are not legal, or of another number of steps.
        """
        unit = unit_channel(instance)
        line = relaxed_timeline(unit)
        cut = Cut(
            fingerprint=fingerprint(unit, line),
            prices=prices,
            life=int(bound(unit, prices) * 2**prices.bits),
            scratch_bytes=line.scratch_bytes,
            duplex=unit.machine.duplex,
        )
        # The bound is that of this machine: give back what the room takes and computing adds.
        computing, room = _dot(cut.free, line.compute_cycles), cut._room_worth(unit.machine)
        return replace(cut, life=cut.life - computing + room)

    @cached_property
    def free(self) -> Ints:
        """(n,) ``1 - nu``, the share of each step that computing prices; ``2**-prices.bits``."""
        left: Ints = 2**self.prices.bits - self.prices.dram_in
        return left - self.prices.dram_out if self.duplex else left

    def least_bytes(self, machine: Machine) -> Fraction:
        """``P - sum h room'``, exact: bytes that cross the channel of ``machine``, so priced.

        No byte is priced above itself, so that it bounds the traffic too.
        """
        return Fraction(self.life - self._room_worth(machine), 2**self.prices.bits)

    def least_cycles(self, compute_cycles: Ints, machine: Machine) -> Fraction:
        """Bound on the makespan on ``machine``, exact, in its cycles.

        Parameters
        ----------
        compute_cycles : (n,)
            Of the operations on ``machine``; the least of an operation's modes.
        """
        return self._computing(compute_cycles) + self.least_bytes(machine) / machine.bytes_per_cycle

    def least_cycles_of(
        self, compute_cycles: Ints, machine: Machine, spm_bytes: Ints, dram_bytes_per_s: Ints
    ) -> Floats:
        """Bounds on many machines at once, each rounded down safely.

        Parameters
        ----------
        compute_cycles : (n,)
            The same on all of them.
        machine
            What they share: clock and pages.
        spm_bytes, dram_bytes_per_s
            Of each machine; shapes that broadcast to that of the result.
        """
        page, unit = machine.page_bytes, 2**self.prices.bits
        scratch = -(-self.scratch_bytes // page) * page
        computing = float(self._computing(compute_cycles))
        life = (self.life + _dot(self.prices.spm, scratch)) / unit
        slope = sum(self.prices.spm.tolist()) / unit
        worth = slope * (spm_bytes // page * page).astype(np.float64)
        cycles = machine.clock_hz / dram_bytes_per_s.astype(np.float64)
        value = computing + cycles * (life - worth)
        # Numbers and operations above round at most ten times on the way to any term.
        result: Floats = value - _MARGIN * (computing + cycles * (abs(life) + worth))
        return result

    def _computing(self, compute_cycles: Ints) -> Fraction:
        return Fraction(_dot(self.free, compute_cycles), 2**self.prices.bits)

    def _room_worth(self, machine: Machine) -> int:
        page = machine.page_bytes
        room = machine.spm_pages * page - -(-self.scratch_bytes // page) * page
        return _dot(self.prices.spm, room)


def fingerprint(instance: Instance, line: Timeline | None = None) -> bytes:
    """What a cut needs two instances to share: everything but times, capacity and bandwidth.

    Of several modes only the least of each figure counts, as it does for a bound. Names do not.
    """
    line = relaxed_timeline(instance) if line is None else line
    columns = (line.first, line.tensor, line.kind, line.passes, line.stationary)
    tensors = (line.size_bytes, line.in_dram, line.keep, line.scratch_bytes)
    digest = sha256(b"duplex" if instance.machine.duplex else b"one channel")
    for column in (*columns, *tensors):
        digest.update(column.size.to_bytes(8, "little"))
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.digest()


def _dot(left: Ints, right: Ints) -> int:
    """Exact: the products exceed 64 bits."""
    return sum(map(mul, left.tolist(), right.tolist()))
