"""The search of a fusion plan: shortest paths at estimated costs of fused groups.

A fused group is priced by two programs: as one that begins and ends with nothing on chip, which it
will not have to, and with all that fits, which it shares with its neighbors. The former tells long
fused groups apart, the latter operations of the whole batch among fused groups in fusion tiles; a
mean of both is often better than either (training ResNet-50, 24 MB: 60.73, 60.75 and 60.43 ms). Of
plans of equal cost, one that moves less leaves room to load ahead, and one of fewer steps is
scheduled sooner.

As in the bound, programs are solved of the fused groups of one path after another, runs inside of
them the first (:mod:`formulations.fusion.runs`): of ResNet-50 on 4 MB 360 of 91,350, in 1.4 s.
Bytes that a fused group moves are not known before, so that such paths are at first without a dual
value of bytes; then fused groups that are not solved are taken to move as much as the best fusion
plan does in their operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from formulations.fusion.paths import FusedGroupArcs
from formulations.fusion.shortest_paths import shortest_path
from formulations.fusion.work import ARC_S
from formulations.solver.program import Floats
from spmopt.core.fusion.fused_groups import FusedGroup, FusionPlan
from spmopt.core.fusion.fusion_space import Way

_SPARE = 0.03
"""Extra cost of a byte moved, as a share of its time on the channel."""
_STEP, _STEP_OF_STRIPES = 1e-7, 4e-7
"""Extra cost of a step of a fusion plan, as a share of the lower bound over fusion plans.

Of plans of equal cost, the one of fewest steps is scheduled soonest, and nearest to its dual value
in that time. All plans of a transformer reached compulsory traffic: one of 5,657 steps came within
30 % of it in 3.7 s, one of 200 steps reached it in 0.1 s. Stripes are uneven, too, and 8 where 2 do
as well are four times the steps (MobileNetV2 on 4 MB in 15 s: 12,480 steps 5.8 % above the bound
without, 3,453 steps 0.07 % above it)."""
_FINE = 64
"""Fusion tiles that are fine enough: steps of more cost as much as those of stripes."""
_MEAN = 0.75
"""Weight of the program that is given a full scratchpad, in estimates."""
_WEIGHTS = (0.0, _MEAN, 0.5, 1.0)
"""Those of one search after another; of the first two between natural boundaries only at first."""


class FusionPlanSearch:
    """Searches fusion plans at the values of fused groups; better ones come as time goes by.

    Parameters
    ----------
    held
        Fused groups with a full scratchpad at both ends, those of the bound.
    stop
        Asked often; once true, the best so far is returned.
    first
        Counted time of ``held`` at which the first fusion plan is yielded, as good as it is then;
        it is empty where none is known.

    Attributes
    ----------
    exact
        Whether all of the last fusion plan that was yielded, and of those before, is solved.
    """

    def __init__(
        self,
        held: FusedGroupArcs,
        stop: Callable[[], bool],
        threads: int = 1,
        first: float = np.inf,
    ) -> None:
        self.listed, self.stop, self.threads, self.first = held.listed, stop, threads, first
        self.work = held.work
        self.empty, self.held = FusedGroupArcs(held.listed, 0.0, self.work), held
        self.empty.runs = held.runs
        self._entered = set[FusedGroup]()
        self.boundaries, self.exact = held.listed.boundaries, False
        cycle = float(held.listed.objective.cycle)
        self._byte = _SPARE * cycle / held.listed.bytes_per_cycle
        every = range(held.listed.count + 1)
        least, _ = shortest_path(held.value, every, held.listed.fused_group)
        ways, batch = held.listed.ways, held.listed.tileable.batch
        counts = np.array([each.tiles for each in ways])
        striped = np.array([each.axis == 0 and each.tiles > batch for each in ways])
        steps = np.where(striped | (counts > _FINE), _STEP_OF_STRIPES, _STEP)
        self._steps: Floats = counts * steps * (least if np.isfinite(least) else 0.0)
        between = held.lengths.between
        length = np.maximum(between(np.arange(held.listed.count + 1.0)), 0.0)
        # Of each number of fusion tiles, where it is read: it would take as much as the values.
        self._length = np.broadcast_to(length[:, None], held.value.shape)
        number = np.full(held.listed.count + 1, np.nan)
        natural = [0, *self.boundaries, held.listed.count]
        number[natural] = range(len(natural))
        with np.errstate(invalid="ignore"):
            unnatural = ~(between(number) <= held.listed.params.boundaries_inside + 1)
        self._unnatural = np.broadcast_to(unnatural[:, None], held.value.shape)

    def estimate(self, fusion_plan: FusionPlan) -> float:
        """Return the cost of a fusion plan, by the mean of both values.

        Solve its unsolved groups.
        """
        cost = 0.0
        self._solve(fusion_plan)
        for arcs, weight in self._weights(_MEAN):
            cost += weight * self._dual(arcs, fusion_plan)
        return cost

    def value(self, fusion_plan: FusionPlan) -> float:
        """Return the mean of both values of a fusion plan; solve its unsolved fused groups."""
        self._solve(fusion_plan)
        both = self._weights(_MEAN)
        return sum(
            weight * arcs.solved[each].value for arcs, weight in both for each in fusion_plan
        )

    def fusion_plans(self) -> Iterator[FusionPlan]:
        """Yield the best fusion plan at each weight, or the best so far where that takes long."""
        slice_s, natural = self.listed.params.slice_s, True
        while True:
            self.exact = True
            for share in _WEIGHTS[:2] if natural else _WEIGHTS:
                for priced in (False, True):
                    until = min(self.work.seconds + slice_s, self.first)
                    fusion_plan, known = self._converge(
                        share, until, natural=natural, priced=priced
                    )
                    if self.stop():
                        return
                    self.exact &= known
                    self._guess(fusion_plan)
                if fusion_plan or self.first < np.inf:
                    self.first = np.inf
                    yield fusion_plan
            if self.exact and not natural:
                return
            slice_s, natural = slice_s * (1 if natural else 2), False

    def _converge(
        self, share: float, until: float, *, natural: bool, priced: bool
    ) -> tuple[FusionPlan, bool]:
        """Return the cheapest fusion plan, and whether all of it is solved.

        Else of the groups solved. ``natural``: of fused groups between natural boundaries.
        """

        def late() -> bool:
            return self.stop() or self.work.seconds >= until

        table = self._costs(share, np.s_[:], priced=priced, natural=natural)
        while not late():
            fusion_plan = self._path(table)
            new = [each for each in fusion_plan if each not in self.empty.solved]
            new += [each for each in fusion_plan if each not in self.held.solved]
            if not new:
                return fusion_plan, True
            runs = [each for each in self.held.runs.inside(new) if each not in self._entered]
            if runs:
                self.held.runs.solve(runs, late)
                several = {Way(each.axis, each.count) for each in runs}
                known = list(self.held.runs.solved)
                self._entered.update(
                    each for each in known if Way(each.axis, each.count) in several
                )
                for arcs in (self.empty, self.held):
                    arcs.raise_by_runs(several)
                places = [np.s_[:, self.listed.ways.index(way)] for way in several]
            else:
                self.held.solve(new, self.threads, self.empty, late)
                places = [tuple(np.array([self.held.place(each) for each in new]).T)]
            for at in places:
                table[at] = self._costs(share, at, priced=priced, natural=natural)
        return self._path(self._costs(share, np.s_[:], priced=True, exact=True)), False

    def _guess(self, fusion_plan: FusionPlan) -> None:
        """Take groups that are not solved to move as much as a fusion plan does in their place."""
        moved = np.zeros(self.listed.count + 1)
        for each in fusion_plan:
            mean = self.empty.moved[self.held.place(each)] / (each.end - each.begin)
            moved[each.begin + 1 : each.end + 1] = mean
        upto = np.cumsum(moved)
        between = np.maximum(self.held.lengths.between(upto), 0.0)[:, None]
        for arcs in (self.empty, self.held):
            np.copyto(
                arcs.moved,
                np.maximum(arcs.least_moved, between).astype(np.float32),
                where=~arcs.known,
            )

    def gain(self, new: FusionPlan, old: FusionPlan) -> float:
        """Return the estimated gain where ``new`` stands for ``old``."""
        return self.estimate(old) - self.estimate(new)

    def seed(self, fusion_plan: FusionPlan) -> None:
        """Solve the groups of a fusion plan first.

        Where time is short, others are pieced with them.
        """
        self.held.solve(fusion_plan, self.threads, self.empty, self.stop)

    def _solve(self, fused_groups: Iterable[FusedGroup]) -> bool:
        return self.held.solve(fused_groups, self.threads, self.empty)

    def _path(self, table: Floats) -> FusionPlan:
        self.work.seconds += ARC_S * table.size
        return shortest_path(table, range(self.listed.count + 1), self.listed.fused_group)[1]

    def _costs(
        self, share: float, at: Any, *, priced: bool, natural: bool = False, exact: bool = False
    ) -> Floats:
        """Return estimates of fused groups, as :attr:`FusedGroupArcs.value`; with bytes and steps.

        ``natural``: of fused groups between natural boundaries; ``exact``: of those that are
        solved.
        """
        steps = np.broadcast_to(self._steps[:, None], self._length.shape)
        self.work.seconds += ARC_S * self._length[at].size
        found = np.asarray(self._length[at] * steps[at] * float(priced))
        for arcs, weight in self._weights(share):
            found += weight * arcs.value[at]
            if priced:
                found += weight * self._byte * arcs.moved[at]
            if exact:
                found[~arcs.known[at]] = np.inf
        if natural:
            found[self._unnatural[at]] = np.inf
        return found

    def _weights(self, share: float) -> list[tuple[FusedGroupArcs, float]]:
        both = (self.empty, 1 - share), (self.held, share)
        return [(arcs, weight) for arcs, weight in both if weight]

    def _dual(self, arcs: FusedGroupArcs, fused_groups: FusionPlan) -> float:
        """Return the costs of fused groups that are solved."""
        found = [arcs.solved[each] for each in fused_groups]
        ways = [self.listed.way(each) for each in fused_groups]
        steps = (
            (each.end - each.begin) * self._steps[way]
            for way, each in zip(ways, fused_groups, strict=True)
        )
        moved = sum(each.moved_bytes for each in found)
        return float(sum(each.value for each in found) + self._byte * moved + sum(steps))
