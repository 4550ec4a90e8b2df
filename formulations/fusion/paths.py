"""The cheapest fusion plan at the values of fused groups: a shortest path that solves few programs.

Arcs are fused groups; each has a value that is cheap to tell, and at most its program's. A path is
searched, the programs of its arcs are solved, and so on until all of them are: no fusion plan costs
less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import frexp

import numpy as np

from formulations.fusion.cheap_values import CheapValues
from formulations.fusion.fused_group import FusedGroupProgram, FusedGroupValue, of_alike
from formulations.fusion.lengths import Beyond, blocks
from formulations.fusion.rows import in_integers
from formulations.fusion.runs import Runs
from formulations.fusion.shortest_paths import shortest_path
from formulations.fusion.tileable import Listed
from formulations.fusion.work import ARC_S, FOLLOW_S, TABLE_S, VALUE_S
from formulations.solver.program import Floats
from spmopt.core.errors import InfeasibleError
from spmopt.core.fusion.certificate import FusionCertificate, Row
from spmopt.core.fusion.fused_groups import FusedGroup, FusionPlan
from spmopt.core.fusion.fusion_space import Way
from spmopt.core.scheduler import Work
from spmopt.core.table import Ints

DIGITS = 60
"""Binary digits of the dearest dual value."""


@dataclass(frozen=True, slots=True)
class CheapestFusionPlan:
    """A fusion plan, the sum of its groups' values, and whether all of these are their programs'.

    If they are not, time was up, and ``value`` is still at most that of any fusion plan.
    """

    fusion_plan: FusionPlan
    value: float
    exact: bool


class FusedGroupArcs:
    """Values of all groups of a graph, in objective units; infinite of those that none are.

    ``held``: as in :class:`~.fused_group.FusedGroupProgram`. ``split``: for a bound, in which
    untiled groups of several operations are as good as single ones.

    Attributes
    ----------
    lengths
        Which fused groups have places in tables; costs of long ones are in :meth:`beyond`.
    value : (n + 1, p, width)
        Lower bounds on fused groups, by end, way to tile them (of ``listed.ways``) and begin.
    solved
        Programs that are solved.
    cheap
        Lower bounds without programs, by axis.
    work
        Work counted, of all searches that share it.
    """

    def __init__(
        self, listed: Listed, held: float, work: Work | None = None, *, split: bool = False
    ) -> None:
        self.work = Work() if work is None else work
        self.listed, self.held, self.split = listed, held, split
        self.runs = Runs(listed, self.work)
        self.lengths = self.runs.lengths
        self.cheap = [CheapValues(own, self.lengths, held, split=split) for own in listed.axes]
        # By the end first, so that a path reads its candidates in one run of memory.
        self.value = self.cheap_values()
        self.work.seconds += VALUE_S * self.value.size
        self.solved: dict[FusedGroup, FusedGroupValue] = {}
        self._known: dict[object, tuple[FusedGroupValue, FusedGroupValue | None]] = {}

    def cheap_values(self) -> Floats:
        """Return (n + 1, p, width) lower bounds on fused groups without programs."""
        return np.concatenate([each.values() for each in self.cheap], axis=1)

    def cheapest(
        self,
        stop: Callable[[], bool],
    ) -> CheapestFusionPlan:
        """Find the cheapest fusion plan.

        Raises
        ------
        InfeasibleError
            No fusion plan fits.
        """
        for each in self.paths():
            found = each
            if stop():
                break
        return found

    def paths(self) -> Iterator[CheapestFusionPlan]:
        """Yield cheapest fusion plans, each after the programs of the one before.

        Until one is exact.

        A fusion plan comes again after each of its programs.

        Raises
        ------
        InfeasibleError
            No fusion plan fits.
        """
        every: list[int] = list(range(self.listed.count + 1))
        while True:
            value, fusion_plan = shortest_path(
                self.value, every, self.listed.fused_group, self.beyond()
            )
            if value == np.inf:
                raise InfeasibleError(
                    "infeasible: required-resident operands and scratch exceed the scratchpad in "
                    "every fusion plan"
                )
            placed = [each for each in fusion_plan if self.lengths.has(each)]
            open_arcs = [each for each in placed if each not in self.solved]
            # Groups do not know of compulsory bytes: each may find its inputs on chip.
            least = max(value, self.listed.compulsory)
            all_solved = len(placed) == len(fusion_plan) and not open_arcs
            self.work.seconds += ARC_S * self.value.size
            found = CheapestFusionPlan(fusion_plan=fusion_plan, value=least, exact=all_solved)
            yield found
            long = [each for each in fusion_plan if not self.lengths.has(each)]
            inside = self.runs.inside([*open_arcs, *long])
            runs = [each for each in inside if each not in self.runs.solved]
            # All programs of the cheapest plan are solved: no plan costs less.
            if not (runs or open_arcs):
                return
            for run in runs:
                self.runs.solve([run])
                yield found
            self.raise_by_runs({Way(each.axis, each.count) for each in runs})
            for each in [] if runs else open_arcs:
                self.solve([each])
                yield found

    def beyond(self, runs: Mapping[FusedGroup, FusedGroupValue] | None = None) -> Beyond | None:
        """Return lower bounds on long groups by some runs, all by default; None if none is."""
        if self.lengths.all:
            return None
        listed, block, ends = self.listed, self.runs.block, np.arange(self.listed.count + 1)
        both = [
            blocks(
                self.cheap[way.axis].of_operations[way.tiles], self.runs.blocks(way, runs), block
            )
            for way in listed.ways
        ]
        first: list[Ints] = [
            np.searchsorted(np.maximum.accumulate(self.cheap[way.axis].reaches[way.tiles]), ends)
            for way in listed.ways
        ]
        return Beyond(
            longest=self.lengths.longest,
            upto=np.array([upto for upto, _ in both]),
            before=np.array([before for _, before in both]),
            first=np.array(first),
        )

    def join_untiled(self, fusion_plan: FusionPlan) -> FusionPlan:
        """Return a fusion plan with untiled groups in a row as one, as far as these have places."""
        found = list[FusedGroup]()
        for each in fusion_plan:
            last = found[-1] if found else None
            if last is not None and last.count == each.count == 1:
                both = replace(last, end=each.end)
                if self.lengths.has(both):
                    found[-1] = both
                    continue
            found.append(each)
        return tuple(found)

    def raise_by_runs(self, several: Iterable[Way]) -> None:
        """Raise the values of fused groups tiled in some ways to the bounds of runs."""
        self.raise_by(self.value, several, self.runs.solved)

    def raise_by(
        self, value: Floats, several: Iterable[Way], runs: Mapping[FusedGroup, FusedGroupValue]
    ) -> None:
        """Raise values of fused groups tiled in some ways to the bounds of some runs."""
        for way in several:
            table = value[:, self.listed.ways.index(way)]
            self.work.seconds += TABLE_S * table.size
            alone = self.cheap[way.axis].of_operations[way.tiles]
            np.maximum(table, self.runs.tile(way, alone, runs), out=table)

    def solve(
        self,
        fused_groups: Iterable[FusedGroup],
        empty: FusedGroupArcs | None = None,
        stop: Callable[[], bool] = bool,
    ) -> None:
        """Solve the programs of fused groups, until ``stop``.

        ``empty``: it takes their costs with nothing on chip before and after.
        """
        for fused_group in dict.fromkeys(fused_groups):
            known = fused_group in self.solved
            if known and (empty is None or fused_group in empty.solved):
                continue
            if stop():
                break
            found, without = self._solve(fused_group, twice=empty is not None)
            self.work.seconds += found.work_s
            if not known:
                self.take(fused_group, found)
            if empty is not None and without is not None:
                empty.take(fused_group, without)

    def learn(
        self,
        solved: Mapping[FusedGroup, FusedGroupValue],
        runs: Mapping[FusedGroup, FusedGroupValue],
    ) -> None:
        """Take values of fused groups and of runs that were solved elsewhere."""
        self.runs.solved |= runs
        for fused_group, value in solved.items():
            if fused_group not in self.solved:
                self.take(fused_group, value)

    def take(self, fused_group: FusedGroup, found: FusedGroupValue) -> None:
        """Take the result of a fused group's program."""
        self.solved[fused_group] = found
        if self.lengths.has(fused_group):
            at = self.place(fused_group)
            # Runs may prove more of a group than its own program does.
            self.value[at] = max(float(self.value[at]), found.value)

    def certificate(self, least: float = np.inf) -> FusionCertificate:
        """Return the dual values, as integers, of those solved fused groups that a bound needs.

        These are the ones that are still met where the search begins anew, knowing all values,
        until it is at ``least``: the last 0.003 % of the bound of ResNet-50 on 4 MB take 1,300
        fused groups and 10 s of exact arithmetic, all others 56.
        """
        if not self.split:
            bound = FusedGroupArcs(self.listed, self.held, self.work, split=True)
            bound.runs, bound.solved = self.runs, self.solved
            return bound.certificate(least)
        value, every = self.cheap_values(), list(range(self.listed.count + 1))
        needed: dict[FusedGroup, FusedGroupValue] = {}
        runs: dict[FusedGroup, FusedGroupValue] = {}
        while True:
            length, fusion_plan = shortest_path(
                value, every, self.listed.fused_group, self.beyond(runs)
            )
            open_arcs = [each for each in fusion_plan if each not in needed]
            inside = self.runs.inside(open_arcs, whole=True)
            more = [each for each in inside if each in self.runs.solved and each not in runs]
            new = [each for each in open_arcs if each in self.solved and self.lengths.has(each)]
            if length >= least or not (more or new):
                break
            runs |= {each: self.runs.solved[each] for each in more}
            self.raise_by(value, {Way(each.axis, each.count) for each in more}, runs)
            for each in () if more else new:
                needed[each], at = self.solved[each], self.place(each)
                value[at] = max(float(value[at]), needed[each].value)

        return self.state(needed, runs)

    def state(
        self,
        priced: Mapping[FusedGroup, FusedGroupValue],
        runs: Mapping[FusedGroup, FusedGroupValue],
        carried: Mapping[tuple[int, int], tuple[float, float]] | None = None,
        agreed: Mapping[FusedGroup, FusedGroupValue] | None = None,
        *,
        fine: bool = False,
    ) -> FusionCertificate:
        """Return the dual values of fused groups and runs, and those at boundaries, as integers.

        ``fine``: as in :class:`~.fused_group.FusedGroupProgram`, of those ``agreed`` on.
        """
        # The verifier computes in Python integers: digits cost time, not overflow.
        bits = max(0, DIGITS - frexp(self.listed.dearest_row)[1])

        def whole(found: Mapping[FusedGroup, FusedGroupValue]) -> dict[FusedGroup, dict[Row, int]]:
            operations = self.listed.tileable.operations
            return {
                fused_group: in_integers(each.duals, bits, self.listed)
                for fused_group, each in found.items()
                # Without operands there are no rows.
                if any(each.uses(0) for each in operations[fused_group.begin : fused_group.end])
            }

        return FusionCertificate(
            fusion_space=self.listed.fusion_space,
            objective=self.listed.asked,
            bits=bits,
            duals=whole(priced),
            runs=whole(runs),
            carried={
                place: (round(held * 2.0**bits), round(newer * 2.0**bits))
                for place, (held, newer) in (carried or {}).items()
            },
            agreed=whole(agreed or {}),
            fine=fine,
        )

    def place(self, fused_group: FusedGroup) -> tuple[int, int, int]:
        """Return the index in the tables of a fused group that has a place."""
        return fused_group.end, self.listed.way(fused_group), self.lengths.column(fused_group)

    def _solve(
        self, fused_group: FusedGroup, *, twice: bool
    ) -> tuple[FusedGroupValue, FusedGroupValue | None]:
        """Solve the program of a group, or take the values of one like it; there may be none."""
        listed = self.listed.of(fused_group)
        cycles = listed.cycles(fused_group.count)[fused_group.begin : fused_group.end]
        if not np.isfinite(cycles).all():
            none = FusedGroupValue(value=np.inf)
            return none, none
        if fused_group.stripes > 1:
            # Its stripes depend on where it begins, so that it is seldom like another.
            found, empty = self._solve_value(*self.listed.of_stripes(fused_group), twice=twice)
            follow_s = FOLLOW_S * (fused_group.end - fused_group.begin)
            return replace(found, work_s=found.work_s + follow_s), empty
        alike = listed.alike(fused_group)
        known = self._known.get(alike)
        if known is None or (twice and known[1] is None):
            found, empty = self._solve_value(listed, fused_group, twice=twice)
            self._known[alike] = found, empty
            return found, empty
        found, empty = known
        return of_alike(found), empty

    def _solve_value(
        self, listed: Listed, fused_group: FusedGroup, *, twice: bool
    ) -> tuple[FusedGroupValue, FusedGroupValue | None]:
        program = FusedGroupProgram(listed, fused_group, self.held)
        return program.solve_twice() if twice else (program.solve(), None)
