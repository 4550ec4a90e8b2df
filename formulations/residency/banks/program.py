"""The linear program over the arcs: least cost of all bytes, within each bank and each port."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.residency.banks.network import NOWHERE, Network
from formulations.residency.banks.prices import BankMultipliers
from formulations.residency.banks.rows import RowTable
from formulations.solver.program import Answer, Floats, Program, compressed
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

    network: Network
    program: Program
    unit_bytes: float
    unit_price: float
    channels: tuple[int, ...]
    ports: dict[int, int]

    def amounts(self, answer: Answer) -> Floats:
        """Bytes of each arc (c,)."""
        if answer.primal is None:
            raise ValueError("the solver returned no solution")
        count = len(self.network.arcs)
        return np.maximum(answer.primal[:count], 0.0) * self.unit_bytes

    def value(self, answer: Answer) -> float:
        """Objective of the solution, in objective units."""
        if answer.objective is None:
            raise ValueError("the solver returned no solution")
        scaled = answer.objective * self.unit_bytes * self.unit_price
        return scaled + self.network.facts.constant

    def multipliers(self, answer: Answer) -> BankMultipliers:
        """Prices from the duals of occupancy, channels and ports."""
        if answer.row_dual is None or answer.column_dual is None:
            raise ValueError("the solver returned no duals")
        facts, steps = self.network.facts, self.network.facts.line.steps
        first, banks = len(self.network.arcs), facts.banks
        hold = -answer.column_dual[first : first + banks * steps].reshape(banks, steps)
        none = np.zeros(steps)
        port = np.zeros((banks, steps))
        channels = [answer.row_dual[row : row + steps] for row in self.channels] or [none]
        for bank, row in self.ports.items():
            port[bank] = answer.row_dual[row : row + steps]
        return BankMultipliers.legal(
            facts,
            hold=hold * self.unit_price,
            load=channels[0] * self.unit_price,
            store=channels[-1] * self.unit_price,
            port=port * self.unit_price,
        )


def build(network: Network) -> BankProgram:
    """Build the program over a network (README of this folder)."""
    facts, arcs = network.facts, network.arcs
    steps, banks = facts.line.steps, facts.banks
    unit = max(float(facts.capacity_bytes.max()) / _PARTS, 1.0)
    price = facts.byte_price
    timed = facts.byte_time > 0
    rows = RowTable()
    _flow(network, rows, unit)
    layout = _Layout(
        arcs=len(arcs), banks=banks, steps=steps, busy=np.flatnonzero(facts.scratch_bytes)
    )
    _occupy(network, rows, layout)
    _scratch(network, rows, layout, unit)
    channels: tuple[int, ...] = ()
    ports: dict[int, int] = {}
    if timed:
        channels = _channels(network, rows, layout)
        _serial(network, rows, layout, unit)
        ports = {
            bank: _port(network, rows, layout, bank, unit)
            for bank in np.flatnonzero(facts.ported).tolist()
        }
    lower, upper, cost = _columns(network, layout, unit, price, timed=timed)
    return BankProgram(
        network=network,
        program=Program(
            cost=cost,
            lower=lower,
            upper=upper,
            row_lower=np.concatenate(rows.lower),
            row_upper=np.concatenate(rows.upper),
            matrix=compressed(*rows.triplets(), cost.size, by_rows=False),
        ),
        unit_bytes=unit,
        unit_price=price,
        channels=channels,
        ports=ports,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Layout:
    """Where columns stand."""

    arcs: int
    banks: int
    steps: int
    busy: Ints

    @property
    def used(self) -> Ints:
        """(b, n) Occupancy."""
        return self.arcs + np.arange(self.banks * self.steps).reshape(self.banks, self.steps)

    @property
    def scratch(self) -> Ints:
        """(b, busy) Scratch in each bank."""
        first = self.arcs + self.banks * self.steps
        return first + np.arange(self.banks * self.busy.size).reshape(self.banks, self.busy.size)

    @property
    def time(self) -> Ints:
        """(n,) Duration."""
        first = self.arcs + self.banks * (self.steps + self.busy.size)
        return first + np.arange(self.steps)


def _flow(network: Network, rows: RowTable, unit: float) -> None:
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
    first = rows.family(supply, supply)
    own = np.arange(len(arcs))
    rows.add(first + np.searchsorted(nodes, arcs.source), own, 1.0)
    rows.add(first + np.searchsorted(nodes, arcs.target[ends]), own[ends], -1.0)


def _occupy(network: Network, rows: RowTable, layout: _Layout) -> None:
    """(B8) ``u_b(i) = u_b(i-1)`` + what begins to lie in b in ``i`` - what ended."""
    arcs, steps = network.arcs, layout.steps
    zero = np.zeros(layout.banks * steps)
    first = rows.family(zero, zero)
    row = first + np.arange(zero.size).reshape(layout.banks, steps)
    rows.add(row.ravel(), layout.used.ravel(), 1.0)
    rows.add(row[:, 1:].ravel(), layout.used[:, :-1].ravel(), -1.0)
    held = np.flatnonzero((arcs.bank >= 0) & (arcs.end > arcs.begin))
    rows.add(row[arcs.bank[held], arcs.begin[held]], held, -1.0)
    ended = held[arcs.end[held] < steps]
    rows.add(row[arcs.bank[ended], arcs.end[ended]], ended, 1.0)
    for bank in range(layout.banks):
        rows.add(row[bank, layout.busy], layout.scratch[bank], -1.0)
        over = layout.busy + 1 < steps
        rows.add(row[bank, layout.busy[over] + 1], layout.scratch[bank][over], 1.0)


def _scratch(network: Network, rows: RowTable, layout: _Layout, unit: float) -> None:
    """(B9) The scratch of a step lies in some banks."""
    needed = network.facts.scratch_bytes[layout.busy] / unit
    first = rows.family(needed, needed)
    for bank in range(layout.banks):
        rows.add(first + np.arange(needed.size), layout.scratch[bank], 1.0)


def _channels(network: Network, rows: RowTable, layout: _Layout) -> tuple[int, ...]:
    """(B10) ``e_i`` >= bytes moved; with ``duplex`` each way, with the other's serial bytes."""
    arcs = network.arcs
    if not network.facts.duplex:
        return (_lasts(network, rows, layout, arcs.moved_in + arcs.moved_out, 0.0),)
    firm = arcs.serial > 0
    return (
        _lasts(network, rows, layout, arcs.moved_in + np.where(firm, arcs.moved_out, 0.0), 0.0),
        _lasts(network, rows, layout, arcs.moved_out + np.where(firm, arcs.moved_in, 0.0), 0.0),
    )


def _serial(network: Network, rows: RowTable, layout: _Layout, unit: float) -> None:
    """(B11) ``e_i`` >= serial bytes + ``beta c_i``."""
    _lasts(network, rows, layout, network.arcs.serial, network.facts.computing_bytes / unit)


def _port(network: Network, rows: RowTable, layout: _Layout, bank: int, unit: float) -> int:
    """(B12) ``e_i`` >= serial bytes + what DRAM moves while the bank's port is busy."""
    facts, arcs = network.facts, network.arcs
    read, write = facts.read_ratio[bank], facts.write_ratio[bank]
    busy = arcs.serial + read * arcs.read[:, bank] + write * arcs.write[:, bank]
    loose = np.zeros(layout.steps)
    if bank == STREAM_BANK:
        loose = (read * facts.loose_read + write * facts.loose_write) / unit
    return _lasts(network, rows, layout, busy, loose)


def _lasts(
    network: Network, rows: RowTable, layout: _Layout, taken: Floats, least: Floats | float
) -> int:
    """Rows ``e_i - sum of taken >= least``."""
    lower = np.broadcast_to(np.asarray(least, np.float64), layout.steps)
    first = rows.family(lower, np.full(layout.steps, np.inf))
    rows.add(first + np.arange(layout.steps), layout.time, 1.0)
    some = np.flatnonzero(taken)
    step = network.cells.step[network.arcs.cell[some]]
    rows.add(first + step, some, -taken[some])
    return first


def _columns(
    network: Network, layout: _Layout, unit: float, price: float, *, timed: bool
) -> tuple[Floats, Floats, Floats]:
    """Bounds and costs of all columns."""
    facts, arcs = network.facts, network.arcs
    moved = facts.in_byte * arcs.moved_in + facts.out_byte * arcs.moved_out
    moved = moved + arcs.read @ facts.read_byte + arcs.write @ facts.write_byte
    room = np.repeat(facts.capacity_bytes, layout.steps) / unit
    scratch = np.zeros(layout.scratch.size)
    cost = np.concatenate((moved / price, np.zeros(room.size), scratch))
    lower = np.zeros(cost.size)
    upper = np.concatenate((np.full(len(arcs), np.inf), room, scratch + np.inf))
    if timed:
        lower = np.concatenate((lower, facts.computing_bytes / unit))
        upper = np.concatenate((upper, np.full(layout.steps, np.inf)))
        cost = np.concatenate((cost, np.full(layout.steps, facts.byte_time / price)))
    return lower, upper, cost
