"""One part under one capacity: searches and CP-SAT in turns, each round with twice the effort.

Each is quick where the other is stuck. What searches learned stays from round to round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from time import monotonic

import numpy as np

from formulations.placement.orders import LEARNED, SEARCHED
from formulations.placement.part import Part
from formulations.placement.sat import Answer, Learner
from formulations.placement.search import End, Search, searchable
from spmopt.core.table import Ints

_NODES, _CONFLICTS = 1.3, 80
_LAST_ROUND = 16  # the last with more effort than the one before
_ALONE = 24_000  # nodes that cost as much as loading the solver
_SHARE = 3  # most that learning may cost, in what searching did
_LOOSE = 10  # times as many where there is room left, and a conflict is dear


class Verdict(Enum):
    """What is known of a part under a capacity."""

    OPEN = "open"
    FOUND = "found"
    INFEASIBLE = "infeasible"  # proved


@dataclass(frozen=True, kw_only=True)
class Limit:
    """When to stop: after some time, or when told to."""

    time_limit_s: float
    stop: Callable[[], bool] = bool  # never
    begun_s: float = field(default_factory=monotonic)

    def left_s(self) -> float:
        """Seconds left, 0 when told to stop."""
        return 0.0 if self.stop() else max(0.0, self.begun_s + self.time_limit_s - monotonic())

    def spent_s(self) -> float:
        """Seconds since the beginning."""
        return monotonic() - self.begun_s

    def over(self) -> bool:
        """Whether none are."""
        return self.left_s() <= 0


class Hunt:
    """Rounds of looking for offsets of ``part`` under ``capacity``.

    Attributes
    ----------
    offsets : (k,)
        Once found.
    method
        What found them, or proved that there are none.

    ``exploring`` is for one capacity of several, any of which would do.
    """

    def __init__(self, part: Part, capacity: int, *, exploring: bool = False) -> None:
        self.verdict = Verdict.OPEN
        self.offsets: Ints | None = None
        self.method = ""
        self._part = part
        self._learner = Learner(part)
        self._capacity = capacity
        self._round = self._learned = self._price = 0
        self._alone = _ALONE * (_LOOSE if exploring and capacity > part.load else 1)
        self._searches: dict[str, Search] = {}
        if part.load > capacity:
            self.verdict, self.method = Verdict.INFEASIBLE, "load"
        elif searchable(part):
            self._searches = {word: Search(part, capacity, word) for word in SEARCHED}

    def step(self, limit: Limit) -> None:
        """One round, if it is open, within ``limit``."""
        nodes = int(_NODES * len(self._part) * 2 ** min(self._round, _LAST_ROUND))
        self._round += 1
        for word, search in list(self._searches.items()):
            if self._over(limit):
                return
            end = search.run(nodes, limit.over)
            if end is End.FOUND:
                self._found(search.offsets, f"search, order {word}")
            elif end is End.EXHAUSTED and self._part.rectangles:
                self.verdict, self.method = Verdict.INFEASIBLE, "search"
            elif end is End.EXHAUSTED:
                del self._searches[word]
        spent = sum(search.nodes for search in self._searches.values())
        if not self._over(limit) and (
            not self._searches or spent > max(self._alone, self._price / _SHARE)
        ):
            self._learn(limit)

    def _learn(self, limit: Limit) -> None:
        conflicts = _CONFLICTS * 3 ** min(self._learned, _LAST_ROUND)
        self._learned += 1
        # A conflict visits most of the sections' members; a tenth of a node is one of them.
        self._price += len(LEARNED) * conflicts * np.count_nonzero(self._part.needs) // 10
        for word in LEARNED:
            if self._over(limit):
                return
            answer, offsets = self._learner.solve(
                self._capacity,
                word,
                conflicts=conflicts,
                time_limit_s=limit.left_s(),
                stop=limit.over,
            )
            if offsets is not None:
                self._found(offsets, f"CP-SAT, order {word}")
            elif answer is Answer.INFEASIBLE:
                self.verdict, self.method = Verdict.INFEASIBLE, "CP-SAT"

    def _over(self, limit: Limit) -> bool:
        return self.verdict is not Verdict.OPEN or limit.over()

    def _found(self, offsets: Ints, method: str) -> None:
        self.verdict, self.offsets, self.method = Verdict.FOUND, offsets, method
