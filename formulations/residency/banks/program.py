"""The linear program over the arcs: least cost of all bytes, within each bank and each port."""

from __future__ import annotations

import numpy as np

from formulations.residency.banks.duals import BankMultipliers
from formulations.residency.banks.network import NOWHERE, BankNetwork
from formulations.solver.program import Floats, ProgramBuilder, SolverResult
from spmopt.core.shares import STREAM_BANK
from spmopt.core.table import Bools, Ints

_PARTS = 64
"""The largest bank has so many units of bytes."""


class BankProgram:
    """The program over a network (README of this folder), and how to read its solution.

    Columns: bytes of each arc; ``u_bi`` in use and, of steps with scratch, ``z_bi`` of it in each
    bank; ``e_i``, bytes that DRAM could move in the step (if time has a dual value). Rows: flow,
    occupancy, scratch, channels, serial, ports.
    """

    def __init__(
        self, network: BankNetwork, barred: Bools | None = None, no_scratch: Bools | None = None
    ) -> None:
        """Build it.

        ``barred`` (c,): arcs that no byte may take; ``no_scratch`` (n, b): banks without scratch.
        """
        facts, arcs = network.facts, network.arcs
        self.network, self._build = network, ProgramBuilder()
        self.unit_bytes = max(float(facts.capacity_bytes.max()) / _PARTS, 1.0)
        self.unit_dual = facts.byte_dual
        moved = facts.in_byte * arcs.moved_in + facts.out_byte * arcs.moved_out
        moved = moved + arcs.read @ facts.read_byte + arcs.write @ facts.write_byte + arcs.beyond
        busy = np.flatnonzero(facts.scratch_bytes)
        most = np.inf if barred is None else np.where(barred, 0.0, np.inf)
        self._amount = self._build.columns(len(arcs), cost=moved / self.unit_dual, upper=most)
        room = facts.capacity_bytes[:, None] / self.unit_bytes
        every = np.ones((facts.bank_count, facts.line.steps), bool)
        self.used = self._build.columns(every, upper=room)
        none = np.zeros(every.shape, bool) if no_scratch is None else no_scratch.T
        most_scratch = np.where(none[:, busy], 0.0, np.inf)
        scratch = self._build.columns(every[:, busy], upper=most_scratch)
        self._flow()
        self._occupy(carry_occupancy(self._build, self.used, scratch, busy))
        place_scratch(self._build, scratch, facts.scratch_bytes[busy] / self.unit_bytes)
        self.channels: tuple[Ints, ...] = ()
        self.ports: dict[int, Ints] = {}
        if facts.byte_time > 0:
            dual = facts.byte_time / self.unit_dual
            computing = facts.computing_bytes / self.unit_bytes
            self._time = self._build.columns(facts.line.steps, cost=dual, lower=computing)
            self.channels = self._channels()
            self._serial(computing)
            self.ports = {
                bank: self._port(bank) for bank in np.flatnonzero(facts.banks_with_port).tolist()
            }
        self.program = self._build.program()

    def amounts(self, answer: SolverResult) -> Floats:
        """Return the bytes of each arc (c,)."""
        if answer.primal is None:
            raise ValueError("the solver returned no solution")
        return np.maximum(answer.primal[self._amount], 0.0) * self.unit_bytes

    def value(self, answer: SolverResult) -> float:
        """Return the objective of the solution, in objective units."""
        if answer.objective is None:
            raise ValueError("the solver returned no solution")
        scaled = answer.objective * self.unit_bytes * self.unit_dual
        return scaled + self.network.facts.constant

    def multipliers(self, answer: SolverResult) -> BankMultipliers:
        """Return the dual values from the duals of occupancy, channels and ports."""
        if answer.row_dual is None or answer.column_dual is None:
            raise ValueError("the solver returned no duals")
        facts, dual = self.network.facts, answer.row_dual * self.unit_dual
        port = np.zeros(self.used.shape)
        for bank, rows in self.ports.items():
            port[bank] = dual[rows]
        channels = [dual[rows] for rows in self.channels] or [np.zeros(facts.line.steps)]
        return BankMultipliers.legal(
            facts,
            hold=-answer.column_dual[self.used] * self.unit_dual,
            load=channels[0],
            store=channels[-1],
            port=port,
        )

    def _flow(self) -> None:
        """(B7) Flow out of a node equals flow into it.

        A life starts with all its tensor's bytes.
        """
        arcs, cells, line = self.network.arcs, self.network.cells, self.network.facts.line
        starts, entered = np.flatnonzero(cells.first), np.flatnonzero(cells.entered)
        supplied = np.concatenate((self.network.before(starts, 0), self.network.entry(entered)))
        starts = np.concatenate((starts, entered))
        ends = arcs.target != NOWHERE
        nodes = np.unique(np.concatenate((arcs.source, arcs.target[ends], supplied)))
        supply = np.zeros(nodes.size)
        size_bytes = line.size_bytes[cells.tensor[starts]]
        supply[np.searchsorted(nodes, supplied)] = size_bytes / self.unit_bytes
        row = self._build.rows(nodes.size, supply, supply)
        self._build.add(row[np.searchsorted(nodes, arcs.source)], self._amount, 1.0)
        target = row[np.searchsorted(nodes, arcs.target[ends])]
        self._build.add(target, self._amount[ends], -1.0)

    def _occupy(self, row: Ints) -> None:
        """(B8) ``u_b(i) = u_b(i-1)`` + pages that begin in b in ``i`` - pages that ended."""
        arcs = self.network.arcs
        held = np.flatnonzero((arcs.bank >= 0) & (arcs.end > arcs.begin))
        self._build.add(row[arcs.bank[held], arcs.begin[held]], self._amount[held], -1.0)
        ended = held[arcs.end[held] < row.shape[1]]
        self._build.add(row[arcs.bank[ended], arcs.end[ended]], self._amount[ended], 1.0)

    def _at_least(self, taken: Floats, least: Floats | float) -> Ints:
        """Add rows ``e_i - sum of taken >= least``."""
        row = self._build.rows(self._time.size, least)
        self._build.add(row, self._time, 1.0)
        step = self.network.cells.step[self.network.arcs.cell]
        self._build.add(row[step], self._amount, -taken)
        return row

    def _channels(self) -> tuple[Ints, ...]:
        """(B10) ``e_i`` >= bytes moved; with ``duplex`` each way, with the other's serial bytes."""
        arcs = self.network.arcs
        inward, outward = arcs.moved_in, arcs.moved_out
        if not self.network.facts.duplex:
            return (self._at_least(inward + outward, 0.0),)
        firm = arcs.serial > 0
        return (
            self._at_least(inward + np.where(firm, outward, 0.0), 0.0),
            self._at_least(outward + np.where(firm, inward, 0.0), 0.0),
        )

    def _serial(self, computing: Floats) -> None:
        """(B11) ``e_i`` >= serial bytes + ``beta c_i``."""
        self._at_least(self.network.arcs.serial, computing)

    def _port(self, bank: int) -> Ints:
        """(B12) ``e_i`` >= serial bytes + DRAM bytes while the bank's port is busy."""
        facts, arcs = self.network.facts, self.network.arcs
        read, write = facts.read_ratio[bank], facts.write_ratio[bank]
        busy = arcs.serial + read * arcs.read[:, bank] + write * arcs.write[:, bank]
        loose: Floats | float = 0.0
        if bank == STREAM_BANK:
            loose = (read * facts.loose_read + write * facts.loose_write) / self.unit_bytes
        return self._at_least(busy, loose)


def carry_occupancy(build: ProgramBuilder, used: Ints, scratch: Ints, busy: Ints) -> Ints:
    """Add ``u_b(i) = u_b(i-1)`` + scratch that begins - scratch that ended; return the rows (b, n).

    Parameters
    ----------
    used : (b, n) Columns of pages in use of each bank.
    scratch : (b, k)
        Columns of the scratch in each bank in the steps ``busy`` (k,).
    """
    row = build.rows(np.ones(used.shape, bool), 0.0, 0.0)
    build.add(row, used, 1.0)
    build.add(row[:, 1:], used[:, :-1], -1.0)
    build.add(row[:, busy], scratch, -1.0)
    over = busy + 1 < used.shape[1]
    build.add(row[:, busy[over] + 1], scratch[:, over], 1.0)
    return row


def place_scratch(build: ProgramBuilder, scratch: Ints, needed: Floats) -> None:
    """(B9) The scratch of a step lies in some banks: of ``scratch`` (b, k) ``needed`` (k,)."""
    row = build.rows(needed.size, needed, needed)
    build.add(row[None, :], scratch, 1.0)
