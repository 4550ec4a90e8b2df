"""Reads and writes of each bank in every step, and the busy time of its port.

Every byte that touches a bank counts once for each touch: a move reads the old bank and writes the
new one, a load writes, a store reads, a stream goes through the stream bank (in writes it, out
reads it, each fetch), and an operation reads and writes its operands where they are
(:mod:`spmopt.core.shares`). A port does one thing after the other; a step's operation lasts at
least as long as the busiest port needs for everything of that step.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import ceil

import numpy as np

from spmopt.core.machine import Bank
from spmopt.core.schedule import Command
from spmopt.core.shares import STREAM_BANK, Shares
from spmopt.core.table import Ints
from spmopt.verifier.arrays import ScheduleArrays
from spmopt.verifier.extents import Addresses, Extent

Table = list[list[Fraction]]
"""By step, then by bank."""


@dataclass(frozen=True, kw_only=True, eq=False)
class BankUse:
    """Bytes read and written, by step and bank, exact."""

    read: Table
    write: Table

    def totals(self) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
        """Bytes read and written by each bank."""
        return (
            tuple(sum(column, Fraction(0)) for column in zip(*self.read, strict=True)),
            tuple(sum(column, Fraction(0)) for column in zip(*self.write, strict=True)),
        )


def bank_use(view: ScheduleArrays) -> BankUse:
    """Follow the addresses of a schedule, step by step; there must be banks."""
    return _Count(view).use()


def port_cycles(view: ScheduleArrays, use: BankUse) -> Ints:
    """Return (n, banks) cycles that each port needs for a step, rounded up; 0 without rates."""
    machine = view.problem.machine

    def cycles(bank: Bank, read: Fraction, written: Fraction) -> int:
        rates = (bank.read_bytes_per_s, bank.write_bytes_per_s)
        amounts = zip((read, written), rates, strict=True)
        seconds = sum((size / rate for size, rate in amounts if rate is not None), Fraction(0))
        return ceil(seconds * machine.clock_hz)

    found = [
        [cycles(*each) for each in zip(machine.banks, read, written, strict=True)]
        for read, written in zip(use.read, use.write, strict=True)
    ]
    return np.array(found, np.int64).reshape(-1, len(machine.banks))


class _Count:
    """Adds up the reads and writes of every step."""

    def __init__(self, view: ScheduleArrays) -> None:
        self._view = view
        pages = view.problem.machine.bank_pages
        self._edges = [0, *accumulate(pages)]
        steps = view.timeline.steps
        self._read: Table = [[Fraction(0)] * len(pages) for _ in range(steps)]
        self._write: Table = [[Fraction(0)] * len(pages) for _ in range(steps)]
        self._addresses = Addresses(view.schedule.placements)

    def use(self) -> BankUse:
        """Count everything."""
        line, schedule = self._view.timeline, self._view.schedule
        commands, moves = schedule.commands, schedule.moves
        steps = np.arange(line.steps + 1)
        first = np.searchsorted(commands.step, steps).tolist()
        first_move = np.searchsorted(moves.step, steps).tolist()
        shares = Shares.of(line)
        for step in range(line.steps):
            chosen = range(first_move[step], first_move[step + 1])
            rows = [(int(moves.tensor[k]), int(moves.begin[k]), int(moves.end[k])) for k in chosen]
            self._add(self._read[step], rows)
            # A move reads the old addresses and writes the new ones.
            self._addresses.advance(step)
            self._add(self._write[step], rows)
            for row in range(first[step], first[step + 1]):
                self._command(step, row)
            self._operation(step, shares)
        return BankUse(read=self._read, write=self._write)

    def _command(self, step: int, row: int) -> None:
        commands = self._view.schedule.commands
        kind, tensor = int(commands.kind[row]), int(commands.tensor[row])
        begin, end = int(commands.begin[row]), int(commands.end[row])
        into = kind in (Command.LOAD, Command.STREAM_IN)
        side = (self._write if into else self._read)[step]
        if kind in (Command.LOAD, Command.STORE):
            self._add(side, [(tensor, begin, end)])
        else:
            side[STREAM_BANK] += (end - begin) * int(commands.fetches[row])

    def _operation(self, step: int, shares: Shares) -> None:
        line = self._view.timeline
        self._read[step][STREAM_BANK] += shares.loose_read[step]
        self._write[step][STREAM_BANK] += shares.loose_write[step]
        for access in range(int(line.first[step]), int(line.first[step + 1])):
            tensor = int(line.tensor[access])
            resident = int(self._view.resident_bytes[access])
            bytes_in = self._by_bank([(tensor, 0, resident)])
            # Bytes that are not resident go through the stream bank.
            bytes_in[STREAM_BANK] += int(line.size_bytes[tensor]) - resident
            for bank, size in enumerate(bytes_in):
                self._read[step][bank] += size * shares.read[access]
                self._write[step][bank] += size * shares.write[access]

    def _add(self, side: list[Fraction], ranges: list[tuple[int, int, int]]) -> None:
        for bank, size in enumerate(self._by_bank(ranges)):
            side[bank] += size

    def _by_bank(self, ranges: list[tuple[int, int, int]]) -> list[int]:
        """Bytes of the ranges (tensor, begin, end) by bank, where they lie now."""
        total = [0] * (len(self._edges) - 1)
        page = self._view.page_bytes
        for tensor, begin, end in ranges:
            if begin == end:
                continue
            for extent in self._addresses.part(tensor, begin // page, -(-end // page)):
                for bank, size in self._by_edges(extent, begin, end):
                    total[bank] += size
        return total

    def _by_edges(self, extent: Extent, begin: int, end: int) -> list[tuple[int, int]]:
        """Return the banks of an extent, and how many of the bytes [begin, end) lie in each."""
        low, high, shift = extent
        page = self._view.page_bytes
        pieces = []
        for bank in range(len(self._edges) - 1):
            first, last = max(low, self._edges[bank]), min(high, self._edges[bank + 1])
            if first < last:
                size = min(end, (last + shift) * page) - max(begin, (first + shift) * page)
                pieces.append((bank, max(size, 0)))
        return pieces
