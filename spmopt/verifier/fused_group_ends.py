"""Dual values of bytes that are on chip when a fused group begins and when it ends.

A byte that the fused group finds pays a dual value of its group of tensors there, and one that it
leaves earns one; of bytes newer than DRAM these are others. For the same dual values the scratchpad
is filled at either end with the bytes that are worth most. That is again weak duality: the bytes
found are as many as were left there, in each group of tensors no more than are needed, and in all
no more than fit. Any dual values prove a bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.table import Ints
from spmopt.verifier.carried import REST, Carried
from spmopt.verifier.dual_check import INFINITE
from spmopt.verifier.paths import D, N, R, U

Take = Callable[..., int]
"""Returns the dual value of a row by name, 0 if it has none."""


class Ends:
    """Costs of bytes at both ends of a fused group, by state, tensors in groups.

    Attributes
    ----------
    groups
        Of tensors that cross an end, and ``REST``.
    untouched
        Bytes of each group that cross an end and that no operation uses here, by the ratio at which
        they move.
    """

    def __init__(
        self, carried: Carried, fused_group: FusedGroup, held: tuple[int, int], used: set[int]
    ) -> None:
        self._carried, self._held = carried, held
        self._boundaries = fused_group.begin, fused_group.end
        crossing = [carried.crossing[each] for each in self._boundaries]
        # Bytes of each group that are needed at the end; of the rest any that fit.
        self._most = [
            self._sum_up(each) | {REST: most} for each, most in zip(crossing, held, strict=True)
        ]
        self.groups = sorted({*self._most[0], *self._most[1]})
        both = crossing[0] | crossing[1]
        idle = dict[int, Counter[Fraction]]()
        for tensor, size in both.items():
            if tensor not in used:
                of_group = idle.setdefault(carried.group[tensor], Counter())
                of_group[carried.ratios[tensor]] += size
        self.untouched = [idle.get(group, Counter()) for group in self.groups]
        # Dual values by group: of a byte found, of one found newer than DRAM, and likewise left.
        self._duals: list[dict[int, tuple[int, int]]] = []

    def _sum_up(self, sizes: dict[int, int]) -> dict[int, int]:
        total = Counter[int]()
        for tensor, size in sizes.items():
            total[self._carried.group[tensor]] += size
        return dict(total)

    def number(self, tensor: int) -> int:
        """Return the place of a tensor's group; one that crosses neither end is of the rest."""
        group = self._carried.group[tensor]
        return self.groups.index(group if group in self.groups else REST)

    def read(self, take: Take) -> int:
        """Take the dual values of rows, and return the greatest magnitude of any sum of them.

        The rows: bytes found here were left there, those newer than DRAM are stored or left so;
        bytes left are found there, those newer than DRAM too.
        """
        for clean, dirty in (
            ("resident at begin", "write back of old"),
            ("resident at end", "dirty at end"),
        ):
            found = {g: (-take(clean, g), -take(dirty, g)) for g in self.groups}
            self._duals.append({g: (own, own - newer) for g, (own, newer) in found.items()})
        return max(abs(dual) for each in self._duals for both in each.values() for dual in both)

    def read_inner(self, take: Take) -> int:
        """Take those of a run: before and after each fusion tile all that fits may be on chip."""
        before, after = -take("capacity before tiles"), -take("capacity after tiles")
        self._duals = [{REST: (before, before)}, {REST: (0, -after)}]
        return max(abs(before), abs(after))

    def costs(self, shift: int) -> tuple[Ints, Ints]:
        """Return (4, 2 g) costs of a byte in each state at the begin, and at the end.

        Of each group where its contents are needed; then where they are not. In units of
        ``2**shift``; dual values are rounded down to that.
        """
        self._duals = [
            {g: (own >> shift, newer >> shift) for g, (own, newer) in each.items()}
            for each in self._duals
        ]
        self._shift, count = shift, len(self.groups)
        found, left = np.full((2, 4, 2 * count), INFINITE, np.int64)
        for at, group in enumerate(self.groups):
            begin, end = (each[group] for each in self._duals)
            found[N, at] = left[N, at] = 0
            if self._held[0]:
                found[R, at] = begin[0]
                newer = self._carried.newer(self._boundaries[0], group)
                found[D, at] = begin[1] if newer else INFINITE
            # After the last operation nothing is on chip: what is newer than DRAM must be stored.
            left[R, at] = -end[0]
            if self._held[1]:
                left[D, at] = -end[1]
        found[U, count:] = 0
        left[U] = 0
        return found, left

    @property
    def constant(self) -> int:
        """The least that full scratchpads at both ends cost, in exact units."""
        total = 0
        for end, (duals, held) in enumerate(zip(self._duals, self._held, strict=True)):
            sign, boundary = 1 - 2 * end, self._boundaries[end]
            free, worth = held, list[tuple[int, int]]()
            for group, (own, newer) in duals.items():
                y, z = self._carried.of(boundary, group)
                costs = [sign * (y - (own << self._shift))]
                if self._carried.newer(boundary, group):
                    costs.append(sign * (y - z - (newer << self._shift)))
                worth.append((min(costs), self._most[end].get(group, 0)))
            for cost, most in sorted(worth):
                if cost < 0:
                    total += cost * min(most, free)
                    free -= min(most, free)
        return total
