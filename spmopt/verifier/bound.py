"""A lower bound from prices, in exact integers: no solver is needed, nor trusted.

**Claim.** For any prices that :func:`bound` accepts, every legal schedule that runs the instance
in the certificate's order costs at least the number returned (PROBLEM.md, section 5).

**Proof** (weak duality). Let ``w`` be the objective's weight of a cycle, ``beta`` the bytes per
cycle, and ``pi_i, in_i, out_i >= 0`` the prices of step i. With ``rho_i >= 0`` and

* ``beta (in_i + out_i) + rho_i <= w`` on a duplex machine,
* ``beta in_i + rho_i <= w`` and ``in_i = out_i`` on one with a single channel,

rule R6 gives (duplex; a single channel likewise, with ``X`` for the first two terms)::

    w d_i >= beta in_i (IN + S) + beta out_i (L + OUT) + rho_i (L + c + S)

where ``IN``, ``OUT``, ``L``, ``S`` are at least the bytes / beta of those commands. So each byte
moved in step i costs at least its direction's price, a byte of ``L`` or ``S`` (a load of a
stationary operand, a store of a stationary result) at least ``firm_i = in_i + out_i + rho_i/beta``
(``in_i + rho_i/beta`` on a single channel), and the computation ``rho_i c_i``. The objective's own
price of a byte comes on top.

By R1 ``sum_t r_t(i) <= room_i = g floor(C/g) - g ceil(b_i/g)``; so ``pi_i (sum_t r_t(i) - room_i)``
is not positive and may be added. Now the cost is a sum over single bytes of tensors: each pays for
being resident and for being moved. What a byte does in a legal schedule is a path over the states

* N: valid in DRAM only; R: in SPM and DRAM; D: dirty, in SPM only; U: of no further use

along the arcs of ``_access`` and ``_BytePaths.pass_step`` (R2 to R5, R7), so it pays at least the
shortest path, which is the same for all bytes of a tensor. Several modes: the least of each figure
(``relaxed_timeline``). DMA set-up, rounding up and the waste of part-filled pages are dropped.

A certificate may name a class of schedules, and then proves nothing about others: *whole tensors*,
of which each is resident in full or not at all in a step that uses it. What can be resident in no
mode of such a step has no arc through R or D there (:mod:`spmopt.verifier.absent`).

All prices are integers in units of ``2**-bits`` of the objective per byte, and whatever is divided
(weights, ``rho``) is rounded down, which weakens the bound and keeps it valid. What banks add is in
:mod:`spmopt.verifier.bank_bound`.
"""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction

import numpy as np

from spmopt.core.errors import InputError, unknown
from spmopt.core.instance import Instance
from spmopt.core.order import reordered
from spmopt.core.result import WHOLE_TENSORS, Certificate
from spmopt.core.timeline import Access, Timeline, relaxed_timeline
from spmopt.verifier.absent import never_resident
from spmopt.verifier.bank_bound import bank_paths
from spmopt.verifier.price_check import INFINITE, CheckedPrices, Touch, step_prices, touches

State = tuple[int, int, int, int]
"""Least cost of a byte up to now, by where it is: N, R, D, U."""


def bound(instance: Instance, certificate: Certificate, holds_for: str = "") -> Fraction:
    """Return the lower bound that ``certificate`` proves, exact, in units of its objective.

    It is one for all legal schedules in the certificate's order, or for those of the class
    ``holds_for``, which must be the certificate's: that of a class is never taken for one of all.

    Raises
    ------
    InputError
        Prices that are not legal, do not match the instance, or overflow 64 bits; an order that
        no schedule of the instance has; another class, or one that is not known.
    """
    if certificate.holds_for not in ("", WHOLE_TENSORS):
        raise InputError(f"certificate: {unknown('class', certificate.holds_for, [WHOLE_TENSORS])}")
    if certificate.holds_for != holds_for:
        names = (name or "all schedules" for name in (certificate.holds_for, holds_for))
        raise InputError("certificate: its prices are for {}, not for {}".format(*names))
    if certificate.objective.replayed:
        raise InputError("certificate: prices of steps prove nothing about the replay")
    if certificate.order is not None:
        instance = reordered(instance, certificate.order)
    line = relaxed_timeline(instance)
    prices = step_prices(instance, certificate, line)
    machine, objective = instance.machine, certificate.objective
    room = [
        machine.page_bytes * (machine.spm_pages + (-scratch // machine.page_bytes))
        for scratch in line.scratch_bytes.tolist()
    ]
    total: int | Fraction
    if machine.banks and holds_for:
        raise InputError(f"certificate: with banks there is no bound for {holds_for}")
    if machine.banks:
        total = bank_paths(instance, certificate, line, prices)
    else:
        total = _all_paths(line, prices, never_resident(instance) if holds_for else ())
    total += sum(rho * c for rho, c in zip(prices.cycle, line.compute_cycles.tolist(), strict=True))
    total -= sum(pi * size for pi, size in zip(prices.hold, room, strict=True))
    fixed: Fraction = (
        objective.spm_read_byte * sum(line.spm_read_bytes.tolist())
        + objective.spm_write_byte * sum(line.spm_write_bytes.tolist())
        + objective.mac * sum(line.macs.tolist())
    )
    return Fraction(total) / (1 << certificate.bits) + fixed


def _all_paths(line: Timeline, prices: CheckedPrices, absent: Collection[tuple[int, int]]) -> int:
    """Return ``sum_t s_t DP_t``, walking all tensors through the steps together.

    ``absent``: steps, each with a tensor that it uses and that is not resident then.
    """
    waiting, final = _BytePaths(line), _final_store(prices)
    accesses = touches(line)
    first, size = line.first.tolist(), line.size_bytes.tolist()
    total = 0
    for step in range(line.steps):
        here = accesses[first[step] : first[step + 1]]
        before = [waiting.leave(touch.tensor) for touch in here]
        waiting.pass_step(prices.hold[step], prices.load[step], prices.store[step])
        for touch, old in zip(here, before, strict=True):
            state = _access(old, touch, step, prices, (step, touch.tensor) in absent)
            if touch.next >= 0:
                waiting.enter(touch.tensor, state)
            else:
                n, r, d, u = state
                total += size[touch.tensor] * min(n, r, d + final[step + 1], u)
    return total


def _access(old: State, touch: Touch, step: int, prices: CheckedPrices, absent: bool) -> State:
    """Follow one access: the table of section 5, with a price for each direction.

    Resident bytes pay ``hold``. A byte not resident is streamed, unless stationary; one that is
    ``absent`` is never resident. A dead result is not streamed out, and afterwards its bytes are
    in U.
    """
    (n, r, d, _), hold, passes = old, prices.hold[step], touch.passes
    read, written = touch.kind != Access.WRITE, touch.kind != Access.READ
    load = (prices.firm_load if touch.stationary and read else prices.load)[step]
    store = (prices.firm_store if touch.stationary and written else prices.store)[step]
    if not written:
        clean = min(n + load, r, d + store) + hold
        dirty = d + hold
        streamed = min(n, r) + passes * load
    elif read:
        dirty = min(n + load, r, d) + hold
        clean = dirty + store
        streamed = min(n, r) + passes * (load + store if touch.live_after else load)
    else:
        dirty = min(old) + hold
        clean = dirty + store
        streamed = min(old)
        if touch.live_after:
            streamed += passes * store + (passes - 1) * load
    if touch.stationary:
        streamed = INFINITE
    if absent:
        clean = dirty = INFINITE
    if not touch.live_after:
        return (INFINITE, INFINITE, INFINITE, min(clean, dirty, streamed))
    return (min(streamed, INFINITE), min(clean, INFINITE), min(dirty, INFINITE), INFINITE)


class _BytePaths:
    """States of the tensors between two accesses, in arrays.

    Before its first access a tensor is in DRAM (N, at no cost, or R, loaded ahead: the same cost
    for all of them), or it does not exist (U). In U, that is while dead, nothing costs anything.
    """

    def __init__(self, line: Timeline) -> None:
        self._in_dram: list[bool] = line.in_dram.tolist()
        self._place: dict[int, int] = {}
        self._unused: dict[int, int] = {}
        self._free = list(range(line.size_bytes.size))[::-1]
        self._top = 0
        self._states = np.full((3, line.size_bytes.size), INFINITE, np.int64)
        self._loaded_ahead = INFINITE

    def leave(self, tensor: int) -> State:
        """Take a tensor out for an access."""
        place = self._place.pop(tensor, None)
        if place is not None:
            self._free.append(place)
            n, r, d = self._states[:, place].tolist()
            return (n, r, d, INFINITE)
        if tensor in self._unused:
            return (INFINITE, INFINITE, INFINITE, self._unused.pop(tensor))
        if self._in_dram[tensor]:
            return (0, self._loaded_ahead, INFINITE, INFINITE)
        return (INFINITE, INFINITE, INFINITE, 0)

    def enter(self, tensor: int, state: State) -> None:
        """Put it back after the access."""
        if state[3] < INFINITE:
            self._unused[tensor] = state[3]
            return
        place = self._place[tensor] = self._free.pop()
        self._top = max(self._top, place + 1)
        self._states[:, place] = state[:3]

    def pass_step(self, hold: int, load: int, store: int) -> None:
        """A step that does not touch them: hold, drop (R to N), load (N to R), store (D to R)."""
        n, r, d = self._states[:, : self._top]
        clean = np.minimum(np.minimum(n + load, d + store), r) + hold
        np.minimum(n, r, out=n)
        r[:] = clean
        d += hold
        self._loaded_ahead = min(self._loaded_ahead, load) + hold


def _final_store(prices: CheckedPrices) -> list[int]:
    """Per step, the least that a kept dirty byte pays from that step to the end."""
    final = [INFINITE]
    for hold, store in zip(reversed(prices.hold), reversed(prices.store), strict=True):
        final.append(hold + min(store, final[-1]))
    return final[::-1]
