"""Knowledge about all parts, and the shares of effort of attempts at them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import inf

from formulations.placement import greedy
from formulations.placement.attempts import Attempt, Dives
from formulations.placement.parts import Part, split
from formulations.placement.tree import searchable
from spmopt.core.placement import Buffer, Placed, Placement, require_placement
from spmopt.core.result import Status
from spmopt.core.scheduler import Incumbent, Request
from spmopt.core.table import Ints


@dataclass(kw_only=True)
class _PartProgress:
    """The lowest offsets (k,) found of a part, if any, their source, and attempts by capacity."""

    part: Part
    dives: Dives | None
    offsets: Ints | None = None
    height: int = 0
    method: str = ""
    under: dict[int, Attempt] = field(default_factory=dict)

    def reaches(self, capacity: int) -> bool:
        """Whether offsets under ``capacity`` are known."""
        return self.offsets is not None and self.height <= capacity


class Progress:
    """The lowest offsets found of each part, and a height that no placement is below.

    Attributes
    ----------
    unit_bytes
        Of a unit.
    bound
        Units.
    effort
        Spent on steps and dives, in nodes of a search or equal work.
    """

    def __init__(self, buffers: Sequence[Buffer], request: Request) -> None:
        self._request, self._params = request, request.params.placement
        self.unit_bytes, parts = split(buffers)
        self.effort = 0
        self.bound = max((part.load for part in parts), default=0)
        self._parts = [
            _PartProgress(part=part, dives=Dives(part, self._params) if searchable(part) else None)
            for part in parts
        ]
        self._buffers = buffers
        self._proof = "load"
        self._lowest = max(((b.fixed_bytes or 0) + b.size_bytes for b in buffers), default=0)

    @property
    def bound_bytes(self) -> int:
        """A height that no placement is below."""
        return max(self.bound * self.unit_bytes, self._lowest)

    def may_reach(self, height_bytes: int | None) -> bool:
        """Whether a placement may be that low."""
        return height_bytes is None or self.bound_bytes <= height_bytes

    @property
    def height(self) -> int | None:
        """Of the result, in units; None until all parts have offsets."""
        if any(each.offsets is None for each in self._parts):
            return None
        return max((each.height for each in self._parts), default=0)

    def step(self, capacity: int, *, exploring: bool = False) -> None:
        """Go on by one step with each part that is not yet under ``capacity``."""
        for each in self._parts:
            if each.reaches(capacity):
                continue
            if capacity not in each.under:
                attempt = Attempt(each.part, capacity, self._request, exploring=exploring)
                each.under[capacity] = attempt
            attempt = each.under[capacity]
            before = attempt.effort
            attempt.step()
            self.effort += max(1, attempt.effort - before)
            if attempt.status is Status.INFEASIBLE:
                # One part that does not fit is enough: no placement is that low.
                self.bound, self._proof = capacity + 1, attempt.method
                self._report()
                return
            if attempt.offsets is not None:
                self._keep(each, attempt.offsets, attempt.method)

    def dive(self) -> bool:
        """Search the tallest part once, in passing; there must be offsets of all parts.

        False, and nothing done, if it cannot be searched.
        """
        tallest = max(self._parts, key=lambda each: each.height)
        dives = tallest.dives
        if dives is None:
            return False
        before = dives.nodes
        found = dives.dive(self.bound, tallest.height, self._request.is_over)
        if found is not None:
            self._keep(tallest, found[1], found[0])
        self.effort += max(1, dives.nodes - before)
        return True

    def fit(self, capacity: int, larger_than: int = 0) -> None:
        """Place parts of more than ``larger_than`` buffers the greedy ways, until one is enough."""
        for each in self._parts:
            if len(each.part) <= larger_than or each.reaches(capacity):
                continue
            for method, offsets in greedy.fits(each.part):
                self._keep(each, offsets, method)
                if each.reaches(capacity) or self._request.is_over():
                    break

    def search(self, ceiling: int | None, *, lowest: bool) -> None:
        """Look for any placement under ``ceiling`` (units), or the lowest, until time is over.

        Three ways share the effort, so that none starves the others:

        1. Steps under the ceiling, or at the bound for least height, which find a placement there
           or raise the bound: a tight capacity is often easier than a loose one.
        2. Dives, which come down fast from far above, and slowly later.
        3. For least height, steps at heights between the bound and the best, each with as little
           effort as any other: which heights are easy is a matter of luck.
        """
        params = self._params
        shares = dict(zip(("target", "ladder", "dives"), params.effort, strict=True))
        largest = max((len(each.part) for each in self._parts), default=0)
        patience = 1 if largest > params.greedy_buffers else params.patience
        target = self.bound if lowest or ceiling is None else ceiling
        self.fit(target, params.greedy_buffers)
        spent = {"dives": 0.0, "ladder": 0.0 if lowest else inf, "target": 0.0}
        rungs: dict[int, int] = defaultdict(int)
        for number in count():
            if lowest:
                target = self.bound
            over = self._request.is_over()
            alone = number < patience if lowest else self.effort <= params.feasible_effort
            if self.height is None and (not alone or (lowest and over)):
                self.fit(target)
            if over or self._reaches(target) or (ceiling is not None and self.bound > ceiling):
                return
            way = "target" if alone or self.height is None else min(spent, key=spent.__getitem__)
            before = self.effort
            if way == "ladder":
                top = (self.height or 0) - 1
                rung = self._rung(top if ceiling is None else min(top, ceiling), rungs)
                self.step(rung, exploring=True)
                rungs[rung] += self.effort - before
            elif way == "target":
                self.step(target)
            elif (not lowest and target <= self.bound) or not self.dive():
                spent[way] = inf
            # Under a capacity dives take no part of the effort before them.
            if lowest or not alone:
                spent[way] += (self.effort - before) / shares[way]

    def _rung(self, top: int, rungs: Mapping[int, int]) -> int:
        """The height above the bound, up to ``top``, on which the least was spent: ``rungs``."""
        # The same heights as before where they can be.
        step = 1 << ((top - self.bound) // self._params.heights).bit_length()
        ladder = range(self.bound // step * step + step, top + 1, step)
        return min(ladder or [top], key=lambda height: (rungs[height], -height))

    def _reaches(self, target: int) -> bool:
        return all(each.reaches(target) for each in self._parts)

    def answer(self, capacity_bytes: int | None) -> Placed:
        """Return the result, for least height or under ``capacity_bytes``."""
        placement = self._placement(capacity_bytes)
        status, method = Status.UNKNOWN, ""
        if placement is not None:
            optimal = placement.height_bytes <= self.bound_bytes
            status = Status.OPTIMAL if optimal else Status.FEASIBLE
            method = "; ".join(sorted({each.method for each in self._parts}))
        elif capacity_bytes is not None and self.bound_bytes > capacity_bytes:
            status, method = Status.INFEASIBLE, self._proof
        return Placed(
            status=status,
            placement=placement,
            bound_bytes=self.bound_bytes,
            method=method,
        )

    def _placement(self, capacity_bytes: int | None) -> Placement | None:
        offsets = [buffer.fixed_bytes or 0 for buffer in self._buffers]
        for each in self._parts:
            if each.offsets is None:
                return None
            found = (each.offsets * self.unit_bytes).tolist()
            for k, offset in zip(each.part.ids.tolist(), found, strict=True):
                offsets[k] = offset
        placement = Placement.of(self._buffers, offsets)
        if capacity_bytes is not None and placement.height_bytes > capacity_bytes:
            return None
        require_placement(self._buffers, placement, capacity_bytes)
        return placement

    def _keep(self, each: _PartProgress, offsets: Ints, method: str) -> None:
        height = greedy.height(each.part, offsets)
        if each.offsets is not None and height >= each.height:
            return
        each.offsets, each.height, each.method = offsets, height, method
        self._report()
        # Capacities that are reached need no attempt any more.
        each.under = {room: each.under[room] for room in each.under if room < height}

    def _report(self) -> None:
        found = self.height
        if found is not None:
            found = max(found * self.unit_bytes, self._lowest)
        self._request.on_incumbent(Incumbent(value=found, bound=self.bound_bytes, certified=True))
