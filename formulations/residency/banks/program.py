"""The linear program over the arcs: least cost of all bytes, within each bank and each port."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.residency.banks.network import NOWHERE, BankNetwork
from formulations.residency.banks.prices import BankMultipliers
from formulations.solver.program import Floats, Program, ProgramBuilder, SolverResult
from spmopt.core.shares import STREAM_BANK
from spmopt.core.table import Ints

_PARTS = 64
"""The largest bank has so many units of bytes."""


@dataclass(frozen=True, kw_only=True, eq=False)
class BankProgram:
    """A program, and how to read its solution.

    Columns: bytes of each arc; ``u_bi`` in use and, of steps with scratch, ``z_bi`` of it in each
    bank; ``e_i``, bytes that DRAM could move in the step (if time has a price). Rows: flow,
    occupancy, scratch, channels, serial, ports.
    """

    network: BankNetwork
    program: Program
    unit_bytes: float
    unit_price: float
    used: Ints
    channels: tuple[Ints, ...]
    ports: dict[int, Ints]

    def amounts(self, answer: SolverResult) -> Floats:
        """Bytes of each arc (c,)."""
        if answer.primal is None:
            raise ValueError("the solver returned no solution")
        count = len(self.network.arcs)
        return np.maximum(answer.primal[:count], 0.0) * self.unit_bytes

    def value(self, answer: SolverResult) -> float:
        """Objective of the solution, in objective units."""
        if answer.objective is None:
            raise ValueError("the solver returned no solution")
        scaled = answer.objective * self.unit_bytes * self.unit_price
        return scaled + self.network.facts.constant

    def multipliers(self, answer: SolverResult) -> BankMultipliers:
        """Prices from the duals of occupancy, channels and ports."""
        if answer.row_dual is None or answer.column_dual is None:
            raise ValueError("the solver returned no duals")
        facts, dual = self.network.facts, answer.row_dual * self.unit_price
        none = np.zeros(facts.line.steps)
        port = np.zeros(self.used.shape)
        for bank, rows in self.ports.items():
            port[bank] = dual[rows]
        channels = [dual[rows] for rows in self.channels] or [none]
        return BankMultipliers.legal(
            facts,
            hold=-answer.column_dual[self.used] * self.unit_price,
            load=channels[0],
            store=channels[-1],
            port=port,
        )


def build(network: BankNetwork) -> BankProgram:
    """Build the program over a network (README of this folder)."""
    facts, arcs = network.facts, network.arcs
    steps, bank_count = facts.line.steps, facts.bank_count
    unit = max(float(facts.capacity_bytes.max()) / _PARTS, 1.0)
    price = facts.byte_price
    moved = facts.in_byte * arcs.moved_in + facts.out_byte * arcs.moved_out
    moved = moved + arcs.read @ facts.read_byte + arcs.write @ facts.write_byte
    busy = np.flatnonzero(facts.scratch_bytes)
    build = ProgramBuilder()
    amount = build.columns(len(arcs), cost=moved / price)
    room = np.broadcast_to(facts.capacity_bytes[:, None] / unit, (bank_count, steps))
    used = build.columns(np.ones(room.shape, bool), upper=room)
    scratch = build.columns(np.ones((bank_count, busy.size), bool))
    _flow(build, network, amount, unit)
    _occupy(build, network, amount, carry_occupancy(build, used, scratch, busy))
    place_scratch(build, scratch, facts.scratch_bytes[busy] / unit)
    channels: tuple[Ints, ...] = ()
    ports: dict[int, Ints] = {}
    if facts.byte_time > 0:
        computing = facts.computing_bytes / unit
        time = build.columns(steps, cost=facts.byte_time / price, lower=computing)
        duration = _Duration(build=build, network=network, amount=amount, time=time)
        channels = _channels(duration)
        _serial(duration, computing)
        ported = np.flatnonzero(facts.ported).tolist()
        ports = {bank: _port(duration, bank, unit) for bank in ported}
    return BankProgram(
        network=network,
        program=build.program(),
        unit_bytes=unit,
        unit_price=price,
        used=used,
        channels=channels,
        ports=ports,
    )


def _flow(build: ProgramBuilder, network: BankNetwork, amount: Ints, unit: float) -> None:
    """(B7) What leaves a node is what enters it; a life starts with all its tensor's bytes."""
    arcs, cells = network.arcs, network.cells
    starts = np.flatnonzero(cells.first)
    supplied = network.before(starts, 0)
    ends = arcs.target != NOWHERE
    nodes = np.unique(np.concatenate((arcs.source, arcs.target[ends], supplied)))
    supply = np.zeros(nodes.size)
    supply[np.searchsorted(nodes, supplied)] = (
        network.facts.line.size_bytes[cells.tensor[starts]] / unit
    )
    row = build.rows(nodes.size, supply, supply)
    build.add(row[np.searchsorted(nodes, arcs.source)], amount, 1.0)
    build.add(row[np.searchsorted(nodes, arcs.target[ends])], amount[ends], -1.0)


def _occupy(build: ProgramBuilder, network: BankNetwork, amount: Ints, row: Ints) -> None:
    """(B8) ``u_b(i) = u_b(i-1)`` + what begins to lie in b in ``i`` - what ended."""
    arcs = network.arcs
    held = np.flatnonzero((arcs.bank >= 0) & (arcs.end > arcs.begin))
    build.add(row[arcs.bank[held], arcs.begin[held]], amount[held], -1.0)
    ended = held[arcs.end[held] < row.shape[1]]
    build.add(row[arcs.bank[ended], arcs.end[ended]], amount[ended], 1.0)


def carry_occupancy(build: ProgramBuilder, used: Ints, scratch: Ints, busy: Ints) -> Ints:
    """``u_b(i) = u_b(i-1)`` + scratch that begins - scratch that ended; rows (b, n) to add to.

    Parameters
    ----------
    used : (b, n)
        Columns of what is in use of each bank.
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


@dataclass(frozen=True, kw_only=True, eq=False)
class _Duration:
    """Columns of the durations ``time`` (n,), and of what takes time."""

    build: ProgramBuilder
    network: BankNetwork
    amount: Ints
    time: Ints

    def at_least(self, taken: Floats, least: Floats | float) -> Ints:
        """Rows ``e_i - sum of taken >= least``."""
        arcs, cells = self.network.arcs, self.network.cells
        row = self.build.rows(self.time.size, least)
        self.build.add(row, self.time, 1.0)
        self.build.add(row[cells.step[arcs.cell]], self.amount, -taken)
        return row


def _channels(duration: _Duration) -> tuple[Ints, ...]:
    """(B10) ``e_i`` >= bytes moved; with ``duplex`` each way, with the other's serial bytes."""
    arcs = duration.network.arcs
    if not duration.network.facts.duplex:
        return (duration.at_least(arcs.moved_in + arcs.moved_out, 0.0),)
    firm = arcs.serial > 0
    return (
        duration.at_least(arcs.moved_in + np.where(firm, arcs.moved_out, 0.0), 0.0),
        duration.at_least(arcs.moved_out + np.where(firm, arcs.moved_in, 0.0), 0.0),
    )


def _serial(duration: _Duration, computing: Floats) -> None:
    """(B11) ``e_i`` >= serial bytes + ``beta c_i``."""
    duration.at_least(duration.network.arcs.serial, computing)


def _port(duration: _Duration, bank: int, unit: float) -> Ints:
    """(B12) ``e_i`` >= serial bytes + what DRAM moves while the bank's port is busy."""
    facts, arcs = duration.network.facts, duration.network.arcs
    read, write = facts.read_ratio[bank], facts.write_ratio[bank]
    busy = arcs.serial + read * arcs.read[:, bank] + write * arcs.write[:, bank]
    loose: Floats | float = 0.0
    if bank == STREAM_BANK:
        loose = (read * facts.loose_read + write * facts.loose_write) / unit
    return duration.at_least(busy, loose)
