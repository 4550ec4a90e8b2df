"""Transfers of groups without a proof of their own, at dual values of boundaries, in integers.

At dual values of bytes carried across boundaries (:mod:`spmopt.verifier.carried`) a fused group
pays for bytes found on chip and earns for bytes left there. That of a fused group without a proof
of its own is known by its two ends alone. Two sums over bytes hold:

* of each byte the cheapest path, where to load it and to store it costs the same in all steps and
  room costs nothing: as if all of them fit;
* of each byte its loads and stores if nothing is found or left, less the most that a full
  scratchpad is worth at either end.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import ceil, floor

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.table import Ints
from spmopt.verifier.carried import READ, REST, Carried
from spmopt.verifier.dual_check import INFINITE

_MOST = 4
"""The most that a byte may cost at a boundary, in costs of moving one: more is never worth it."""


class BoundaryCredit:
    """Dual values at boundaries against costs of a byte that is read and of one that is stored.

    Parameters
    ----------
    digits
        Binary digits that prices at boundaries have, and those that results have.
    dearest
        Cost of a byte in and out in units of the results, rounded up.

    Raises
    ------
    InputError
        A dual value is far above the cost of moving a byte, so that sums could overflow.
    """

    def __init__(
        self, tileable: TileableGraph, carried: Carried, digits: tuple[int, int], dearest: int
    ) -> None:
        self.carried, self.count = carried, len(tileable.operations)
        self.sizes = [tensor.size_bytes for tensor in tileable.tensors]
        self.capacity = tileable.machine.spm_pages * tileable.machine.page_bytes
        most = max(digits)
        self._fine = Fraction(2) ** most
        self._given, self._shift = most - digits[0], most - digits[1]
        for (boundary, group), both in carried.duals.items():
            if max(map(abs, both)) << self._given > _MOST * dearest << self._shift:
                raise InputError(
                    f"certificate: boundary {boundary} has too high a dual value of {group}"
                )
        # Accesses of each tensor in order, with whether they read and write; at last the end.
        self._accesses: list[list[tuple[int, bool, bool]]] = [[] for _ in tileable.tensors]
        for at, operation in enumerate(tileable.operations):
            for t in operation.uses(0):
                self._accesses[t].append((at, t in operation.reads, t in operation.writes))
        for t, tensor in enumerate(tileable.tensors):
            self._accesses[t].append((self.count, tensor.keep, False))
        self._used = [t for t, each in enumerate(self._accesses) if len(each) > 1 and self.sizes[t]]

    def paths(self, into: Fraction, out: Fraction) -> Ints:
        """Return (n + 1, n + 1) the sum of the cheapest paths, by begins and ends of groups.

        A byte costs ``into`` where it is loaded, and ``out`` where it is stored, in units of the
        objective.
        """
        # In units of the results a cost is off by so much that millions of bytes gain by it.
        costs = floor(into * self._fine), floor(out * self._fine)
        total = np.zeros((self.count + 1, self.count + 1), np.int64)
        for t in self._used:
            self._add_paths(total, t, costs)
        return total

    def _dual(self, boundary: int, group: int) -> tuple[int, int]:
        held, newer = self.carried.of(boundary, group)
        return held << self._given, newer << self._given

    def _units(self, values: Iterable[int], size: int) -> Ints:
        """Return costs of so many bytes in units of the results, rounded down."""
        return np.array([value * size >> self._shift for value in values], np.int64)

    def _add_paths(self, total: Ints, t: int, costs: tuple[int, int]) -> None:
        """Add the paths of a tensor's bytes, access by access for all begins at once.

        States are those of :mod:`spmopt.verifier.paths`; one of no further use is in N.
        """
        size, group, count = self.sizes[t], self.carried.group[t], self.count
        ratio = self.carried.ratios[t]
        load, store = self._units((floor(ratio * each) for each in costs), size).tolist()
        duals = [self._dual(boundary, group) for boundary in range(count)]
        clean, dirty, left, newer = (
            self._units(each, size)
            for each in (
                [y for y, _ in duals],
                [y - z for y, z in duals],
                [-y for y, _ in duals],
                [z - y for y, z in duals],
            )
        )
        # Before the first operation nothing is on chip, nor after the last.
        clean[0] = INFINITE
        # Before the first write nothing is newer than DRAM.
        dirty[[not self.carried.newer(boundary, t) for boundary in range(count)]] = INFINITE
        left, newer = np.append(left, 0), np.append(newer, store)
        n, r, d = np.full((3, count + 1), INFINITE, np.int64)
        before = -1
        for at, reads, writes in self._accesses[t]:
            begins, here = slice(before + 1, min(at + 1, count)), slice(0, at + 1)
            n[begins] = 0
            if reads:
                r[begins], d[begins] = np.minimum(clean[begins], load), dirty[begins]
                np.minimum(r, d + store, out=r)
                # A byte in R may leave the chip.
                np.minimum(n, r, out=n)
            ends = slice(before + 1, at + 1)
            # All ends are alike where none has dual values, but for the last.
            some = slice(before + 1, before + 2) if group == REST and at < count else ends
            found = np.minimum(r[here, None] + left[some], d[here, None] + newer[some])
            if not reads:
                found = np.minimum(r, d)[here, None]
            total[here, ends] += np.minimum(n[here, None], found)
            if reads:
                # It is read from the chip, or streamed: then it costs a load as well.
                n[here] = r[here]
            if writes:
                # A blind write replaces bytes wherever they are.
                old = np.minimum(r, d) if reads else np.minimum(np.minimum(n, r), d)
                d[here] = old[here]
                n[here] = r[here] = d[here] + store
            before = at

    def full(self, cost_in: Fraction, cost_out: Fraction) -> Ints:
        """Return (n + 1, n + 1) the most that full scratchpads are worth at both ends."""
        # Rounded down they would be worth too little.
        into, out = ceil(cost_in * self._fine), ceil(cost_out * self._fine)
        needed = [dict[tuple[int, Fraction], int]() for _ in range(self.count + 1)]
        for t in self._used:
            before, kind = -1, (self.carried.group[t], self.carried.ratios[t])
            for at, reads, _ in self._accesses[t]:
                for boundary in range(before + 1, at + 1) if reads else ():
                    needed[boundary][kind] = needed[boundary].get(kind, 0) + self.sizes[t]
                before = at
        found, left = np.zeros((2, self.count + 1), np.int64)
        for boundary in range(1, self.count):
            entering, leaving = list[tuple[int, int]](), list[tuple[int, int]]()
            for (group, ratio), size in needed[boundary].items():
                held, newer = self._dual(boundary, group)
                # Rounded up: that much a byte is worth at most.
                load, store = ceil(ratio * into), ceil(ratio * out)
                entering.append((load - held + max(newer, 0), size))
                leaving.append((held + (0 if group == READ else max(store - newer, 0)), size))
            found[boundary], left[boundary] = self._worth(entering), self._worth(leaving)
        worth: Ints = found[:, None] + left[None, :]
        return worth

    def _worth(self, items: list[tuple[int, int]]) -> int:
        """Return the most that bytes that fit are worth, in units of the results, rounded up."""
        total, free = 0, self.capacity
        for worth, size in sorted(items, reverse=True):
            if worth > 0:
                total += worth * min(size, free)
                free -= min(size, free)
        return -(-total >> self._shift)
