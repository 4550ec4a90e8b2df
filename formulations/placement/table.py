"""What is known of all parts together, and steps with each of them under one capacity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from formulations.placement import greedy
from formulations.placement.dives import Dives
from formulations.placement.hunt import Hunt, Limit, Tools, Verdict
from formulations.placement.part import split
from formulations.placement.units import in_units
from spmopt.core.errors import ScheduleError
from spmopt.core.placement import Buffer, Placed, Placement, require_placement
from spmopt.core.result import Status
from spmopt.core.table import Ints


class Table:
    """The lowest offsets found of each part, and a height that no placement is below.

    Attributes
    ----------
    bound
        Units.
    effort
        Spent on steps and dives, in nodes of a search or what takes as long.
    """

    def __init__(self, buffers: Sequence[Buffer], limit: Limit) -> None:
        self.limit = limit
        self.units = in_units(buffers)
        self.parts = split(self.units)
        self.effort = 0
        self.bound = max((part.load for part in self.parts), default=0)
        self._buffers = buffers
        self._found: dict[int, tuple[Ints, str]] = {}
        self._tools = [Tools(part) for part in self.parts]
        self._hunts: dict[tuple[int, int], Hunt] = {}
        self._dives: dict[int, Dives] = {}
        self._proof = "load"
        self._lowest = max(((b.fixed_bytes or 0) + b.size_bytes for b in buffers), default=0)

    @property
    def bound_bytes(self) -> int:
        """A height that no placement is below."""
        return max(self.bound * self.units.unit_bytes, self._lowest)

    @property
    def height(self) -> int | None:
        """Of what was found, in units; None until all parts have offsets."""
        if len(self._found) < len(self.parts):
            return None
        return max((self._height(k) for k in self._found), default=0)

    def step(self, capacity: int, *, exploring: bool = False) -> Verdict:
        """Go on by one step with each part that is not yet under ``capacity``."""
        done = True
        for k in range(len(self.parts)):
            if k in self._found and self._height(k) <= capacity:
                continue
            if (k, capacity) not in self._hunts:
                self._hunts[k, capacity] = Hunt(self._tools[k], capacity, exploring=exploring)
            hunt = self._hunts[k, capacity]
            before = hunt.effort
            hunt.step(self.limit)
            self.effort += max(1, hunt.effort - before)
            if hunt.verdict is Verdict.INFEASIBLE:
                self._prove(capacity + 1, hunt.method)
                return Verdict.INFEASIBLE
            if hunt.offsets is None:
                done = False
            else:
                self._keep(k, hunt.offsets, hunt.method)
        return Verdict.FOUND if done else Verdict.OPEN

    def dive(self) -> bool:
        """Search the tallest part once, in passing; there must be offsets of all parts.

        False, and nothing done, if it cannot be searched.
        """
        k = max(self._found, key=self._height)
        ground = self._tools[k].ground
        if ground is None:
            return False
        if k not in self._dives:
            self._dives[k] = Dives(ground)
        dives = self._dives[k]
        before = dives.nodes
        found = dives.dive(self.bound, self._height(k), self.limit.over)
        if found is not None:
            self._keep(k, found[1], found[0])
        self.effort += max(1, dives.nodes - before)
        return True

    def fit(self, capacity: int, larger_than: int = 0) -> None:
        """Place parts of more than ``larger_than`` buffers the greedy ways, until one is enough."""
        for k, part in enumerate(self.parts):
            if len(part) <= larger_than or (k in self._found and self._height(k) <= capacity):
                continue
            for method, offsets in greedy.fits(part):
                self._keep(k, offsets, method)
                if self._height(k) <= capacity or self.limit.over():
                    break

    def answer(self, capacity_bytes: int | None) -> Placed:
        """What is known, for least height or under ``capacity_bytes``."""
        placement = self._placement(capacity_bytes)
        status, method = Status.UNKNOWN, ""
        if placement is not None:
            optimal = placement.height_bytes <= self.bound_bytes
            status = Status.OPTIMAL if optimal else Status.FEASIBLE
            method = "; ".join(sorted({method for _, method in self._found.values()}))
        elif capacity_bytes is not None and self.bound_bytes > capacity_bytes:
            status, method = Status.INFEASIBLE, self._proof
        return Placed(
            status=status,
            placement=placement,
            bound_bytes=self.bound_bytes,
            method=method,
        )

    def _placement(self, capacity_bytes: int | None) -> Placement | None:
        if self.height is None:
            return None
        offsets = np.zeros(self.units.ids.size, dtype=np.int64)
        for k, (found, _) in self._found.items():
            offsets[self.parts[k].ids] = found
        placement = Placement.of(self._buffers, self.units.offsets_bytes(offsets))
        if capacity_bytes is not None and placement.height_bytes > capacity_bytes:
            return None
        require_placement(self._buffers, placement, capacity_bytes)
        return placement

    def _height(self, k: int) -> int:
        return greedy.height(self.parts[k], self._found[k][0])

    def _keep(self, k: int, offsets: Ints, method: str) -> None:
        if k not in self._found or greedy.height(self.parts[k], offsets) < self._height(k):
            self._found[k] = offsets, method
            self._tell()
            height = self._height(k)
            for key in [key for key in self._hunts if key[0] == k and key[1] >= height]:
                del self._hunts[key]

    def _prove(self, bound: int, proof: str) -> None:
        if bound > self.bound:
            self.bound, self._proof = bound, proof
            self._tell()

    def _tell(self) -> None:
        found = self.height
        if found is not None:
            found = max(found * self.units.unit_bytes, self._lowest)
        self.limit.better(found, self.bound_bytes)


def hinted(buffers: Sequence[Buffer], capacity_bytes: int | None) -> Placement | None:
    """The hints as a placement, if all buffers have one and they are one."""
    if not buffers or any(buffer.hint_bytes is None for buffer in buffers):
        return None
    placement = Placement.of(buffers, [buffer.hint_bytes or 0 for buffer in buffers])
    try:
        require_placement(buffers, placement, capacity_bytes)
    except ScheduleError:
        return None
    return placement
