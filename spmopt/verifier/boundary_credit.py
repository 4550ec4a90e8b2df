"""Upper bounds on the earnings of groups at boundaries, beside plain costs, in exact integers.

At dual values of bytes carried across boundaries (:mod:`spmopt.verifier.carried`) a fused group
pays for bytes found on chip and earns for bytes left there. That of a fused group without a proof
of its own is known by its two ends alone. Of each byte that is needed at one of them, these are all
cases: it is found, or not; it is left, or not; newer than DRAM, or not. Costs that are plain to see
count each byte that the fused group must read of before, and each that it writes and somebody needs
later; bytes found are not loaded, and newer bytes left are not stored.

Two sums over bytes hold: of the least that each may cost by its way, as if all of them fit; and of
the most that a full scratchpad is worth at either end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.table import Ints
from spmopt.verifier.carried import READ, REST, Carried

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
        self._given, self._shift = most - digits[0], most - digits[1]
        self._never = _MOST * dearest << self._shift
        for (boundary, group), both in carried.duals.items():
            if max(map(abs, both)) << self._given > self._never:
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

    def least(self, into: int, out: int) -> Ints:
        """Return (n + 1, n + 1) the least that fused groups pay at their ends beside other costs.

        Other costs are ``into`` of each byte that is needed from before, and ``out`` of each that
        is written and needed later, in units of the results.
        """
        self._into, self._out = into << self._shift, out << self._shift
        found, left = self._full()
        full: Ints = -found[:, None] - left[None, :]
        full = np.maximum(full, self._by_bytes())
        return full

    def _dual(self, boundary: int, group: int) -> tuple[int, int]:
        held, newer = self.carried.of(boundary, group)
        return held << self._given, newer << self._given

    def _units(self, values: Iterable[int], size: int) -> Ints:
        """Return costs of so many bytes in units of the results, rounded down."""
        return np.array([value * size >> self._shift for value in values], np.int64)

    def _full(self) -> tuple[Ints, Ints]:
        """Return (n + 1,) the worth of a full scratchpad at boundaries.

        When found and when left.
        """
        needed: list[dict[int, int]] = [{} for _ in range(self.count + 1)]
        for t, accesses in enumerate(self._accesses):
            before, group = -1, self.carried.group[t]
            for at, reads, _ in accesses if len(accesses) > 1 else ():
                for boundary in range(before + 1, at + 1) if reads else ():
                    needed[boundary][group] = needed[boundary].get(group, 0) + self.sizes[t]
                before = at
        found, left = np.zeros((2, self.count + 1), np.int64)
        for boundary in range(1, self.count):
            entering, leaving = list[tuple[int, int]](), list[tuple[int, int]]()
            for group, size in needed[boundary].items():
                held, newer = self._dual(boundary, group)
                entering.append((self._into - held + max(newer, 0), size))
                stored = 0 if group == READ else max(self._out - newer, 0)
                leaving.append((held + stored, size))
            found[boundary], left[boundary] = self._worth(entering), self._worth(leaving)
        return found, left

    def _worth(self, items: list[tuple[int, int]]) -> int:
        """Return the most that bytes that fit are worth, in units of the results, rounded up."""
        total, free = 0, self.capacity
        for worth, size in sorted(items, reverse=True):
            if worth > 0:
                total += worth * min(size, free)
                free -= min(size, free)
        return -(-total >> self._shift)

    def _by_bytes(self) -> Ints:
        """Return (n + 1, n + 1) the sum of the least that each byte costs by its way."""
        total = np.zeros((self.count + 1, self.count + 1), np.int64)
        for t, accesses in enumerate(self._accesses):
            if len(accesses) == 1 or not self.sizes[t]:
                continue
            ways = self._ways(t)
            before = -1
            for number, (at, reads, _) in enumerate(accesses):
                if reads:
                    self._require(total, accesses, number, (before + 1, at), ways)
                    self._write(total, accesses, number, (before + 1, at), ways)
                before = at
        return total

    def _ways(self, t: int) -> dict[str, Ints]:
        """Return (n + 1,) the costs of a tensor's bytes at a boundary by their state there.

        Nothing is on chip before the first operation and after the last.
        """
        size, group, last = self.sizes[t], self.carried.group[t], self.count
        duals = [
            self._dual(boundary, group) if group != REST else (0, 0) for boundary in range(last)
        ]
        held, newer = [y for y, _ in duals], [z for _, z in duals]
        held[0], newer[0] = self._never * 2, 0
        clean, dirty = held, [y - z for y, z in zip(held, newer, strict=True)]
        earned = [-y for y in held] + [0]
        owed = [z - y for y, z in zip(held, newer, strict=True)] + [self._out]
        earned[0] = owed[0] = 0
        least = [min(0, y) for y in earned]
        return {
            "clean": self._units([*clean, 0], size),
            "dirty": self._units([*dirty, 0], size),
            # What was found, or read anyway, may be left.
            "left": self._units(least, size),
            # So may the loads for that.
            "loaded": self._units([min(0, self._into + y) for y in earned], size),
            # What was found newer than DRAM is stored, or left so.
            "owed": self._units(
                [min(self._out + low, z) for low, z in zip(least, owed, strict=True)], size
            ),
            # What is written is stored, and may be left, or is left newer.
            "written": self._units(
                [min(low, z - self._out) for low, z in zip(least, owed, strict=True)], size
            ),
            "read": self._units([self._into] * (last + 1), size) + 1,
        }

    def _require(
        self,
        total: Ints,
        accesses: Sequence[tuple[int, bool, bool]],
        number: int,
        begins: tuple[int, int],
        ways: dict[str, Ints],
    ) -> None:
        """Add the cost of a tensor to groups that begin where it is read next by one access."""
        first, at = begins[0], min(begins[1], self.count)
        rows = slice(first, at + 1)
        clean, dirty = ways["clean"][rows, None], ways["dirty"][rows, None]

        def ways_of(columns: slice, read: Ints | int, none: Ints) -> Ints:
            left, owed = ways["left"][None, columns], ways["owed"][None, columns]
            found = np.minimum(clean - read + left, dirty - read + owed)
            least: Ints = np.minimum(found, none[None, columns])
            return least

        # Fused groups that end before it: only those with begin < end are any.
        total[rows, first : at + 1] += ways_of(slice(first, at + 1), 0, ways["loaded"])
        if at == self.count:
            return
        read = ways["read"][rows, None]
        # Then fused groups in which it is only read, as long as it is needed after.
        unwritten = at
        for here, (now, _, writes) in enumerate(accesses[number:-1], number):
            if writes:
                break
            following, reads, _ = accesses[here + 1]
            unwritten = following if reads else now
        end = min(unwritten, self.count)
        total[rows, at + 1 : end + 1] += ways_of(slice(at + 1, end + 1), read, ways["left"])
        # In all others the bytes found are used up.
        used = np.minimum(np.minimum(clean, dirty) - read, 0)
        total[rows, end + 1 :] += used

    def _write(
        self,
        total: Ints,
        accesses: Sequence[tuple[int, bool, bool]],
        number: int,
        ends: tuple[int, int],
        ways: dict[str, Ints],
    ) -> None:
        """Add the cost of a tensor to fused groups that write it and end where it is read next."""
        wrote = max((now for now, _, writes in accesses[:number] if writes), default=-1)
        columns = slice(ends[0], min(ends[1], self.count) + 1)
        total[: wrote + 1, columns] += ways["written"][None, columns]
