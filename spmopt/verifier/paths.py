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
from dataclasses import dataclass
from operator import mul

import numpy as np

from spmopt.core.operation import Operation, OpMapping
from spmopt.core.problem import Problem
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline
from spmopt.verifier.dual_check import INFINITE, CheckedDuals
from spmopt.verifier.setups import MoveSetups, Setups, least_in_ranges

N, R, D, U = range(4)
_BLOCK = 1 << 13
"""Accesses whose tables fit the processor's cache."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Accesses:
    """Columns of a :class:`Timeline` that costs of single accesses depend on, each (a,)."""

    step: Ints
    kind: Ints
    fetches: Ints
    required_resident: Bools
    live_after: Bools


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
    # A byte of a compressed tensor moves as a part of one, and pays that part.
    return sum(
        _paths(line, duals.of_ratio(ratio, line), absent, early, setups, tensors)
        for ratio, tensors in line.moved.classes()
    )


def _paths(  # noqa: PLR0917
    line: Timeline,
    duals: CheckedDuals,
    absent: Collection[tuple[int, int]],
    early: Bools | None,
    setups: Setups | None,
    tensors: Bools,
) -> int:
    """Return the sum of :func:`all_paths` over some tensors (m,)."""
    # Stable: accesses of a tensor keep the order of their steps.
    order = np.argsort(line.tensor, kind="stable")
    order = order[tensors[line.tensor[order]]]
    # Steps between two accesses, without both.
    gap = stretches(duals, np.where(line.previous < 0, 0, line.step[line.previous] + 1), line.step)
    moves = None if setups is None else MoveSetups.of(line, duals, setups)
    if moves is not None:
        gap += np.stack(
            (np.zeros_like(moves.load), moves.load_before, moves.store_before, moves.store_before)
        )
    resident = resident_duals(line, duals, absent)
    if early is not None:
        resident[early] += duals.hold[line.step[early] - 1]
    if duals.rooms is not None:
        resident = np.minimum(resident + duals.rooms, INFINITE)
    final = final_store(duals)
    total = 0
    for first, last in _blocks(line.tensor[order]):
        rows = order[first:last]
        tensor = line.tensor[rows]
        starts = np.flatnonzero(np.diff(tensor, prepend=-1))
        counts = np.diff(starts, append=rows.size)
        costs = access_costs(line, rows, duals, resident[rows], arriving(gap[:, rows]), moves)
        if duals.uses is not None:
            costs, begins = cheapest_mappings(costs, line, rows, duals.uses)
            rows, tensor = rows[begins], tensor[begins]
            starts = np.flatnonzero(np.diff(tensor, prepend=-1))
            counts = np.diff(starts, append=rows.size)
        costs = join(costs, np.arange(rows.size) - np.repeat(starts, counts))
        owner = tensor[starts]
        least = costs[np.where(line.in_dram[owner], N, U), :, np.arange(owner.size)]
        least[:, D] += final[line.step[line.last_access[owner]] + 1]
        if moves is not None:
            least[:, D] += moves.final[owner]
        # Every byte of a tensor pays at least the shortest path: s_t times that, in Python
        # integers.
        total += sum(map(mul, line.size_bytes[owner].tolist(), least.min(axis=1).tolist()))
    return total


def cheapest_mappings(costs: Ints, line: Timeline, rows: Ints, uses: Ints) -> tuple[Ints, Ints]:
    """Add the payments for mappings; return the least table of each access, and its first row.

    Parameters
    ----------
    costs : (4, 4, k)
        Of each access in each mapping, by tensor, step and mapping.
    """
    paid = np.where(costs < INFINITE, costs + uses[rows], INFINITE)
    other = np.diff(line.tensor[rows], prepend=-1) != 0
    begins = np.flatnonzero(other | (np.diff(line.step[rows], prepend=-1) != 0))
    least: Ints = np.minimum.reduceat(paid, begins, axis=2)
    return least, begins


def resident_duals(
    line: Timeline, duals: CheckedDuals, absent: Collection[tuple[int, int]]
) -> Ints:
    """Return (a,) the payment of a resident byte at each access; infinite where none can be."""
    resident: Ints = duals.hold[line.step]
    if absent:
        pairs = zip(line.step.tolist(), line.tensor.tolist(), strict=True)
        resident[[pair in absent for pair in pairs]] = INFINITE
    return resident


def access_costs(  # noqa: PLR0917
    line: Timeline | Accesses,
    rows: Ints,
    duals: CheckedDuals,
    resident: Ints,
    old: tuple[Ints, ...],
    moves: MoveSetups | None = None,
) -> Ints:
    """Follow accesses: the table of section 5, with a dual value for each direction.

    Resident bytes pay ``resident``. A byte not resident is streamed, unless required-resident. A
    dead result is not streamed out, and afterwards its bytes are in U. Before an access that needs
    its contents, U is for a byte in R that is not to remain.

    Parameters
    ----------
    line, duals
        In the certificate's order.
    rows : (k,)
        The accesses.
    resident : (k,)
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
    # A byte whose contents are in DRAM, or of no use, may be absent; a dirty one may not (R7).
    dropped = np.minimum(np.minimum(n, r), u)
    # A blind write replaces the contents: dirty bytes need no store before it (R5).
    anywhere = np.minimum(dropped, d)
    # R3, R4: p fetches of an operand; a result of p parts is read back p - 1 times.
    times_in = np.where(read, fetches, np.where(live, fetches - 1, 0))
    # Dead results are not streamed out (R4).
    times_out = np.where(written & live, fetches, 0)
    by = times_in * load + times_out * store
    if moves is not None:
        by += np.where(times_in > 0, moves.stream_in[rows], 0)
        by += np.where(times_out > 0, moves.stream_out[rows], 0)
        load, store = load + moves.load[rows], store + moves.store[rows]
    entered = np.minimum(n + load, r)
    dirty = np.where(read, np.where(written, np.minimum(entered, d), d), anywhere) + resident
    clean = np.where(written, dirty + store, np.minimum(entered, d + store) + resident)
    streamed = np.where(read, dropped, anywhere) + by
    # R3: a required-resident operand is never streamed.
    streamed[:, firm] = INFINITE
    dead = np.minimum(np.minimum(clean, dirty), streamed)
    none = np.full_like(dead, INFINITE)
    costs = np.where(
        live,
        np.stack((streamed, clean, dirty, none), axis=1),
        np.stack((none, none, none, dead), axis=1),
    )
    # Sums of two infinite costs must stay below 2**63.
    return np.minimum(costs, INFINITE, out=costs)


def final_store(duals: CheckedDuals) -> Ints:
    """Per step, the least that a kept dirty byte pays from that step to the end."""
    paid = duals.held
    # Held from the last access up to and with the step of the store.
    stored = duals.store + paid[1:]
    # A running minimum from the end: the best step at or after each.
    least = np.minimum.accumulate(stored[::-1])[::-1] - paid[:-1]
    return np.append(least, INFINITE)


def stretches(duals: CheckedDuals, first: Ints, end: Ints) -> Ints:
    """Return (4, k) costs of a byte in the steps [first, end), which do not use its tensor.

    Of a byte that remains; that is loaded from N; that is stored and remains; stored and then
    dropped.
    """
    paid = duals.held
    load, resident, drop = least_in_ranges(
        np.stack((duals.load - paid[:-1], duals.store, duals.store + paid[1:])), first, end
    )
    held = paid[end] - paid[first]
    return np.stack((held, load + paid[end], held + resident, drop - paid[first]))


def arriving(gap: Ints) -> tuple[Ints, ...]:
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


def join(costs: Ints, place: Ints) -> Ints:
    """Join tables (4, 4, k) to one of each tensor; ``place`` counts those of each from 0."""
    while place.any():
        odd = np.flatnonzero(place & 1)
        costs[:, :, odd - 1] = follow(costs[:, :, odd - 1], costs[:, :, odd])
        even = np.flatnonzero(place & 1 == 0)
        costs, place = costs[:, :, even], place[even] >> 1
    return costs


def follow(left: Ints, right: Ints) -> Ints:
    """Return the table of two parts, one after the other: a min-plus product of tables (4, 4, k).

    ``left`` may have any number of rows; either may have one column for all of the other's.
    """
    # Over the state between the two parts.
    joined = left[:, N, None] + right[None, N]
    for state in (R, D, U):
        np.minimum(joined, left[:, state, None] + right[None, state], out=joined)
    found: Ints = np.minimum(joined, INFINITE, out=joined)
    return found


def never_resident(problem: Problem) -> set[tuple[int, int]]:
    """Return (step, tensor) for each access at which the tensor does not fit in any mapping.

    By R3 and R4 the required-resident operands of the step's mapping are resident in full, by R1
    they, the scratch and whatever else is resident fit the scratchpad, all in whole pages. So where
    a tensor does not fit beside them, in no mapping of the operation, not all of it is resident;
    and in a schedule of whole tensors (PROBLEM.md, section 2) nothing of it is. Operands that are
    required-resident in every mapping are left out: where one does not fit, no schedule exists.
    """
    return {
        (step, tensor)
        for step, operation in enumerate(problem.operations)
        for place, tensor in enumerate(operation.tensors)
        if not all(mapping.operands[place].required_resident for mapping in operation.mappings)
        and all(not _fits(problem, operation, mapping, place) for mapping in operation.mappings)
    }


def _fits(problem: Problem, operation: Operation, mapping: OpMapping, place: int) -> bool:
    """Whether an operand fits in full beside the scratch and all that is required-resident."""
    page_bytes = problem.machine.page_bytes
    sizes = [
        problem.tensors[tensor].size_bytes
        for k, tensor in enumerate(operation.tensors)
        if k == place or mapping.operands[k].required_resident
    ]
    # Each operand and the scratch take whole pages of their own (R8).
    pages = sum(-(-size // page_bytes) for size in (*sizes, mapping.scratch_bytes))
    return pages * page_bytes <= problem.machine.spm_bytes
