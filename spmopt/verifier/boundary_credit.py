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
from functools import cached_property
from math import ceil, floor

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.table import Ints
from spmopt.verifier.carried import REST, Carried
from spmopt.verifier.dual_check import INFINITE

_BITS = 61
"""Binary digits of the largest sums, one less than there are: two of them are added."""
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
        last = [(self.count, False, False)]
        once = [each[0][1:] == (True, False) and each[1:] == last for each in self._accesses]
        self._once = [t for t in self._used if once[t]]
        self._often = [t for t in self._used if not once[t]]
        self._known: dict[int, tuple[Ints, Ints, Ints, Ints]] = {}
        # Digits that single bytes may have beyond those of results, so that no sum overflows.
        largest = _MOST * dearest * ceil(tileable.machine.most_moved) * max(sum(self.sizes), 1)
        self._beyond = max(0, min(self._shift, _BITS - largest.bit_length()))

    def paths(self, into: Fraction, out: Fraction) -> Ints:
        """Return (n + 1, n + 1) the sum of the cheapest paths, by begins and ends of groups.

        A byte costs ``into`` where it is loaded, and ``out`` where it is stored, in units of the
        objective.
        """
        # In units of the results a cost is off by so much that millions of bytes gain by it.
        costs = floor(into * self._fine), floor(out * self._fine)
        total, beyond = np.zeros((2, self.count + 1, self.count + 1), np.int64)
        for t in self._often:
            self._add_paths(total, beyond, t, costs)
        # All ends beyond the last use are alike.
        total += beyond.cumsum(axis=1)
        for kind in {(self.carried.group[t], self.carried.ratios[t]) for t in self._once}:
            total += self._paths_of_once(kind, costs[0])
        return total

    def _paths_of_once(self, kind: tuple[int, Fraction], into: int) -> Ints:
        """Return the sum of the cheapest paths of bytes that are read once, and never written.

        Most bytes of an inference are such. All of a kind are alike but for the operation that
        reads them: sums over these are differences of sums from the first on.
        """
        group, ratio = kind
        read = [0] * (self.count + 1)
        for t in self._once:
            if (self.carried.group[t], self.carried.ratios[t]) == kind:
                read[self._accesses[t][0][0] + 1] += self.sizes[t]
        upto = np.cumsum(read)
        load = floor(ratio * into)
        duals = [self._dual(boundary, group)[0] for boundary in range(self.count)]
        drop = self._shift - self._beyond
        comes = np.array([load >> drop, *(min(y, load) >> drop for y in duals[1:]), 0], np.int64)
        leaves = np.array([*(-y >> drop for y in duals), 0], np.int64)
        # A group that has the read; and one before it, which may find such bytes and leave them.
        within = comes[:, None] * (upto[None, :] - upto[:, None])
        before = np.minimum(comes[:, None] + np.minimum(leaves, 0)[None, :], 0)
        before *= (upto[-1] - upto)[None, :]
        found: Ints = within + before >> self._beyond
        return found

    def _dual(self, boundary: int, group: int) -> tuple[int, int]:
        held, newer = self.carried.of(boundary, group)
        return held << self._given, newer << self._given

    def _units(self, values: Iterable[int], size: int) -> Ints:
        """Return costs of so many bytes in units of the results, rounded down."""
        return np.array([value * size >> self._shift for value in values], np.int64)

    def _at_boundaries(self, t: int) -> tuple[Ints, Ints, Ints, Ints]:
        """Return (n,) costs of a tensor's bytes at boundaries.

        Found clean, found dirty, left clean, and left dirty.
        """
        known = self._known.get(t)
        if known is not None:
            return known
        size, group, count = self.sizes[t], self.carried.group[t], self.count
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
        self._known[t] = clean, dirty, left, newer
        return clean, dirty, left, newer

    def _add_paths(self, total: Ints, beyond: Ints, t: int, costs: tuple[int, int]) -> None:
        """Add the paths of a tensor's bytes, access by access for all begins at once.

        States are those of :mod:`spmopt.verifier.paths`; one of no further use is in N. Of ends
        beyond the last use ``beyond`` has the first.
        """
        group, count, ratio = self.carried.group[t], self.count, self.carried.ratios[t]
        each = (floor(ratio * cost) for cost in costs)
        load, store = self._units(each, self.sizes[t]).tolist()
        clean, dirty, left, newer = self._at_boundaries(t)
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
            if reads:
                # All ends are alike where none has dual values, but for the last.
                some = slice(before + 1, before + 2) if group == REST and at < count else ends
                found = np.minimum(r[here, None] + left[some], d[here, None] + newer[some])
                total[here, ends] += np.minimum(n[here, None], found)
            elif at == count:
                beyond[here, before + 1] += np.minimum(n, np.minimum(r, d))[here]
            else:
                total[here, ends] += np.minimum(n, np.minimum(r, d))[here, None]
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
        needed = self._needs
        found, left = np.zeros((2, self.count + 1), np.int64)
        for boundary in range(1, self.count):
            entering, leaving = list[tuple[int, int]](), list[tuple[int, int]]()
            for (group, ratio), size in needed[boundary].items():
                held, newer = self._dual(boundary, group)
                # Rounded up: that much a byte is worth at most.
                load, store = ceil(ratio * into), ceil(ratio * out)
                entering.append((load - held + max(newer, 0), size))
                saved = max(store - newer, 0) if self.carried.newer(boundary, group) else 0
                leaving.append((held + saved, size))
            found[boundary], left[boundary] = self._worth(entering), self._worth(leaving)
        worth: Ints = found[:, None] + left[None, :]
        return worth

    @cached_property
    def _needs(self) -> list[dict[tuple[int, Fraction], int]]:
        """Bytes that are needed at each boundary, by group and ratio."""
        needed = [dict[tuple[int, Fraction], int]() for _ in range(self.count + 1)]
        for t in self._used:
            before, kind = -1, (self.carried.group[t], self.carried.ratios[t])
            for at, reads, _ in self._accesses[t]:
                for boundary in range(before + 1, at + 1) if reads else ():
                    needed[boundary][kind] = needed[boundary].get(kind, 0) + self.sizes[t]
                before = at
        return needed

    def _worth(self, items: list[tuple[int, int]]) -> int:
        """Return the most that bytes that fit are worth, in units of the results, rounded up."""
        total, free = 0, self.capacity
        for worth, size in sorted(items, reverse=True):
            if worth > 0:
                total += worth * min(size, free)
                free -= min(size, free)
        return -(-total >> self._shift)
