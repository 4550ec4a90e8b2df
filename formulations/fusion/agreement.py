"""Dual values of bytes carried across boundaries, so that neighbors agree on them.

At a boundary the fused group before may leave, and that after may find, a full scratchpad of
whatever they like. A byte on chip there costs the one its dual value and earns it for the other; so
does, the other way round, a byte that is newer than DRAM. In a schedule both have the same bytes,
and their payments cancel: the cheapest path at any dual values is a bound over the fusion space.
The best dual values are found by cutting planes: each solution of a fused group's program says how
much that fused group costs at other dual values at most, and a linear program over these where dual
values are best, within a box round the best known (:mod:`formulations.fusion.planes`); there the
cheapest path is searched anew.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from formulations.fusion.chained_plans import ChainedPlans, single_operations
from formulations.fusion.fused_group import FusedGroupValue
from formulations.fusion.paths import FusedGroupArcs
from formulations.fusion.priced_arcs import SAME
from formulations.fusion.work import CALL_S, CHECK_GROUP_S, CHECK_TENSOR_S, TABLE_S, VALUE_S
from formulations.solver.program import Floats
from spmopt.core.fusion.certificate import FusionCertificate
from spmopt.core.fusion.fused_groups import FusedGroup, FusionPlan
from spmopt.core.fusion.fusion_space import Way

_ROUNDS = 4
"""Paths searched at new dual values before the next ones are asked for."""
_RADIUS, _WIDE = 0.05, 1.0
"""Box round the best dual values, at first and at most, in dual values of a byte."""
_IDLE = 20
"""Rounds in a row without a better bound or a new program: then planes promise in vain; plans in a
row that are no better than one before."""
_OFTEN = 10.0
"""Times as long as it takes for a fusion plan to agree: between two."""
_CLOSE = 1e-4
"""Relative gain below which prices are good enough."""


class Agreement(ChainedPlans):
    """Raises the bound over the fusion space by dual values at boundaries.

    Attributes
    ----------
    best
        The bound at ``center``, the best dual values so far.
    exact
        Whether all fused groups of the cheapest fusion plan at these dual values are solved there.
    fusion_plan
        The cheapest fusion plan at these dual values.
    """

    def __init__(self, arcs: FusedGroupArcs, *, fine: bool = False) -> None:
        super().__init__(arcs, fine=fine)
        self.center: Floats = np.zeros(self.duals.count)
        self.fusion_plan: FusionPlan = ()
        self.exact = False

    def search_plans(self) -> Iterator[float]:
        """Search fusion plans of low cost, and dual values to begin with; yield the bound."""
        yield from self.first_plan()
        self._look(self.center)
        yield self.best
        short = yield from self._agree_along(self._short_plan())
        if short.duals is not None:
            self._look(short.duals)
            yield self.best
        single = yield from self._agree_along(single_operations(self.listed))
        # Layer by layer has other dual values than fused groups: worth a look if better as it is.
        if single.duals is not None and self._path(single.duals)[0] > self.best:
            self._look(single.duals)
            yield self.best
        yield from self.improve(short, single)

    def finer(self) -> Agreement:
        """Return a search with ``fine`` programs that begins where this one has come to."""
        found = Agreement(self.arcs, fine=True)
        found.center, found.cheapest = self.center, self.cheapest
        found.plans, found.least, found._told = self.plans, self.least, self._told
        return found

    def steps(self) -> Iterator[float]:
        """Yield the bound at the best dual values, after each search of better ones."""
        self._look(self.center)
        yield self.best
        agreed = yield from self._agree_along(self.cheapest or self._short_plan())
        if agreed.duals is not None:
            self._look(agreed.duals)
            yield self.best
        radius, due, idle = _RADIUS, 0.0, 0
        while idle < _IDLE:
            if self.arcs.work.seconds >= due:
                begun, least = self.arcs.work.seconds, self.least
                agreed = yield from self._agree_along(self._short_plan())
                if agreed.duals is not None and self.least < least:
                    self._look(agreed.duals)
                due = self.arcs.work.seconds + _OFTEN * (self.arcs.work.seconds - begun)
            expected, duals = self.planes.best(self.center, radius)
            self.arcs.work.seconds += self.planes.work_s
            gain, before, solved = expected - self.best, self.best, self.solved
            # Planes promise no more here: widen the box, and stop at its greatest width.
            if gain <= _CLOSE * abs(self.best):
                if self.exact and radius >= _WIDE:
                    return
                radius = min(4 * radius, _WIDE) if self.exact else radius
                self._look(self.center)
            else:
                self._try(duals, gain)
                if self.best > before:
                    radius = min(1.5 * radius, _WIDE)
                else:
                    # The planes were too optimistic this far out.
                    radius *= 0.7
                    self._look(self.center)
            rises = self.best > before + SAME * abs(before)
            idle = 0 if rises or self.solved > solved else idle + 1
            yield self.best

    def near_plans(self) -> Iterator[float]:
        """Search the plans that cost little more than the cheapest at the best dual values.

        The search ends after so many in a row that are no better.
        """
        value, idle = self._table(self.center), 0
        # As far above the best program as this is above the bound: schedules are not their
        # programs.
        for cost, path in self.sparse.ascending(value, lambda: 2 * self.least - self.best):
            self.arcs.work.seconds += 10 * CALL_S
            groups = self.sparse.groups(path)
            fusion_plan = tuple(self.listed.fused_group(*each) for each in groups)
            for fused_group in self._open(fusion_plan, self.center):
                self._solve(fused_group, self.center)
                value[:] = self._table(self.center)
            if float(value[path].sum()) <= cost:  # else it comes again, at its new cost
                before = self.least
                yield from self._agree_along(fusion_plan)
                idle = 0 if self.least < before else idle + 1
            yield self.best
            if idle == _IDLE:
                return

    def _short_plan(self) -> FusionPlan:
        """Return the cheapest fusion plan at the best dual values, of about equal ones a short one.

        Steps take time to schedule.
        """
        value = self._table(self.center) + self._steps
        return self.sparse.shortest(value, self.listed.fused_group)[1]

    def _look(self, duals: Floats) -> None:
        """Solve the programs of the cheapest path at some duals; take these if they are best."""
        value, fusion_plan = self._path(duals)
        new = self._open(fusion_plan, duals)
        for fused_group in new:
            self._solve(fused_group, duals)
        if new:
            value, fusion_plan = self._path(duals)
        if value >= self.best:
            self.best, self.center, self.fusion_plan = value, duals, fusion_plan
            self.exact = not self._open(fusion_plan, duals)

    def _try(self, duals: Floats, gain: float) -> None:
        """Search the cheapest path at new dual values, as long as it may be a better bound."""
        for _ in range(_ROUNDS):
            _, fusion_plan = self._path(duals)
            new = self._open(fusion_plan, duals)
            if not new:
                break
            for fused_group in new:
                self._solve(fused_group, duals)
            if self._table(duals)[self._at(fusion_plan)].sum() < self.best + 0.1 * gain:
                return
        self._look(duals)

    def certificate(
        self, least: float = np.inf, most_s: float = np.inf
    ) -> tuple[FusionCertificate, float]:
        """Return the duals, as integers, of boundaries and of the other rows that the bound needs.

        And the bound. As :meth:`~.paths.FusedGroupArcs.certificate`: the fused groups still met
        where the search begins anew, until it is at ``least``, or until it takes ``most_s`` to
        check. No program is solved.
        """
        arcs, sparse = self.arcs, self.sparse
        free, known = arcs.cheap_values(), self._duals.at(self.center)
        arcs.work.seconds += VALUE_S * free.size
        plain, agreed, runs = (dict[FusedGroup, FusedGroupValue]() for _ in range(3))
        best: dict[int, float] = {}
        check_s = 0.0
        value = self._beside(sparse.of(free), self.center)
        while True:
            length, fusion_plan = sparse.shortest(value, self.listed.fused_group)
            arcs.work.seconds += TABLE_S * value.size
            where = dict(zip(fusion_plan, self._at(fusion_plan).tolist(), strict=True))
            open_arcs = [e for e in fusion_plan if e not in plain and e not in agreed]
            # Runs may prove more of a fused group than its own program does.
            inside = arcs.runs.inside(fusion_plan, whole=True)
            more = {e: arcs.runs.solved[e] for e in inside if e in arcs.runs.solved}
            more = {each: found for each, found in more.items() if each not in runs}
            known_arcs = [e for e in open_arcs if e in arcs.solved or where[e] in known]
            if length >= least or check_s >= most_s or not (more or known_arcs):
                break
            check_s += sum(self._check_s(each) for each in more or known_arcs)
            for each in () if more else known_arcs:
                place = where[each]
                which, proved = known.get(place, (0, -np.inf))
                found = arcs.solved.get(each)
                alone = -np.inf
                if found is not None:
                    own = np.array([found.value])
                    alone = float(self._mix(own, self.center, np.array([place]))[0])
                if found is not None and alone >= proved:
                    plain[each] = found
                else:
                    worth, named, dual = self._proofs[which]
                    agreed[each] = FusedGroupValue(value=worth, duals=named.duals(dual))
                best[place] = max(alone, proved)
            if more:
                runs |= more
                arcs.raise_by(free, {Way(each.axis, each.count) for each in more}, runs)
                value = self._beside(sparse.of(free), self.center)
            places = list(best)
            value[places] = np.maximum(value[places], list(best.values()))
        arcs.work.seconds += CALL_S * len(best)
        carried = self.duals.with_name(self.center)
        return arcs.state(plain, runs, carried, agreed, fine=self.fine), length

    def _check_s(self, fused_group: FusedGroup) -> float:
        """Return how long the check of a fused group's duals takes."""
        count = 1 if fused_group.stripes > 1 else fused_group.micro_batches
        steps, own = range(fused_group.begin, fused_group.end), self.listed.of(fused_group)
        tensors = len({use.tensor for at in steps for use in own.mappings(at, count)})
        classes = 3 if self.fine and fused_group.stripes == 1 else 1
        return classes * (CHECK_GROUP_S + CHECK_TENSOR_S * tensors * len(steps))
