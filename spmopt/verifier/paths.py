"""Cheapest paths of the bytes of all tensors at the dual values of a certificate, in arrays.

The states and arcs are those of :mod:`spmopt.verifier.bound`. Costs from state to state (N, R, D,
U) over a part of a tensor's life form a 4 x 4 table; that of two parts, one after the other, is
their product with sums for products and minima for sums, so neighboring parts are joined pair by
pair until one is left of each tensor. The cost of steps between two accesses follows from least
values over ranges of steps (PROBLEM.md, section 5, "Long stretches").

A byte in R has every choice of one in N, at no greater cost. So where a formula lets it drop to N
or come from it within one step, the least cost is not changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from operator import mul

import numpy as np

from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline
from spmopt.verifier.dual_check import INFINITE, CheckedDuals
from spmopt.verifier.setups import MoveSetups, Setups, least_in_ranges

N, R, D, U = range(4)
_BLOCK = 1 << 13
"""Accesses whose tables fit the processor's cache."""


def all_paths(
    line: Timeline,
    duals: CheckedDuals,
    absent: Collection[tuple[int, int]],
    early: Bools | None = None,
    setups: Setups | None = None,
) -> int:
    """Return ``sum_t s_t DP_t``, with set-ups of commands where there are ``setups``.

    ``absent``: steps, each with a tensor that it uses and that is not resident then; ``early``
    (a,): accesses whose resident bytes were held in the step before, too.
    """
    order = np.argsort(line.tensor, kind="stable")
    gap = _stretches(line, duals)
    moves = None if setups is None else MoveSetups.of(line, duals, setups)
    if moves is not None:
        gap += np.stack(
            (np.zeros_like(moves.load), moves.load_before, moves.store_before, moves.store_before)
        )
    stay = stay_duals(line, duals, absent)
    if early is not None:
        stay[early] += duals.hold[line.step[early] - 1]
    final = final_store(duals)
    total = 0
    for first, last in _blocks(line.tensor[order]):
        rows = order[first:last]
        tensor = line.tensor[rows]
        starts = np.flatnonzero(np.diff(tensor, prepend=-1))
        counts = np.diff(starts, append=rows.size)
        costs = access_costs(line, rows, duals, stay[rows], _arriving(gap[:, rows]), moves)
        costs = _join(costs, np.arange(rows.size) - np.repeat(starts, counts))
        owner = tensor[starts]
        least = costs[np.where(line.in_dram[owner], N, U), :, np.arange(owner.size)]
        least[:, D] += final[line.step[line.last_access[owner]] + 1]
        if moves is not None:
            least[:, D] += moves.final[owner]
        total += sum(map(mul, line.size_bytes[owner].tolist(), least.min(axis=1).tolist()))
    return total


def stay_duals(line: Timeline, duals: CheckedDuals, absent: Collection[tuple[int, int]]) -> Ints:
    """Return (a,) the payment of a resident byte at each access; infinite where none can be."""
    stay: Ints = duals.hold[line.step]
    if absent:
        pairs = zip(line.step.tolist(), line.tensor.tolist(), strict=True)
        stay[[pair in absent for pair in pairs]] = INFINITE
    return stay


def access_costs(  # noqa: PLR0917
    line: Timeline,
    rows: Ints,
    duals: CheckedDuals,
    stay: Ints,
    old: tuple[Ints, ...],
    moves: MoveSetups | None = None,
) -> Ints:
    """Follow accesses: the table of section 5, with a dual value for each direction.

    Resident bytes pay ``stay``. A byte not resident is streamed, unless required-resident. A dead
    result is not streamed out, and afterwards its bytes are in U. Before an access that needs its
    contents, U is for a byte in R that is not to stay.

    Parameters
    ----------
    line, duals
        In the certificate's order.
    rows : (k,)
        The accesses.
    stay : (k,)
    old
        Costs in N, R, D, U before each access, each (4, k): by state at a start.
    moves
        Payments of bytes for set-ups.

    Returns
    -------
    (4, 4, k) costs by state at the start, state after the access, and access.
    """
    n, r, d, u = old
    step, kind, fetches = line.step[rows], line.kind[rows], line.fetches[rows]
    live, firm = line.live_after[rows], line.required_resident[rows]
    read, written = kind != Access.WRITE, kind != Access.READ
    load = np.where(firm & read, duals.firm_load[step], duals.load[step])
    store = np.where(firm & written, duals.firm_store[step], duals.store[step])
    dropped = np.minimum(np.minimum(n, r), u)
    anywhere = np.minimum(dropped, d)
    times_in = np.where(read, fetches, np.where(live, fetches - 1, 0))
    times_out = np.where(written & live, fetches, 0)
    by = times_in * load + times_out * store
    if moves is not None:
        by += np.where(times_in > 0, moves.stream_in[rows], 0)
        by += np.where(times_out > 0, moves.stream_out[rows], 0)
        load, store = load + moves.load[rows], store + moves.store[rows]
    entered = np.minimum(n + load, r)
    dirty = np.where(read, np.where(written, np.minimum(entered, d), d), anywhere) + stay
    clean = np.where(written, dirty + store, np.minimum(entered, d + store) + stay)
    streamed = np.where(read, dropped, anywhere) + by
    streamed[:, firm] = INFINITE
    dead = np.minimum(np.minimum(clean, dirty), streamed)
    none = np.full_like(dead, INFINITE)
    costs = np.where(
        live,
        np.stack((streamed, clean, dirty, none), axis=1),
        np.stack((none, none, none, dead), axis=1),
    )
    return np.minimum(costs, INFINITE, out=costs)


def final_store(duals: CheckedDuals) -> Ints:
    """Per step, the least that a kept dirty byte pays from that step to the end."""
    paid = duals.held
    stored = duals.store + paid[1:]
    least = np.minimum.accumulate(stored[::-1])[::-1] - paid[:-1]
    return np.append(least, INFINITE)


def _stretches(line: Timeline, duals: CheckedDuals) -> Ints:
    """Return (4, a) costs of the steps from each access's previous one, or the start, to it.

    Of a byte that stays; that is loaded from N; that is stored and stays; stored and then dropped.
    """
    paid = duals.held
    first = np.where(line.previous < 0, 0, line.step[line.previous] + 1)
    load, stay, drop = least_in_ranges(
        np.stack((duals.load - paid[:-1], duals.store, duals.store + paid[1:])), first, line.step
    )
    held = paid[line.step] - paid[first]
    return np.stack((held, load + paid[line.step], held + stay, drop - paid[first]))


def _arriving(gap: Ints) -> tuple[Ints, ...]:
    """Return costs in N, R, D, U after stretches, each (4, k): by state before them."""
    held, load, store, drop = gap
    none, free = np.full_like(held, INFINITE), np.zeros_like(held)
    n = np.stack((free, free, drop, none))
    r = np.stack((load, np.minimum(held, load), np.minimum(store, drop + load), none))
    return n, r, np.stack((none, none, held, none)), np.stack((none, none, none, free))


def _blocks(tensor: Ints) -> Iterator[tuple[int, int]]:
    """Cut accesses, sorted by tensor, into blocks that have all accesses of each tensor."""
    ends = np.append(np.flatnonzero(np.diff(tensor)) + 1, tensor.size)
    first = 0
    while first < tensor.size:
        last = int(ends[np.searchsorted(ends, min(first + _BLOCK, tensor.size))])
        yield first, last
        first = last


def _join(costs: Ints, place: Ints) -> Ints:
    """Join tables (4, 4, k) to one of each tensor; ``place`` counts those of each from 0."""
    while place.any():
        odd = np.flatnonzero(place & 1)
        left, right = costs[:, :, odd - 1], costs[:, :, odd]
        joined = left[:, N, None] + right[None, N]
        for state in (R, D, U):
            np.minimum(joined, left[:, state, None] + right[None, state], out=joined)
        costs[:, :, odd - 1] = np.minimum(joined, INFINITE)
        even = np.flatnonzero(place & 1 == 0)
        costs, place = costs[:, :, even], place[even] >> 1
    return costs
