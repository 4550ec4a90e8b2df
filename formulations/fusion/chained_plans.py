"""Fusion plans of low cost, found at the dual values at which the groups of others agree.

A program of all fused groups of a plan in a row (:mod:`formulations.fusion.chain`) has the least
cost of the plan, and the worth of a byte on chip at each boundary. At these dual values another
group costs less than those in its place where it is better beside their neighbors: the cheapest
path is the next plan, until one is no better. That is the pricing of column generation, of which
each round has one plan.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import cached_property
from itertools import islice

import numpy as np

from formulations.fusion.boundary_duals import PricedFusedGroup
from formulations.fusion.chain import Chain, chain
from formulations.fusion.paths import FusedGroupArcs
from formulations.fusion.priced_arcs import SOLVERS, PricedArcs
from formulations.fusion.tileable import Listed
from formulations.solver.program import Floats
from spmopt.core.fusion.fused_groups import FusedGroup, FusionPlan
from spmopt.core.table import Bools

_BETWEEN = 20
"""Programs that are built between two times at which the bound is yielded."""
_ROUNDS = 4
"""Paths searched between two such times."""
_HALF = 0.5
"""Of a byte's transfer: the dual value of a byte at every boundary, for the first plan."""
_ENOUGH = 0.5
"""Of the gain that the cheapest path promises: a plan that gains so much is the next."""
_FAILURES = 4
"""Plans in a row that are no better than the best, before a search ends."""
STEP = 2e-4
"""Of an operation's mean cost: the worth of a step less, which takes time to schedule."""


class ChainedPlans(PricedArcs):
    """Searches fusion plans of low cost.

    Attributes
    ----------
    plans
        Fusion plans whose fused groups have agreed. The cost of their programs then is a lower
        bound on the plan's, but for sums with dual values.
    least, cheapest
        The least of these, and its plan in the groups of the bound.
    """

    def __init__(self, arcs: FusedGroupArcs, *, fine: bool = False) -> None:
        super().__init__(arcs, fine=fine)
        self.plans: dict[FusionPlan, Chain] = {}
        self.cheapest: FusionPlan = ()
        self.least, self._told = np.inf, 0
        mean = max(self.listed.compulsory, 0.0) / max(self.listed.count, 1)
        self._steps = STEP * mean * self.sparse.steps(self._tiles).astype(np.float64)

    def improve(self, *starts: Chain) -> Iterator[float]:
        """Search better plans, from the dual values of some on; yield the bound often.

        First of groups between natural boundaries, which are few, then of all. The first plan is
        the best where a byte on chip is worth half of its transfer at every boundary.
        """
        few = self._natural()
        fusion_plan = yield from self._cheapest_among(few, self._half(), -np.inf)
        first = yield from self._agree_along(fusion_plan)
        starts = (first, *starts)
        for among in (few, np.ones_like(few)):
            for start in starts:
                yield from self._improve_plan(among, start)
            starts = (self.plans[self.arcs.join_untiled(self.cheapest)],) if self.plans else ()

    @cached_property
    def guess(self) -> FusionPlan:
        """A plan that is found without programs: often 1 to 5 % worse than the first of others."""
        value = self._table(self._half()) + np.where(self._natural(), self._steps, np.inf)
        return self.sparse.shortest(value, self.listed.fused_group)[1]

    def first_plan(self) -> Iterator[float]:
        """Solve the programs of the guess."""
        yield from self._agree_along(self.guess)
        yield self.best

    def _half(self) -> Floats:
        return np.full(self.duals.count, _HALF * self.planes.unit)

    def _natural(self) -> Bools:
        """Return (a,) which groups are of one operation, or between natural boundaries."""
        natural = np.isin(self.sparse.begin, [0, *self.listed.boundaries])
        natural &= np.isin(self.sparse.end, [*self.listed.boundaries, self.listed.count])
        found: Bools = natural | (self.sparse.end - self.sparse.begin == 1)
        return found

    def new_plans(self) -> tuple[tuple[FusionPlan, Chain], ...]:
        """Return the plans that agreed since this was last asked, without duals."""
        found = islice(self.plans.items(), self._told, None)
        self._told = len(self.plans)
        return tuple((each, own._replace(duals=None)) for each, own in found)

    def _agree_along(self, fusion_plan: FusionPlan) -> Generator[float, None, Chain]:
        """Return the dual values that are best for a fusion plan; none where it is too long.

        Where much is on chip for long, as weights that are loaded ahead, planes that begin at no
        dual values would not come there. The bound is yielded now and then: its hearer need not
        wait for all programs.
        """
        known = self.plans.get(self.arcs.join_untiled(fusion_plan))
        if known is not None:
            return known
        priced, size = list[PricedFusedGroup](), 0
        for fused_group in fusion_plan:
            priced.append(self._program_of(fused_group))
            size += priced[-1].size
            if len(priced) % _BETWEEN == 0:
                yield self.best
            if size > SOLVERS:
                return Chain()
        if not priced:
            return Chain()
        found = chain(priced, self.duals.count)
        self.arcs.work.seconds += found.work_s
        if found.duals is None:
            return found
        found = found._replace(duals=self.planes.clip(found.duals))
        self.plans.setdefault(self.arcs.join_untiled(fusion_plan), found)
        if found.least < self.least:
            self.least, self.cheapest = found.least, fusion_plan
        return found

    def _improve_plan(self, among: Bools, found: Chain) -> Iterator[float]:
        """Look for fusion plans of some fused groups, each at the dual values of the one before.

        At these a group costs less than those in its place where it is better beside their
        neighbors. It ends where the cheapest plan is no better than the one before.
        """
        before, duals, failed = Chain(), found.duals, 0
        while found.duals is not None:
            if found.least < before.least:
                before, duals, failed = found, found.duals, 0
            elif failed == _FAILURES:
                return
            else:
                failed += 1
                # Dual values of one plan are not the only ones at which it agrees.
                assert before.duals is not None
                duals = before.duals + (found.duals - before.duals) * 0.5**failed
            assert duals is not None
            least = -np.inf if failed else before.least
            fusion_plan = yield from self._cheapest_among(among, duals, least)
            found = yield from self._agree_along(fusion_plan)
            yield self.best

    def _cheapest_among(
        self, among: Bools, duals: Floats, least: float
    ) -> Generator[float, None, FusionPlan]:
        """Return the cheapest fusion plan of some fused groups at dual values.

        Or one that gains half as much on ``least``, as soon as there is one: the next ones come
        sooner so. All of it is solved; of sums, for which such values are estimates, too.
        """
        sums: dict[int, float] = {}
        extra = np.where(among, self._steps, np.inf)
        solved, rounds = np.full(extra.size, np.inf), 0
        while True:
            value = self._table(duals) + extra
            value[list(sums)] = np.array([*sums.values()]) + extra[list(sums)]
            bound, fusion_plan = self.sparse.shortest(value, self.listed.fused_group)
            places = self._at(fusion_plan).tolist()
            where = {
                each: place
                for each, place in zip(fusion_plan, places, strict=True)
                if not (place in sums if self._sums(each) else self._is_tight(each, duals))
            }
            if not where:
                return fusion_plan
            for each, place in where.items():
                if self._sums(each):
                    sums[place] = self._estimate(each, duals)
                else:
                    self._solve(each, duals)
            value = self._table(duals) + extra
            solved[places] = [sums.get(at, value[at]) for at in places]
            known, found = self.sparse.shortest(solved, self.listed.fused_group)
            if least - known >= _ENOUGH * (least - bound) > 0:
                return found
            rounds += 1
            if rounds % _ROUNDS == 0:
                yield self.best

    def _estimate(self, fused_group: FusedGroup, duals: Floats) -> float:
        """Return the cost of a group that sums up a tensor with dual values: it proves nothing."""
        known = self._program_of(fused_group)
        known.solve(duals)
        self.arcs.work.seconds += known.work_s
        return known.value


def single_operations(listed: Listed) -> FusionPlan:
    """Return a fusion plan of single operations, each in the fewest tiles in which it fits.

    Empty where one fits in none.
    """
    fusion_plan = list[FusedGroup]()
    for at in range(listed.count):
        every = (
            listed.fused_group(at, at + 1, way)
            for way, (axis, count) in enumerate(listed.ways)
            if np.isfinite(listed.axes[axis].cycles(count)[at])
        )
        some = next((each for each in every if listed.allows(each)), None)
        if some is None:
            return ()
        fusion_plan.append(some)
    return tuple(fusion_plan)
