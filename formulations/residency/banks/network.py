"""Choices of bytes in every chosen cell.

Arcs between states, and the resources of one byte of each. Each family below is an arc of
PROBLEM.md, section 5, once for every bank, and the moves between banks. Bytes flow through each
life: from N at its start (or from the operation that overwrites the tensor) to its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from types import MappingProxyType

import numpy as np

from formulations.residency.banks.cells import ChosenCells
from formulations.residency.banks.facts import BankCoefficients
from formulations.solver.program import Floats
from spmopt.core.shares import STREAM_BANK
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access

NOWHERE = -1


@dataclass(frozen=True, eq=False)
class BankArcs:
    """One column of the program a row (c,).

    Attributes
    ----------
    cell
        Position in the chosen cells.
    source, target
        Nodes; the target may be ``NOWHERE``: the life ends.
    state
        Of the bytes after the step; -1 for arcs between uses: moves, bytes evicted, remains.
    bank
        That holds the byte in the steps [begin, end), or -1.
    moved_in, moved_out, serial
        Bytes over the DMA channel, and those that wait for or delay the operation.
    read, write : (c, b)
        Bytes that each bank reads and writes, in the step of the cell.
    beyond : (c,)
        Objective units that a byte pays before or after the steps of the program.
    """

    cell: Ints
    source: Ints
    target: Ints
    state: Ints
    bank: Ints
    begin: Ints
    end: Ints
    moved_in: Floats
    moved_out: Floats
    serial: Floats
    read: Floats
    write: Floats
    beyond: Floats

    def __len__(self) -> int:
        return int(self.cell.size)


class BankNetwork:
    """Nodes and arcs of chosen cells.

    ``before(k, s)`` is node ``k * states + s``, of bytes as the step opens. After the step they are
    at the next cell's node before it, or where steps lie between at a node of their own.

    Attributes
    ----------
    fetches : (k,)
        Of the operand of each cell; 0 where there is none.
    required-resident : (k,)
        Cells of required-resident operands.
    interval : (k,)
        Steps lie between this cell and the next one.
    arcs
        Of all families.
    """

    def __init__(self, facts: BankCoefficients, cells: ChosenCells) -> None:
        self.facts, self.cells = facts, cells
        self.states = 2 * facts.bank_count + 1
        self._parts: list[BankArcs] = []
        access, line = cells.access, facts.line
        own, follows = access >= 0, cells.following
        self.fetches = np.where(own, line.fetches[access], 0).astype(np.float64)
        self.required_resident = own & line.required_resident[access]
        self.interval = (follows >= 0) & (cells.step[follows] > cells.step + 1)
        self._read = np.where(own, facts.own_read[access], 0.0)
        self._write = np.where(own, facts.own_write[access], 0.0)
        self._written = own & (cells.kind != Access.READ)
        for build in _FAMILIES:
            build(self)
        columns = zip(*(vars(part).values() for part in self._parts), strict=True)
        arcs = [np.concatenate(column) for column in columns]
        # Where a byte may not be at the window's end there is no arc.
        possible = np.isfinite(arcs[-1])
        self.arcs = BankArcs(*(column[possible] for column in arcs))
        self._parts = []

    def clean(self, bank: int) -> int:
        """Return the state of bytes in a bank and in DRAM."""
        return 1 + bank

    def dirty(self, bank: int) -> int:
        """Return the state of bytes in a bank only."""
        return 1 + self.facts.bank_count + bank

    def before(self, k: Ints, state: int) -> Ints:
        """Return the nodes as the step opens."""
        return k * self.states + state

    def after(self, k: Ints, state: int) -> Ints:
        """Return the nodes after the step; none where the life ends."""
        follows = self.cells.following[k]
        beyond = (len(self.cells) + k) * self.states + state
        # In N bytes wait for nothing: they go on to the next cell at once.
        at = np.where(self.interval[k] & (state > 0), beyond, self.before(follows, state))
        return np.where((follows < 0) | self.cells.dead[k], NOWHERE, at)

    def entry(self, k: Ints) -> Ints:
        """Return the nodes of bytes that come from before the steps of the program."""
        return (2 * len(self.cells) + k) * self.states

    def enter_dirty(self, amounts: Floats) -> Floats:
        """Return (k,) bytes that come into each cell from before all steps, and are not in DRAM."""
        arcs, states = self.arcs, self.states
        comes = arcs.source >= 2 * len(self.cells) * states
        newer = comes & (arcs.target % states > self.facts.bank_count)
        total = np.bincount(arcs.cell[newer], amounts[newer], len(self.cells))
        return total.astype(np.float64)

    def _after_all(self, k: Ints, state: int) -> Floats:
        """Return payments of bytes after the steps of the program."""
        boundary, cells = self.cells.boundary, self.cells
        if boundary is None or state < 0:
            return np.zeros(k.size)
        return np.where(cells.leaves[k], boundary.back[state, cells.tensor[k]], 0.0)

    def add(
        self,
        where: Bools,
        source: int | None,
        state: int,
        *,
        bank: int = -1,
        load: Floats | float = 0.0,
        store: Floats | float = 0.0,
    ) -> None:
        """Add arcs from ``source`` (a state before the step; None: ``state`` after) to ``state``.

        With a bank the byte is there in the step, the operation uses it there, and it is loaded and
        stored so many times; without, it goes through the stream bank.
        """
        k = np.flatnonzero(where)
        at = bank if bank >= 0 else STREAM_BANK
        inward, outward = (np.broadcast_to(x, where.shape)[k] for x in (load, store))
        step = self.cells.step[k]
        self.add_arcs(
            k,
            self.before(k, 0 if source is None else source),
            self.after(k, state),
            state=state,
            bank=bank,
            steps=(step, step + 1),
            moved=(inward, outward),
            read={at: outward + self._read[k]},
            write={at: inward + self._write[k]},
        )

    def add_arcs(
        self,
        k: Ints,
        source: Ints,
        target: Ints,
        *,
        state: int = -1,
        bank: int = -1,
        steps: tuple[Ints, Ints] | None = None,
        moved: tuple[Floats, Floats] | None = None,
        read: Mapping[int, Floats | float] = MappingProxyType({}),
        write: Mapping[int, Floats | float] = MappingProxyType({}),
        beyond: Floats | None = None,
    ) -> None:
        """Add arcs of the cells ``k`` between nodes; by bank, reads and writes of a byte."""
        step, nothing = self.cells.step[k], np.zeros(k.size)
        begin, end = steps or (step, step)
        inward, outward = moved or (nothing, nothing)
        # R6: the operation waits for loads of its operands; stores wait for it where it writes.
        waits = inward + outward * self._written[k]
        by_bank = np.zeros((2, k.size, self.facts.bank_count))
        for table, amounts in zip(by_bank, (read, write), strict=True):
            for at, amount in amounts.items():
                table[:, at] = amount
        self._parts.append(
            BankArcs(
                cell=k,
                source=source,
                target=target,
                state=np.full(k.size, state),
                bank=np.full(k.size, bank),
                begin=begin,
                end=end,
                moved_in=inward.astype(np.float64),
                moved_out=outward.astype(np.float64),
                serial=np.where(self.required_resident[k], waits, 0.0),
                read=by_bank[0],
                write=by_bank[1],
                beyond=self._after_all(k, state) if beyond is None else beyond,
            )
        )


def build_moves(net: BankNetwork) -> None:
    """(B1) As a step opens, R and D change the bank: read in one, written in the other."""
    cells, banks = net.cells, net.facts.bank_count
    inner = ~cells.first & ~cells.blind
    for state_of, where in ((net.clean, inner), (net.dirty, inner & cells.was_dirty)):
        k = np.flatnonzero(where)
        for source, target in permutations(range(banks), 2):
            nodes = (net.before(k, state_of(bank)) for bank in (source, target))
            net.add_arcs(k, *nodes, read={source: 1.0}, write={target: 1.0})


def build_gaps(net: BankNetwork) -> None:
    """(B2) In a step that does not write the tensor: N-N, N-R (load), R-R, D-D, D-R (store)."""
    cells = net.cells
    untouched, reads = cells.kind < 0, cells.kind == Access.READ
    plain = untouched | reads
    inner = plain & ~cells.first
    dirty = inner & cells.was_dirty
    k = np.flatnonzero(untouched)
    net.add_arcs(k, net.before(k, 0), net.after(k, 0))
    for b in range(net.facts.bank_count):
        net.add(reads | (untouched & cells.loads), 0, net.clean(b), bank=b, load=1.0)
        net.add(inner, net.clean(b), net.clean(b), bank=b)
        net.add(dirty & (cells.dirty | cells.dead), net.dirty(b), net.dirty(b), bank=b)
        net.add(dirty & ~cells.dead, net.dirty(b), net.clean(b), bank=b, store=1.0)
        k = np.flatnonzero((cells.following >= 0) & ~cells.dead)
        net.add_arcs(k, net.after(k, net.clean(b)), net.after(k, 0))


def build_streams(net: BankNetwork) -> None:
    """(B3) Inputs of an operation that are not resident are streamed, ``p`` times (R3)."""
    reads = net.cells.kind == Access.READ
    net.add(reads & ~net.required_resident, 0, 0, load=net.fetches)


def build_updates(net: BankNetwork) -> None:
    """(B4) Updated in place: N, R, D to D, or to R with a store; or ``p`` times each way."""
    cells = net.cells
    updates = cells.kind == Access.UPDATE
    inner = updates & ~cells.first
    stays, stored = cells.dirty | cells.dead, ~cells.dead
    for b in range(net.facts.bank_count):
        sources = (
            (0, updates, 1.0),
            (net.clean(b), inner, 0.0),
            (net.dirty(b), inner & cells.was_dirty, 0.0),
        )
        for source, where, load in sources:
            net.add(where & stays, source, net.dirty(b), bank=b, load=load)
            net.add(where & stored, source, net.clean(b), bank=b, load=load, store=1.0)
    live = net.fetches * ~cells.dead
    net.add(updates & ~net.required_resident, 0, 0, load=net.fetches, store=live)


def build_writes(net: BankNetwork) -> None:
    """(B5) Overwritten: to D, or to R with a store; or out ``p`` times and in ``p - 1`` (R4)."""
    cells = net.cells
    writes = cells.blind
    for b in range(net.facts.bank_count):
        net.add(writes & (cells.dirty | cells.dead), 0, net.dirty(b), bank=b)
        net.add(writes & ~cells.dead, 0, net.clean(b), bank=b, store=1.0)
    live = ~cells.dead
    again = np.maximum(net.fetches - 1, 0) * live
    net.add(writes & ~net.required_resident, 0, 0, load=again, store=net.fetches * live)


def build_carries(net: BankNetwork) -> None:
    """(B6) In the steps between two cells bytes remain as they are."""
    cells = net.cells
    k = np.flatnonzero(net.interval & ~cells.dead)
    follows = cells.following[k]
    for b in range(net.facts.bank_count):
        for state in (net.clean(b), net.dirty(b)):
            nodes = net.after(k, state), net.before(follows, state)
            net.add_arcs(k, *nodes, bank=b, steps=(cells.step[k] + 1, cells.step[follows]))


def build_entries(net: BankNetwork) -> None:
    """(B13) In a window of steps: from before it into each state, at the payments so far."""
    boundary = net.cells.boundary
    if boundary is None:
        return
    k = np.flatnonzero(net.cells.entered)
    for state in range(net.states):
        ahead = boundary.ahead[state, net.cells.tensor[k]]
        net.add_arcs(k, net.entry(k), net.before(k, state), beyond=ahead)


_FAMILIES = (
    build_moves,
    build_gaps,
    build_streams,
    build_updates,
    build_writes,
    build_carries,
    build_entries,
)
