"""Least cost of each tensor in whole pages, with set-ups of commands, at given dual values.

A byte on its own (:mod:`spmopt.verifier.paths`) knows neither pages nor commands. Here a tensor is
decided as a whole, and its state after a step is (r, D): its resident bytes, and those of them that
DRAM lacks. It pays, at the dual values of a certificate,

* ``g ceil(r / g)`` bytes of the scratchpad in each step (R1 counts pages);
* for each load, store and stream its bytes and one set-up, as a command moves them (R2 to R5).

**Claim.** The least over states with r and D of whole pages, or all of the tensor, is at most the
payment of every legal schedule.

**Proof.** Fix, for each step, which of these commands a schedule has, whether all of the tensor is
resident, and the number k of pages of r. So ``g (k - 1) < r <= g k``, and ``r < s`` where not all
is resident. What remains is linear in r and D. Its constraints bound one of them or a difference of
two (growth, conservation), so that it is the dual of a flow of least cost. With its strict bounds
closed it costs no more, and has an optimum at values that the bounds take: multiples of ``g`` and
the size s of the tensor. Two of these are in no schedule of the choice made. ``r = g (k - 1)`` pays
for a page more than it holds, and ``r = s`` streams although all is resident: for each there is a
state of the table that costs no more.

Where an operation writes the tensor unread, any state may come before: old contents leave at no
cost. A schedule may cut a move, or a stream, into several commands; each has a set-up, so that they
cost more. Summed over the tensors, with the room and computing that :mod:`spmopt.verifier.bound`
adds, that is weak duality again.

Prices are rounded down where 64 bits do not hold a sum, which only weakens the bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

import numpy as np

from spmopt.core.machine import Machine
from spmopt.core.table import Ints
from spmopt.core.timeline import Access, Timeline
from spmopt.verifier.dual_check import INFINITE, CheckedDuals

_BITS = 58
"""Of the most that a tensor pays: ``INFINITE`` less that is still larger."""
_MOST_WORK = 30_000_000
"""Entries of all tables, beyond which a bound by bytes alone is taken: about a second."""
_LEAST_ENTRIES = 2_000
"""Of a table, to count: a smaller one takes as long."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SetupPrices:
    """Set-up of a command in each step (n), in units of ``2**-bits``, rounded down.

    ``firm``: of transfers that cannot overlap computing.
    """

    load: Sequence[int]
    store: Sequence[int]
    firm: Sequence[int]


def page_paths(
    machine: Machine, line: Timeline, duals: CheckedDuals, setups: SetupPrices
) -> int | None:
    """Return the sum of all tensors' least costs, in units of ``2**-bits``; None if it takes long.

    Parameters
    ----------
    machine
        Its page.
    line, duals, setups
        In the certificate's order.
    """
    if not machine.bounds_count_pages:
        return None
    order = np.argsort(line.tensor, kind="stable")
    tensor = line.tensor[order]
    starts = np.flatnonzero(np.diff(tensor, prepend=-1))
    owned = [(int(tensor[rows[0]]), order[rows]) for rows in _split(starts, tensor.size)]
    page_bytes = machine.page_bytes
    if sum(_work(line, duals, *each, page_bytes) for each in owned) > _MOST_WORK:
        return None
    total = 0
    for ratio, tensors in line.moved.classes():
        own = duals.of_ratio(ratio, line)
        walks = (_Walk(line, own, setups, each, page_bytes) for each in owned if tensors[each[0]])
        total += sum(walk.least() for walk in walks)
    return total


def _split(starts: Ints, size: int) -> list[Ints]:
    ends = np.append(starts[1:], size)[: starts.size]
    return [np.arange(a, b) for a, b in zip(starts, ends, strict=True)]


def _work(line: Timeline, duals: CheckedDuals, owner: int, rows: Ints, page_bytes: int) -> int:
    """Return the entries of all tables of a tensor."""
    states = -(-int(line.size_bytes[owner]) // page_bytes) + 1
    dirty = bool((line.kind[rows] != Access.READ).any())
    first = 0 if line.in_dram[owner] else int(line.step[rows[0]])
    last = line.steps if dirty and line.keep[owner] else int(line.step[rows[-1]]) + 1
    own = len({*_kinds(line, rows, _rooms(duals, rows))}) - np.unique(line.step[rows]).size
    return (last - first + own) * max(_LEAST_ENTRIES, states * states if dirty else states)


def _rooms(duals: CheckedDuals, rows: Ints) -> Ints:
    return np.zeros(rows.size, np.int64) if duals.rooms is None else duals.rooms[rows]


def _kinds(line: Timeline, rows: Ints, rooms: Ints) -> list[tuple[int, ...]]:
    """Return steps, fetches, needs and rooms of accesses: of one kind they have one table."""
    columns = (line.step[rows], line.fetches[rows], line.required_resident[rows], rooms)
    return [*zip(*(column.tolist() for column in columns), strict=True)]


def _pay(table: Ints, payment: int) -> Ints:
    """Add a payment, of any sign, to what is not infinite."""
    return np.where(table < INFINITE, table + payment, INFINITE) if payment else table


class _Walk:
    """A table of least costs by state, (r, D), as it follows the steps of one tensor.

    Tables have one column while nothing can be dirty.
    """

    def __init__(
        self,
        line: Timeline,
        duals: CheckedDuals,
        setups: SetupPrices,
        owned: tuple[int, Ints],
        page_bytes: int,
    ) -> None:
        self.line, (self.owner, self.rows), self.page_bytes = line, owned, page_bytes
        self.size = int(line.size_bytes[self.owner])
        pages = np.arange(-(-self.size // page_bytes) + 1, dtype=np.int64)
        self.values: Ints = np.minimum(pages * page_bytes, self.size)
        paid = self._largest_payment(duals, setups)
        self.shift = max(0, paid.bit_length() - _BITS)
        self.page: Ints = self._scale([page_bytes * h for h in duals.hold.tolist()])
        self.load, self.store = (
            self._scale(duals.load.tolist()),
            self._scale(duals.store.tolist()),
        )
        self.firm_load = self._scale(duals.firm_load.tolist())
        self.firm_store = self._scale(duals.firm_store.tolist())
        self.load_setup, self.store_setup = self._scale(setups.load), self._scale(setups.store)
        self.firm_setup = self._scale(setups.firm)
        uses = np.zeros(self.rows.size, np.int64) if duals.uses is None else duals.uses[self.rows]
        # Of all of the tensor, rounded down too where it is negative.
        self.uses = [self.size * each >> self.shift for each in uses.tolist()]
        self.rooms = _rooms(duals, self.rows)

    def _largest_payment(self, duals: CheckedDuals, setups: SetupPrices) -> int:
        """Return a sum that no path of the tensor exceeds."""
        line, rows = self.line, self.rows
        fetches = np.ones(line.steps, np.int64)
        np.maximum.at(fetches, line.step[rows], line.fetches[rows])
        moves = zip(
            duals.firm_load.tolist(), duals.firm_store.tolist(), fetches.tolist(), strict=True
        )
        bytes_paid: int = sum(duals.hold.tolist()) + sum(2 * p * (i + o) for i, o, p in moves)
        bytes_paid += duals.most_uses
        return (self.size + self.page_bytes) * bytes_paid + 4 * sum(setups.firm)

    def _scale(self, prices: Sequence[int]) -> Ints:
        return np.array([price >> self.shift for price in prices], np.int64)

    def least(self) -> int:
        """Return the least cost of the tensor."""
        line, rows = self.line, self.rows
        table = np.full((self.values.size, 1), INFINITE, np.int64)
        table[0, 0] = 0
        needed = bool(line.in_dram[self.owner]) and line.kind[rows[0]] != Access.WRITE
        step = 0
        # The least payment of all mappings that fetch the tensor alike.
        alike: dict[tuple[int, ...], tuple[int, int]] = {}
        kinds = _kinds(line, rows, self.rooms)
        for kind, row, paid in zip(kinds, rows.tolist(), self.uses, strict=True):
            alike[kind] = row, min(paid, alike.get(kind, (row, paid))[1])
        accesses = ((kind[0], kind[-1], *own) for kind, own in alike.items())
        for use, of_mappings in groupby(accesses, key=itemgetter(0)):
            # Dead contents need no space: the next use overwrites them.
            for between in range(step, use) if needed else ():
                table = self._pass(table, between)
            each = [*of_mappings]
            table = np.minimum.reduce(
                [_pay(self._use(table, row, room), paid) for _, room, row, paid in each]
            )
            needed, step = bool(line.live_after[each[0][2]]), use + 1
        if needed and table.shape[1] > 1:
            for between in range(step, line.steps):
                table = self._pass(table, between)
            # A kept tensor is in DRAM in the end (R7).
            table = table[:, :1]
        return int(table.min()) << self.shift

    def _pass(self, table: Ints, step: int) -> Ints:
        """Follow a step that does not use the tensor."""
        table = self._load(table, self.load[step], self.load_setup[step])
        table = self._hold(table, int(self.page[step]))
        return self._store(table, self.store[step], self.store_setup[step])

    def _use(self, table: Ints, row: int, room: int) -> Ints:
        """Follow an access, in a mapping for whose room a resident byte pays."""
        line, step = self.line, int(self.line.step[row])
        firm, live = bool(line.required_resident[row]), bool(line.live_after[row])
        read, written = line.kind[row] != Access.WRITE, line.kind[row] != Access.READ
        if read:
            price = self.firm_load if firm else self.load
            setup = self.firm_setup if firm else self.load_setup
            table = self._load(table, price[step], setup[step])
        else:
            # A blind write sets what is resident freely; old dirty bytes are of no use.
            table = np.full((self.values.size, 1), table.min(), np.int64)
        if firm:
            table[:-1] = INFINITE
        else:
            table = self._stream(table, row)
        table = self._hold(table, int(self.page[step]) + (self.page_bytes * room >> self.shift))
        if written and live:
            # All resident bytes are dirty.
            least = table.min(axis=1)
            table = np.full((self.values.size, self.values.size), INFINITE, np.int64)
            np.fill_diagonal(table, least)
        if not live:
            dead = np.full((self.values.size, 1), INFINITE, np.int64)
            dead[0, 0] = table.min()
            return dead
        firm_store = firm and written
        price = self.firm_store if firm_store else self.store
        setup = self.firm_setup if firm_store else self.store_setup
        return self._store(table, price[step], setup[step])

    def _load(self, table: Ints, price: int, setup: int) -> Ints:
        """Let bytes be dropped or loaded; dirty ones remain (R5)."""
        dropped = np.minimum.accumulate(table[::-1], axis=0)[::-1]
        paid = (price * self.values)[:, None]
        loaded = np.minimum.accumulate(table - paid, axis=0)[:-1] + paid[1:] + setup
        result: Ints = dropped.copy()
        np.minimum(result[1:], loaded, out=result[1:])
        if table.shape[1] > 1:
            result[np.triu_indices(self.values.size, 1)] = INFINITE
        return result

    def _hold(self, table: Ints, price: int) -> Ints:
        held = price * np.arange(self.values.size)
        result: Ints = np.minimum(table + held[:, None], INFINITE)
        return result

    def _stream(self, table: Ints, row: int) -> Ints:
        """Let the bytes that are not resident be streamed (R3, R4)."""
        line, step, fetches = self.line, int(self.line.step[row]), int(self.line.fetches[row])
        live = bool(line.live_after[row])
        read, written = line.kind[row] != Access.WRITE, line.kind[row] != Access.READ
        # A result of p parts is read back p - 1 times; a dead one is not streamed.
        times_in = fetches if read else (fetches - 1 if live else 0)
        times_out = fetches if written and live else 0
        price = times_in * int(self.load[step]) + times_out * int(self.store[step])
        setup = (int(self.load_setup[step]) if times_in else 0) + (
            int(self.store_setup[step]) if times_out else 0
        )
        streamed = price * (self.size - self.values)
        streamed[:-1] += setup
        result: Ints = np.minimum(table + streamed[:, None], INFINITE)
        return result

    def _store(self, table: Ints, price: int, setup: int) -> Ints:
        """Let dirty bytes be stored."""
        if table.shape[1] == 1:
            return table
        paid = (price * self.values)[None, :]
        stored = np.minimum.accumulate((table + paid)[:, ::-1], axis=1)[:, ::-1][:, 1:]
        result: Ints = table.copy()
        np.minimum(result[:, :-1], stored - paid[:, :-1] + setup, out=result[:, :-1])
        return result
