"""Fusion plan and residency, decided together, with a bound over the fusion space.

The layer-by-layer plan comes first. The search of the bound (:mod:`formulations.fusion.bounding`)
names fusion plans, with the costs of their programs; each is scheduled as the problem that it makes
(:mod:`formulations.residency.page`), the cheapest first.
Of a small graph all fusion plans are tried that may be better than the best. Where time is short
for several mappings, plans are scheduled in first mappings alone, and only the best in all.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from time import monotonic

import numpy as np

from formulations.fusion.bounding import BoundingTask, BoundSearch, News, Values
from formulations.fusion.chained_plans import single_operations
from formulations.fusion.named_plans import NamedPlans
from formulations.fusion.neighbors import Neighborhood
from formulations.fusion.paths import FusedGroupArcs
from formulations.fusion.shortest_paths import SparseArcs
from formulations.fusion.tileable import Listed, has_stripes
from formulations.fusion.work import (
    BEGIN_S,
    CALL_S,
    MAPPING_S,
    MAPPINGS_S,
    OPERATION_S,
    STRIPED,
    STRIPED_FIRST_S,
    STRIPED_S,
)
from formulations.residency import page
from spmopt.core.errors import InfeasibleError
from spmopt.core.fusion.certificate import FusionCertificate
from spmopt.core.fusion.fused_groups import FusionPlan
from spmopt.core.fusion.fusion_space import FusionSpace
from spmopt.core.fusion.tileable_graph import (
    TileableGraph,
    tileable_graph_of,
    whole,
)
from spmopt.core.problem import Problem
from spmopt.core.result import End, Result
from spmopt.core.scheduler import Request

_LOST = 0.02, 0.05
"""Of the gap, or of the tolerance: the loss of the bound that keeps its proof short."""
_TOO_SHORT = (
    "layer by layer: the time limit is too short to begin with fusion plans of {:,} operations"
)
_LEAST_CPU_S = 0.05
"""Of a search that tells how busy the machine is."""
_BUSIEST = 4.0
"""Pace of a machine to which a time that is short is told: busier ones are as busy."""
_LONG_S = 10.0
"""Time limit that is not short, however many mappings there are: these gain most then."""
_WAIT = 1.5
"""Of the time limit: how long the first bound is waited for, searched in first mappings."""
_UNFIT = (
    "infeasible: required-resident operands and scratch of an operation exceed the scratchpad, "
    "even with the finest tiles"
)
_NONE_FITS = "found no fusion plan whose required-resident operands fit the scratchpad"


def schedule(problem: Problem, request: Request, space: str = "all") -> Result:
    """Find a fusion plan and its schedule, and a bound over the fusion space.

    Never worse than ``page``'s.

    ``space``: name of the fusion plans, see
    :meth:`~spmopt.core.fusion.tileable_graph.TileableGraph.fusion_space`.

    Raises
    ------
    InputError
        The graph of the operations is unknown, as of a problem that was read from a file.
    InfeasibleError
        An operation's required-resident operands and scratch do not fit the SPM, whole or in fusion
        tiles.
    """
    begun, tileable = request.work.seconds, tileable_graph_of(problem)
    request.work.seconds += CALL_S * len(tileable.operations)
    return _Search(tileable, tileable.fusion_space(space), request, begun).run()


def _longest(fusion_plan: FusionPlan) -> int:
    """Return the operations of a fusion plan's longest fused group."""
    return max(each.end - each.begin for each in fusion_plan)


class _Search(NamedPlans):
    """Fusion plans to try, and the bound on all of them."""

    def __init__(
        self,
        tileable: TileableGraph,
        fusion_space: FusionSpace,
        request: Request,
        begun: float = 0.0,
    ) -> None:
        super().__init__(tileable, request, begun)
        self.fusion_space = fusion_space
        self.cut_short, self.unfit = True, False
        self.arcs: FusedGroupArcs | None = None
        self.settled = False
        self.proof: FusionCertificate | None = None
        self.notes: tuple[str, ...] = ()
        self.bounding: BoundSearch | None = None
        self._bounding_since = begun
        self._waiting: list[tuple[Values, Values]] = []
        self._around: FusionPlan = ()
        self._moved_s = 0.0
        self._neighbors: Neighborhood | None = None
        self._alone: FusedGroupArcs | None = None

    @cached_property
    def listed(self) -> Listed:
        """The graph with mappings for all numbers of tiles and stripes: DenseNet's takes 2 s."""
        self.work.seconds += (
            MAPPINGS_S * len(self.tileable.operations) * len(self.fusion_space.stripes)
        )
        return self._list(self.fusion_space)

    def _list(self, fusion_space: FusionSpace) -> Listed:
        return Listed(self.searched, self.request.objective, fusion_space, self.params)

    def run(self) -> Result:
        """Search until the time is up, all is tried, or the gap is closed."""
        try:
            if self._begins_early():
                self._begin()
            if not self._start():
                return self._layer_by_layer()
            if not self._has_many:
                self._tabulate()
            self._begin()
            self._try_named()
            if self.few:
                self._try_all()
            self.interrupted |= self._over
            if not self._in_any:
                self.finish()  # while the bound is searched beside it
            self._end()
        finally:
            if self.bounding is not None:
                self.bounding.close()
        if not self._over:
            self.attempt_named()
        return self._finish()

    def _begins_early(self) -> bool:
        """Return whether the bound is searched while the layer-by-layer plan is scheduled.

        Of so few operations that all fusion plans may be tried, no process is worth its start.
        """
        request = self.request
        return self._has_many and request.threads > 1 and request.has_time_for(self._least_s)

    @property
    def _has_many(self) -> bool:
        """Whether there are so many operations that a process of its own for the bound pays."""
        count = len(self.tileable.operations)
        return count * (count + 1) // 2 > self.params.all_groups

    def _start(self) -> bool:
        """Schedule the layer-by-layer plan; return whether there is time for others.

        It comes first: a schedule soon, and a value that others have to beat.
        """
        first = self.request.first
        found = Result() if first is None else first(self._is_short(_BUSIEST))
        self.begun = self.begun if first is None else self.work.seconds
        fit = all(self.tileable.fits(at, 1) for at in range(len(self.tileable.operations)))
        if not (fit or np.isfinite(self.listed.compulsory)):
            raise InfeasibleError(_UNFIT)
        plan, duals = found.residency_plan, found.certificate
        if not found.verified or plan is None or duals is None:
            self.attempt(whole(self.tileable))
            return True
        self.take(plan, duals)
        # A search of fusion plans that a busy machine cannot begin in time is not begun.
        pace = max(1.0, found.solve_s / max(found.cpu_s, _LEAST_CPU_S))
        self.request = replace(self.request, start=plan, duals=duals, pace=pace)
        if self._is_short(min(pace, _BUSIEST)):
            alone = self.tileable.in_first_mappings()
            if all(alone.fits(at, 1) for at in range(len(alone.operations))):
                self.searched = alone
        return self.request.has_time_for(self._least_s)

    def _is_short(self, pace: float) -> bool:
        """Return whether the time is too short for values of fused groups in any mappings."""
        each = [len(own.mappings[1].of_tile(0)) for own in self.tileable.operations]
        needed_s = pace * (OPERATION_S * len(each) + MAPPING_S * sum(each))
        if has_stripes(self.tileable, self.fusion_space):
            needed_s *= STRIPED
        short = self.request.time_limit_s < min(needed_s, _LONG_S)
        return short and self.tileable.several_mappings

    def _layer_by_layer(self) -> Result:
        """Schedule the layer-by-layer plan on, where there is no time for others."""
        assert self.best is not None
        found = page.schedule(self.best.problem, self.request)
        notes = (*found.notes, _TOO_SHORT.format(len(self.tileable.operations)))
        return replace(
            found, class_bound=None, notes=notes, cut_short=True, fused=self.best.problem
        )

    @property
    def _least_s(self) -> float:
        """Seconds before the first fusion plan is tried, about."""
        operations, several = self.tileable.operations, len(self.fusion_space.stripes) > 1
        striped = several * sum(each.rows is not None for each in operations)
        striped_s = STRIPED_S if self._in_any else STRIPED_FIRST_S
        return BEGIN_S * len(operations) + striped_s * striped

    def _begin(self) -> None:
        """Begin the search of the bound beside that of fusion plans, unless it has begun."""
        if self.bounding is not None:
            return
        self._bounding_since = self.work.seconds
        self.bounding = BoundSearch(
            BoundingTask(self.tileable, self.request.objective, self.fusion_space, self.params),
            self._hear,
            self._learn,
            seconds=self.request.time_limit_s,
            start_s=self._least_s,
            apart=self.request.threads > 1 and self._has_many and not self.few,
            stop=self._stops_bounding,
            proofs=self._is_short(_BUSIEST),
            note=self._note,
        )

    def _stops_bounding(self) -> bool:
        """Return whether no more of the bound is waited for."""
        if self._in_any:
            return self.late
        # Searched in first mappings, nothing else gives a bound.
        request = self.request
        return request.stop() or monotonic() - request.started > _WAIT * request.time_limit_s

    def _end(self) -> None:
        """Raise the bound on: no longer than the search of fusion plans took.

        Until one is exact.
        """
        assert self.bounding is not None
        ahead = self.begun - self._bounding_since
        bounding, most = self.bounding, 2 * self.clock + ahead

        def enough(work_s: float) -> bool:
            closed = self.gap <= self.request.tolerance or work_s > self.end + ahead
            closed |= self._over and not self._in_any
            return closed or (bounding.found.exact and work_s > most)

        bounding.finish(enough)
        self.unfit |= bounding.unfit
        self.cut_short = not bounding.found.exact

    def _tabulate(self) -> None:
        """Tabulate the values of fused groups, with those that the search of the bound has told."""
        arcs = FusedGroupArcs(self.listed, self.listed.capacity, self.work)
        self.few = arcs.lengths.all and int(np.isfinite(arcs.value).sum()) <= self.params.all_groups
        self.arcs = arcs
        for solved, runs in self._waiting if self._in_any else ():
            arcs.learn(solved, runs)
        self._waiting.clear()

    def _learn(self, solved: Values, runs: Values) -> None:
        """Take values that the search of the bound tells."""
        if self.arcs is None:
            self._waiting.append((solved, runs))
        elif self._in_any:
            self.arcs.learn(solved, runs)

    def _hear(self, news: News) -> None:
        """Take a bound."""
        if news.found.value > self.bound:
            self.bound = news.found.value
            self.request.report_incumbent(bound=self.bound)
        if news.proof is not None:
            self.proof = news.proof
        self.named |= news.named
        self.guess = news.guess or self.guess
        self.settled |= news.settled

    def stop(self) -> bool:
        """Return whether the time of the search is up, or the gap closed."""
        if self.bounding is not None and self._in_any:
            self.bounding.upto(self.work.seconds - self._bounding_since)
        return self._over or self.gap <= self.request.tolerance

    @property
    def _over(self) -> bool:
        """Whether no time is left for fusion plans."""
        return self.late or self.clock > self.end

    def _note(self, message: str) -> None:
        if message not in self.notes:
            self.notes = (*self.notes, message)

    def _try_named(self) -> None:
        """Try fusion plans that the search of the bound names, until there are no more.

        Once they are rare, the best is scheduled finer where that may gain more than another plan.
        """
        assert self.bounding is not None
        number, finer = 0, False
        while not self.stop():
            if self.attempt_named():
                number += 1
                if number > 1 and not self._in_any:
                    # The other half of the time is for the best plans in all mappings.
                    self.end = min(self.end, self.request.time_limit_s / 2)
            elif (number and self._attempt_neighbor()) or self._attempt_promising():
                continue
            elif self.settled and not finer:
                self.finish()
                finer = True
            else:
                due = self.bounding.wait()
                if due == np.inf and not self.attempt_named(likely=False):
                    break
                if due < np.inf:
                    self.work.seconds = max(self.work.seconds, self._bounding_since + due)

    def _attempt_promising(self) -> bool:
        """Try a plan that may be better than the best can be; return whether there was one."""
        rare = self.settled and self.another_promises_more
        return rare and self.attempt_named(likely=False)

    def _attempt_neighbor(self) -> bool:
        """Try a neighbor of the best fusion plan that may be better; return whether there was one.

        Only of small graphs, of which the values of fused groups are known here, and for no longer
        than the bound is searched, which names plans as well.
        """
        if self.arcs is None or not self.arcs.lengths.all or self.best is None:
            return False
        assert self.bounding is not None
        if self._moved_s > self.bounding.work_s / 2:
            return False
        if self._neighbors is None or self.best.fusion_plan != self._around:
            self._alone = self._alone or FusedGroupArcs(self.listed, 0.0, self.work)
            self._around = self.best.fusion_plan
            self._neighbors = Neighborhood(self.arcs, self._alone, self._around)
        begun, tried = self.work.seconds, False
        while not tried:
            fusion_plan = self._neighbors.next(float(self.best.value), self.stop)
            if not fusion_plan:
                break
            tried = self.attempt(fusion_plan)
        self._moved_s += self.work.seconds - begun
        return tried

    def _try_all(self) -> None:
        """Try all fusion plans whose values are below the best schedule."""
        assert self.arcs is not None
        arcs, make = self.arcs, self.listed.fused_group
        sparse = SparseArcs(np.isfinite(arcs.value), arcs.lengths.first)
        arcs.solve([make(*each) for each in sparse.groups()], stop=self.stop)

        def most() -> float:
            return np.inf if self.best is None else float(self.best.value)

        for _, path in sparse.ascending(sparse.of(arcs.value), most):
            if self.stop():
                return
            if path.size:
                self.attempt(tuple(make(*each) for each in sparse.groups(path)))
        self.unfit = self.best is None

    def _least(self) -> float:
        """Return the bound that is to be proved: a little less than the known bound."""
        of_gap, of_tolerance = _LOST
        lost = max(of_gap * self.gap, of_tolerance * self.request.tolerance)
        return self.bound * (1 - min(lost, self.params.coarse_gap))

    def _finish(self) -> Result:
        """Schedule the best fusion plan to the tolerance asked for."""
        if self.best is None:
            self.attempt(single_operations(self.listed))
        self.interrupted |= not self._in_any
        best, request = self.finish(), self.request
        if best is None:
            if self.unfit:
                raise InfeasibleError(_UNFIT)
            return Result(residency_plan=None, notes=(*self.notes, _NONE_FITS), cut_short=True)
        outcome = best.outcome
        certificate = self.proof
        if certificate is None and self._in_any:
            if self.arcs is None:
                self._tabulate()
            assert self.arcs is not None
            certificate = self.arcs.certificate(self._least())
        return replace(
            outcome,
            class_bound=None,
            notes=(*outcome.notes, *self.notes),
            cut_short=self.cut_short and self.gap > request.tolerance,
            end=End.LIMIT if self.interrupted and self.gap > request.tolerance else End.NONE,
            fused=best.problem,
            fusion_certificate=certificate,
        )
