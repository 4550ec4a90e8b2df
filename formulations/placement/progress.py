"""Knowledge about all parts, and the shares of effort of attempts at them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from formulations.placement import greedy
from formulations.placement.attempts import CapacityAttempt, PartProgress, SearchLimit
from formulations.placement.parts import Verdict, in_units, split
from spmopt.core.placement import Buffer, Placed, Placement, require_placement
from spmopt.core.result import Status
from spmopt.core.table import Ints


class Progress:
    """The lowest offsets found of each part, and a height that no placement is below.

    Attributes
    ----------
    bound
        Units.
    effort
        Spent on steps and dives, in nodes of a search or equal work.
    """

    def __init__(self, buffers: Sequence[Buffer], limit: SearchLimit) -> None:
        self.limit, self._params = limit, limit.params
        self.units = in_units(buffers)
        self.parts = [PartProgress(part, limit.params) for part in split(self.units)]
        self.effort = 0
        self.bound = max((each.part.load for each in self.parts), default=0)
        self._buffers = buffers
        self._found: list[PartProgress] = []
        self._proof = "load"
        self._lowest = max(((b.fixed_bytes or 0) + b.size_bytes for b in buffers), default=0)

    @property
    def bound_bytes(self) -> int:
        """A height that no placement is below."""
        return max(self.bound * self.units.unit_bytes, self._lowest)

    def may_reach(self, height_bytes: int | None) -> bool:
        """Whether a placement may be that low."""
        return height_bytes is None or self.bound_bytes <= height_bytes

    @property
    def height(self) -> int | None:
        """Of the result, in units; None until all parts have offsets."""
        if len(self._found) < len(self.parts):
            return None
        return max((each.height for each in self._found), default=0)

    @property
    def largest(self) -> int:
        """Buffers of the largest part."""
        return max((len(each.part) for each in self.parts), default=0)

    def step(self, capacity: int, *, exploring: bool = False) -> Verdict:
        """Go on by one step with each part that is not yet under ``capacity``."""
        done = True
        for each in self.parts:
            if each.reaches(capacity):
                continue
            if capacity not in each.under:
                each.under[capacity] = CapacityAttempt(each, capacity, exploring=exploring)
            attempt = each.under[capacity]
            before = attempt.effort
            attempt.step(self.limit)
            self.effort += max(1, attempt.effort - before)
            if attempt.verdict is Verdict.INFEASIBLE:
                # One part that does not fit is enough: no placement is that low.
                if capacity >= self.bound:
                    self.bound, self._proof = capacity + 1, attempt.method
                    self._report()
                return Verdict.INFEASIBLE
            if attempt.offsets is None:
                done = False
            else:
                self._keep(each, attempt.offsets, attempt.method)
        return Verdict.FOUND if done else Verdict.OPEN

    def dive(self) -> bool:
        """Search the tallest part once, in passing; there must be offsets of all parts.

        False, and nothing done, if it cannot be searched.
        """
        tallest = max(self._found, key=lambda each: each.height)
        dives = tallest.dives
        if dives is None:
            return False
        before = dives.nodes
        found = dives.dive(self.bound, tallest.height, self.limit.over)
        if found is not None:
            self._keep(tallest, found[1], found[0])
        self.effort += max(1, dives.nodes - before)
        return True

    def fit(self, capacity: int, larger_than: int = 0) -> None:
        """Place parts of more than ``larger_than`` buffers the greedy ways, until one is enough."""
        for each in self.parts:
            if len(each.part) <= larger_than or each.reaches(capacity):
                continue
            for method, offsets in greedy.fits(each.part):
                self._keep(each, offsets, method)
                if each.reaches(capacity) or self.limit.over():
                    break

    def fill(self, capacity: int) -> None:
        """Look for any placement under ``capacity`` (units): by steps, later by dives as well."""
        self.fit(capacity, self._params.greedy_buffers)
        diving, dived = capacity > self.bound, 0
        alone = self._params.feasible_effort
        while not self.limit.over() and self.step(capacity) is Verdict.OPEN:
            if self.height is None and self.effort > alone:
                self.fit(capacity)
            while diving and dived < self.effort // 2 - alone and not self.limit.over():
                if self.height is None or self.height <= capacity:
                    break
                before = self.effort
                diving = self.dive()
                dived += self.effort - before

    def descend(self, ceiling: int | None) -> None:
        """Look for least height until it is found or time is over.

        Three ways share the effort, so that none starves the others:

        1. Steps at the bound, which find a placement there or raise it: a tight capacity is often
           easier than a loose one.
        2. Dives, which come down fast from far above, and slowly later.
        3. Steps at heights between the bound and the best, each with as little effort as any other:
           which heights are easy is a matter of luck.

        Heights above ``ceiling`` (units) are of no use.
        """
        self.fit(self.bound, self._params.greedy_buffers)
        params = self._params
        for _ in range(1 if self.largest > params.greedy_buffers else params.patience):
            if self.limit.over() or self.step(self.bound) is not Verdict.OPEN:
                break
        if self.height is None:
            self.fit(self.bound)
        at_bound, between, by_dives = params.effort
        spent = {"dives": 0.0, "ladder": 0.0, "bound": self.effort / at_bound}
        rungs: dict[int, int] = defaultdict(int)
        while not self.limit.over():
            improved = None if self.height is None else self.height - 1
            top = min(most for most in (improved, ceiling) if most is not None)
            if top < self.bound:
                break
            before = self.effort
            match min(spent, key=spent.__getitem__):
                case "bound":
                    self.step(self.bound)
                    spent["bound"] += (self.effort - before) / at_bound
                case "ladder":
                    ladder = _ladder(self.bound, top, params.heights)
                    rung = min(ladder, key=lambda height: (rungs[height], -height))
                    self.step(rung, exploring=True)
                    rungs[rung] += self.effort - before
                    spent["ladder"] += (self.effort - before) / between
                case _:
                    # Nothing is spent on parts that are too large for it.
                    dived = self.dive()
                    spent["dives"] += (self.effort - before) / by_dives if dived else float("inf")

    def answer(self, capacity_bytes: int | None) -> Placed:
        """Return the result, for least height or under ``capacity_bytes``."""
        placement = self._placement(capacity_bytes)
        status, method = Status.UNKNOWN, ""
        if placement is not None:
            optimal = placement.height_bytes <= self.bound_bytes
            status = Status.OPTIMAL if optimal else Status.FEASIBLE
            method = "; ".join(sorted({each.method for each in self._found}))
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
        for each in self._found:
            if each.offsets is not None:
                offsets[each.part.ids] = each.offsets
        placement = Placement.of(self._buffers, self.units.offsets_bytes(offsets))
        if capacity_bytes is not None and placement.height_bytes > capacity_bytes:
            return None
        require_placement(self._buffers, placement, capacity_bytes)
        return placement

    def _keep(self, each: PartProgress, offsets: Ints, method: str) -> None:
        height = greedy.height(each.part, offsets)
        if each.offsets is None:
            self._found.append(each)
        elif height >= each.height:
            return
        each.offsets, each.height, each.method = offsets, height, method
        self._report()
        # Capacities that are reached need no attempt any more.
        each.under = {room: each.under[room] for room in each.under if room < height}

    def _report(self) -> None:
        found = self.height
        if found is not None:
            found = max(found * self.units.unit_bytes, self._lowest)
        self.limit.on_improved(found, self.bound_bytes)


def _ladder(bound: int, top: int, least: int) -> list[int]:
    """Heights above the bound, the same ones as before where they can be."""
    step = 1 << ((top - bound) // least).bit_length()
    return list(range(bound // step * step + step, top + 1, step)) or [top]
