"""The lower bound of a machine with banks, from dual values, in exact integers.

As :mod:`spmopt.verifier.bound`, whose proof carries over with these additions.

* By R1 of each bank ``pi_bi (resident bytes and scratch in b - C_b) <= 0`` may be added, on top of
  the dual value of a byte held anywhere; scratch lies where that is cheapest.
* By R6 a step lasts at least ``L + B_b + S``, with ``B_b`` the time of bank b's port. So dual
  values of DMA time, ``port_bi`` and ``rho_i / beta`` share the weight of a cycle; a byte read or
  written in b costs ``port_bi`` times DRAM's rate over the port's; firm bytes (of ``L``, ``S``) pay
  all ports.
* A byte is clean (R) or dirty (D) in some bank, and may change it as a step opens: it is read in
  one bank and written in the other. Loads write their bank, stores read it, streams pass by the
  stream bank; an operation's accesses are shared out over its operands (``spmopt.core.shares``).
* With several mappings an operation's accesses are the fewest of any, in the cheapest bank.

Quotients are rounded down; that the resident bytes of a tensor are its first ones is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.shares import STREAM_BANK, Shares
from spmopt.core.table import Ints
from spmopt.core.timeline import Access, Timeline
from spmopt.verifier.dual_check import INFINITE, LARGEST, CheckedDuals

State = list[int]
"""Least cost of a byte up to now: N, then R and D by bank, then U."""


class _Touch(NamedTuple):
    """One access, of the timeline."""

    tensor: int
    kind: int
    fetches: int
    required_resident: bool
    live_after: bool
    next: int


@dataclass(frozen=True, kw_only=True)
class _Step:
    """Dual values of one step, by bank; ``read`` and ``write`` are the exact ones rounded down."""

    hold: list[int]
    read: list[int]
    write: list[int]
    exact_read: list[Fraction]
    exact_write: list[Fraction]
    load: int
    store: int
    firm_load: int
    firm_store: int

    def move(self, costs: State) -> State:
        """Return the least cost in each bank, after moves at the start of the step."""
        return [
            min(
                cost if source == bank else cost + self.read[source] + self.write[bank]
                for source, cost in enumerate(costs)
            )
            for bank in range(len(costs))
        ]


def bank_paths(
    problem: Problem, certificate: Certificate, line: Timeline, duals: CheckedDuals
) -> Fraction:
    """Cost of all paths, and of bank costs without a byte, in units of ``2**-bits``, exact.

    Parameters
    ----------
    problem, line
        In the certificate's order; ``line`` is its relaxed timeline.
    duals
        Of memory held anywhere and of DMA time, checked.

    Raises
    ------
    InputError
        Dual values of other banks, negative ones, or some too large for 64 bits.
    """
    steps = _steps(problem, certificate, line, duals)
    shares = Shares.relax(problem, line)
    _check_magnitude(line, steps, shares)
    total = Fraction(_all_paths(line, steps, shares))
    page, capacity = problem.machine.page_bytes, problem.machine.bank_pages
    everywhere = duals.hold.tolist()
    for step, scratch in enumerate(line.scratch_bytes.tolist()):
        # The dual value of a byte anywhere is counted with the uniform room; here is only what a
        # bank adds.
        extra = [hold - everywhere[step] for hold in steps[step].hold]
        total -= page * sum(dual * pages for dual, pages in zip(extra, capacity, strict=True))
        # R1: scratch lies in whole pages, in the bank where that costs least.
        total += page * -(-scratch // page) * min(extra)
        total += steps[step].exact_read[STREAM_BANK] * shares.loose_read[step]
        total += steps[step].exact_write[STREAM_BANK] * shares.loose_write[step]
        # Of accesses that differ between mappings the operand is unknown: the cheapest bank.
        total += min(steps[step].exact_read) * shares.any_read[step]
        total += min(steps[step].exact_write) * shares.any_write[step]
    return total


def _check_magnitude(line: Timeline, steps: list[_Step], shares: Shares) -> None:
    """A path pays in each step one holding, one move, the operation, and ``fetches`` each way."""
    fetches = np.ones(line.steps, np.int64)
    np.maximum.at(fetches, line.step, line.fetches)
    most = max((*shares.read, *shares.write), default=Fraction(0))
    total = sum(
        max(step.hold)
        + (often + 1) * (step.firm_load + step.firm_store + max(step.read) + max(step.write))
        + ceil(most * (max(step.exact_read) + max(step.exact_write)))
        for step, often in zip(steps, fetches.tolist(), strict=True)
    )
    if total > LARGEST:
        raise InputError("certificate: dual values are too large for 64 bits; give fewer bits")


def _steps(
    problem: Problem, certificate: Certificate, line: Timeline, duals: CheckedDuals
) -> list[_Step]:
    """Return the dual values of every step, bank by bank."""
    machine, objective = problem.machine, certificate.objective
    count = len(machine.banks)
    if len(objective.bank_read_byte) not in (0, count):
        raise InputError(f"certificate: its objective must have weights of {count} banks")
    weights = [
        [weight * 2**certificate.bits for weight in column] or [Fraction(0)] * count
        for column in (objective.bank_read_byte, objective.bank_write_byte)
    ]
    rates = [
        [Fraction(machine.dram_bytes_per_s, rate) if rate else Fraction(0) for rate in column]
        for column in (
            [bank.read_bytes_per_s for bank in machine.banks],
            [bank.write_bytes_per_s for bank in machine.banks],
        )
    ]
    none = [0] * line.steps
    hold = [bank.spm.tolist() for bank in certificate.banks] or [none] * count
    port = [bank.port.tolist() for bank in certificate.banks] or [none] * count
    everywhere, load, store = (each.tolist() for each in (duals.hold, duals.load, duals.store))
    firm_load, firm_store = duals.firm_load.tolist(), duals.firm_store.tolist()
    found = []
    for step in range(line.steps):
        exact = [
            [w + p[step] * rate for w, p, rate in zip(column, port, ratios, strict=True)]
            for column, ratios in zip(weights, rates, strict=True)
        ]
        read, write = ([floor(dual) for dual in column] for column in exact)
        found.append(
            _Step(
                hold=[own[step] + everywhere[step] for own in hold],
                read=read,
                write=write,
                exact_read=exact[0],
                exact_write=exact[1],
                load=load[step],
                store=store[step],
                firm_load=firm_load[step],
                firm_store=firm_store[step],
            )
        )
    return found


def _all_paths(line: Timeline, steps: list[_Step], shares: Shares) -> int:
    """Return ``sum_t s_t DP_t``, walking all tensors through the steps together."""
    banks = len(steps[0].hold)
    waiting, final = _BankPaths(line, banks), _final_store(steps, banks)
    accesses = _touches(line)
    first, size = line.first.tolist(), line.size_bytes.tolist()
    total = 0
    for number, step in enumerate(steps):
        here = range(first[number], first[number + 1])
        before = [waiting.leave(accesses[access].tensor) for access in here]
        waiting.pass_step(step)
        for access, old in zip(here, before, strict=True):
            own = [floor(shares.read[access] * dual) for dual in step.exact_read]
            out = [floor(shares.write[access] * dual) for dual in step.exact_write]
            touch = accesses[access]
            state = _access(old, touch, step, own, out)
            if touch.next >= 0:
                waiting.enter(touch.tensor, state)
            else:
                dirty = [
                    cost + later
                    for cost, later in zip(state[banks + 1 : -1], final[number + 1], strict=True)
                ]
                total += size[touch.tensor] * min(*state[: banks + 1], *dirty, state[-1])
    return total


def _touches(line: Timeline) -> list[_Touch]:
    """Return all accesses, in the order of the timeline."""
    columns = (getattr(line, name).tolist() for name in _Touch._fields)
    return [_Touch(*row) for row in zip(*columns, strict=True)]


def _access(old: State, touch: _Touch, step: _Step, own: State, out: State) -> State:
    """Make one access; ``own`` and ``out`` are costs of reads and writes in each bank.

    As ``spmopt.verifier.bound``, with the dual value of a byte that touches a bank at every touch.
    """
    banks, fetches = len(step.hold), touch.fetches
    n, r, d = old[0], step.move(old[1 : banks + 1]), step.move(old[banks + 1 : -1])
    read, written = touch.kind != Access.WRITE, touch.kind != Access.READ
    load = step.firm_load if touch.required_resident and read else step.load
    store = step.firm_store if touch.required_resident and written else step.store
    stream_in = fetches * (load + step.write[STREAM_BANK])
    stream_out = fetches * (store + step.read[STREAM_BANK]) if touch.live_after else 0
    clean, dirty = [], []
    for bank in range(banks):
        held = step.hold[bank] + (own[bank] if read else 0) + (out[bank] if written else 0)
        entering = n + load + step.write[bank]
        leaving = store + step.read[bank]
        if not written:
            clean.append(min(entering, r[bank], d[bank] + leaving) + held)
            dirty.append(d[bank] + held)
        else:
            dirty.append((min(entering, r[bank], d[bank]) if read else min(old)) + held)
            clean.append(dirty[bank] + leaving)
    # A stream takes clean bytes from DRAM, wherever else they are.
    streamed = min(n, *old[1 : banks + 1]) if read else min(old)
    streamed += (own[STREAM_BANK] if read else 0) + (out[STREAM_BANK] if written else 0)
    if read:
        streamed += stream_in + (stream_out if written else 0)
    elif touch.live_after:
        streamed += stream_out + (fetches - 1) * (load + step.write[STREAM_BANK])
    if touch.required_resident:
        streamed = INFINITE
    if not touch.live_after:
        return [*[INFINITE] * (2 * banks + 1), min(streamed, *clean, *dirty)]
    return [min(cost, INFINITE) for cost in (streamed, *clean, *dirty)] + [INFINITE]


class _BankPaths:
    """States of the tensors between two accesses, as in ``spmopt.verifier.bound``."""

    def __init__(self, line: Timeline, banks: int) -> None:
        self._banks = banks
        self._in_dram: list[bool] = line.in_dram.tolist()
        self._there = np.zeros(line.size_bytes.size, bool)
        self._unused: dict[int, int] = {}
        self._states: Ints = np.full((2 * banks + 1, line.size_bytes.size), INFINITE, np.int64)
        self._ahead = [INFINITE] * banks

    def leave(self, tensor: int) -> State:
        """Take a tensor out for an access."""
        if self._there[tensor]:
            self._there[tensor] = False
            state = self._states[:, tensor].tolist()
            self._states[:, tensor] = INFINITE
            return [*state, INFINITE]
        nowhere = [INFINITE] * (2 * self._banks + 1)
        if tensor in self._unused:
            return [*nowhere, self._unused.pop(tensor)]
        if self._in_dram[tensor]:
            return [0, *self._ahead, *[INFINITE] * self._banks, INFINITE]
        return [*nowhere, 0]

    def enter(self, tensor: int, state: State) -> None:
        """Put it back after the access."""
        if state[-1] < INFINITE:
            self._unused[tensor] = state[-1]
            return
        self._there[tensor] = True
        self._states[:, tensor] = state[:-1]

    def pass_step(self, step: _Step) -> None:
        """Pass a step that does not touch them: moves, then hold, drop, load or store."""
        banks = self._banks
        n, r, d = self._states[0], self._states[1 : banks + 1], self._states[banks + 1 :]
        clean, dirty = _move(r, step), _move(d, step)
        dropped = np.minimum(n, r.min(axis=0))
        for bank in range(banks):
            stored = dirty[bank] + step.store + step.read[bank]
            loaded = n + step.load + step.write[bank]
            r[bank] = np.minimum(np.minimum(clean[bank], stored), loaded) + step.hold[bank]
            d[bank] = dirty[bank] + step.hold[bank]
        n[:] = dropped
        np.minimum(self._states, INFINITE, out=self._states)
        self._ahead = [
            min(kept, step.load + step.write[bank], INFINITE) + step.hold[bank]
            for bank, kept in enumerate(step.move(self._ahead))
        ]


def _move(costs: Ints, step: _Step) -> Ints:
    """Do as :meth:`_Step.move` for all tensors (banks, m)."""
    read, write = np.array(step.read), np.array(step.write)
    dual = read[:, None] + write[None, :]
    np.fill_diagonal(dual, 0)
    least: Ints = (costs[:, None, :] + dual[:, :, None]).min(axis=0)
    return least


def _final_store(steps: list[_Step], banks: int) -> list[list[int]]:
    """Per step and bank, the least that a kept dirty byte pays from that step to the end."""
    final = [[INFINITE] * banks]
    for step in reversed(steps):
        later = final[-1]
        here = [
            step.hold[bank] + min(step.store + step.read[bank], later[bank])
            for bank in range(banks)
        ]
        final.append(
            [
                min(
                    min(cost, INFINITE)
                    + (0 if bank == target else step.read[bank] + step.write[target])
                    for target, cost in enumerate(here)
                )
                for bank in range(banks)
            ]
        )
    return final[::-1]
