"""Dual values of bytes carried across boundaries, so that neighbors agree on them.

At a boundary the fused group before may leave, and that after may find, a full scratchpad of
whatever they like. A byte on chip there costs the one its dual value and earns it for the other; so
does, the other way round, a byte that is newer than DRAM. In a schedule both have the same bytes,
and their payments cancel: the cheapest path at any dual values is a bound over the fusion space.
The best dual values are found by cutting planes: each solution of a fused group's program says how
much that fused group costs at other dual values at most, and a linear program over these where dual
values are best, within a box round the best known (:mod:`formulations.fusion.planes`); there the
cheapest path is searched anew.

At other dual values the duals of a fused group's program bound it still, so that few programs are
solved again, and these from their last basis.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator

import numpy as np

from formulations.fusion.boundary_duals import BoundaryDuals, PricedFusedGroup
from formulations.fusion.chain import chain_duals
from formulations.fusion.fused_group import FusedGroupValue
from formulations.fusion.paths import FusedGroupArcs
from formulations.fusion.planes import Planes
from formulations.fusion.rows import NamedRows
from formulations.fusion.shortest_paths import SparseArcs
from formulations.fusion.uniform import single_operations
from formulations.fusion.work import CALL_S, CHECK_GROUP_S, CHECK_TENSOR_S, TABLE_S, VALUE_S
from formulations.solver.program import Floats
from spmopt.core.fusion.certificate import PARTS, FusionCertificate
from spmopt.core.fusion.fused_groups import FusedGroup, FusionPlan
from spmopt.core.fusion.fusion_space import Way
from spmopt.core.table import Ints

_SOLVERS = 600_000
"""Entries of programs that are kept with their last basis: each takes half a kilobyte."""
_ROUNDS = 4
"""Paths searched at new dual values before the next ones are asked for."""
_RADIUS, _WIDE = 0.05, 1.0
"""Box round the best dual values, at first and at most, in dual values of a byte."""
_SAME = 5e-6
"""Of the bound: the slack of a fused group's value before it is solved again."""
_IDLE = 20
"""Rounds in a row without a better bound or a new program: then planes promise in vain."""
_BETWEEN = 20
"""Programs that are built between two times at which the bound is yielded."""
_STEP = 1e-7
"""Of the bound: the worth of a step less in a fusion plan."""
_OFTEN = 10.0
"""Times as long as it takes for a fusion plan to agree: between two."""
_CLOSE = 1e-4
"""Relative gain below which prices are good enough."""

_Proof = tuple[float, NamedRows, Floats]
"""Lower bound on the cost of a fused group, and the duals that prove it."""


class Agreement:
    """Raises the bound over the fusion space by dual values at boundaries.

    Attributes
    ----------
    best
        The bound at ``center``, the best dual values so far.
    exact
        Whether all fused groups of the cheapest fusion plan at these dual values are solved there.
    fusion_plan
        The cheapest fusion plan at these dual values.
    named, least
        Of the cheapest fusion plans so far the best, where all of its fused groups agree, and the
        cost of their programs then: a lower bound on its cost, but for sums with dual values.
    solved
        How many programs were solved.
    """

    def __init__(self, arcs: FusedGroupArcs, *, fine: bool = False) -> None:
        self.arcs, self.listed, self.fine = arcs, arcs.listed, fine
        self._costs, (into, out, _) = arcs.cheap[0].byte_costs, arcs.cheap[0].count_bytes()
        self.duals = BoundaryDuals(self.listed)
        plain, beside = list[Floats](), list[Floats]()
        for cheap in arcs.cheap:
            again = cheap.count_bytes()[2]
            for count in cheap.listed.micro_batches:
                value, always = cheap.alone(count)
                plain.append(value)
                beside.append(always + cheap.cost_again(again, count))
        self.sparse = SparseArcs(np.isfinite(np.stack(plain, axis=1)), arcs.lengths.first)
        self._tiles = np.array([way.tiles for way in self.listed.ways])
        self._free = self.sparse.of(arcs.value)
        crossing = self._costs[0] * into + self._costs[1] * out
        self._crossing = crossing[self.sparse.end, self.sparse.column]
        self._crossing += self.sparse.of(np.stack(beside, axis=1))
        self._fused_groups: dict[FusedGroup, PricedFusedGroup] = {}
        self._kept = 0
        self._last: dict[FusedGroup, Floats] = {}
        self._most: dict[FusedGroup, list[tuple[float, Ints, Floats]]] = {}
        self._now: Floats = np.empty(0)
        self._duals, self._proofs = _Duals(), list[_Proof]()
        self._paid: list[tuple[Floats, list[Floats]]] = []
        self.planes = Planes(self.listed, self.duals.count, max(self._costs) or 1.0)
        self.center: Floats = np.zeros(self.duals.count)
        self.best, self.exact = -np.inf, False
        self.fusion_plan: FusionPlan = ()
        self.named: FusionPlan = ()
        self.least = np.inf
        self.solved = 0

    def improve(
        self, stop: Callable[[], bool], tell: Callable[[float], None] = lambda _: None
    ) -> None:
        """Look for better dual values until they are good enough; ``tell`` of each bound."""
        for best in self.steps():
            tell(best)
            if stop():
                break

    def steps(self) -> Iterator[float]:
        """Yield the bound at the best dual values, after each search of better ones."""
        radius = _RADIUS
        self._look(self.center)
        yield self.best
        duals = yield from self._agree_along(self._short_plan())
        if duals is not None:
            self._look(duals)
            yield self.best
        duals = yield from self._agree_along(single_operations(self.listed))
        # Layer by layer has other dual values than fused groups: worth a look if better as it is.
        if duals is not None and self._path(duals)[0] > self.best:
            self._look(duals)
            yield self.best
        due, idle = 0.0, 0
        while idle < _IDLE:
            if self.arcs.work.seconds >= due:
                begun, least = self.arcs.work.seconds, self.least
                duals = yield from self._agree_along(self._short_plan())
                if duals is not None and self.least < least:
                    self._look(duals)
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
            rises = self.best > before + _SAME * abs(before)
            idle = 0 if rises or self.solved > solved else idle + 1
            yield self.best

    def _agree_along(self, fusion_plan: FusionPlan) -> Generator[float, None, Floats | None]:
        """Return the dual values that are best for a fusion plan; none where it is too long.

        Where much is on chip for long, as weights that are loaded ahead, planes that begin at no
        dual values would not come there. Of all plans the one that costs least then is named.
        The bound is yielded now and then: its hearer need not wait for all programs.
        """
        priced, size = list[PricedFusedGroup](), 0
        for fused_group in fusion_plan if self.duals.count else ():
            priced.append(self._program_of(fused_group))
            size += priced[-1].size
            if len(priced) % _BETWEEN == 0:
                yield self.best
            if size > _SOLVERS:
                return None
        if not priced:
            return None
        duals, least, work_s = chain_duals(priced, self.duals.count)
        self.arcs.work.seconds += work_s
        if least < self.least:
            self.named, self.least = self.arcs.join_untiled(fusion_plan), least
        return None if duals is None else self.planes.clip(duals)

    def _short_plan(self) -> FusionPlan:
        """Return the cheapest fusion plan at the best dual values, of about equal ones a short one.

        Steps take time to schedule.
        """
        value = self._table(self.center) + _STEP * abs(self.best) * self.sparse.steps(self._tiles)
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

    def _open(self, fusion_plan: FusionPlan, duals: Floats) -> list[FusedGroup]:
        """Return the fused groups whose program is not solved at these dual values."""
        return [each for each in fusion_plan if not self._is_tight(each, duals)]

    def _is_tight(self, fused_group: FusedGroup, duals: Floats) -> bool:
        """Return whether the value of a fused group at dual values is tight enough."""
        last = self._last.get(fused_group)
        if last is None:
            return False
        if self._sums(fused_group):
            return True
        if last is duals or np.array_equal(last, duals):
            return True
        # The least of the known upper bounds on its cost at these duals (a plane for each
        # solution).
        most = min(
            plain + float((change * duals[number]).sum())
            for plain, number, change in self._most[fused_group]
        )
        return most - float(self._now[self._at([fused_group])[0]]) < _SAME * abs(self.best)

    def _path(self, duals: Floats) -> tuple[float, FusionPlan]:
        return self.sparse.shortest(self._table(duals), self.listed.fused_group)

    def _table(self, duals: Floats) -> Floats:
        """Return (a,) the known lower bounds on fused groups at dual values."""
        value = self._beside(self._free, duals)
        self._duals.raise_to(value, duals)
        self.arcs.work.seconds += TABLE_S * value.size
        self._now = value
        return value

    def _beside(self, free: Floats, duals: Floats) -> Floats:
        """Return (a,) lower bounds on fused groups at duals, from those without duals."""
        if not duals.size:
            return free.copy()
        return self._mix(free, duals, slice(None))

    def _mix(self, free: Floats, duals: Floats, where: Ints | slice) -> Floats:
        """Return lower bounds on some fused groups at duals, from those without duals."""
        *mixed, alone = self._earn(duals)
        value: Floats = free + alone[where]
        # Each bounds the group from below, and so does any mean of the two (README).
        for part, paid in enumerate(mixed):
            found = paid[where] + (1 - part / PARTS) * self._crossing[where]
            if part:
                found += part / PARTS * free
            np.maximum(value, found, out=value)
        return value

    def _earn(self, duals: Floats) -> list[Floats]:
        """Return (a,) the least payments of fused groups at their ends and for bytes that cross.

        By part, where a byte that crosses costs the other parts of its transfer.
        """
        for known, found in self._paid:
            if known is duals:
                return found
        found = []
        for part in range(PARTS + 1):
            into, out = ((1 - part / PARTS) * each for each in self._costs)
            least = self.duals.least(duals, (into, out))
            found.append(least[self.sparse.begin, self.sparse.end])
        self.arcs.work.seconds += (PARTS + 1) * VALUE_S * self.duals.ways
        self._paid = [*self._paid[-1:], (duals, found)]
        return found

    def _at(self, fused_groups: Iterable[FusedGroup]) -> Ints:
        """Return which ones fused groups are."""
        places = zip(*(self.arcs.place(each) for each in fused_groups), strict=True)
        at = tuple(np.array(each) for each in places)
        return self.sparse.index(np.ravel_multi_index(at, self.arcs.value.shape))

    def _sums(self, fused_group: FusedGroup) -> bool:
        """Return whether a fused group sums up a tensor that has dual values at boundaries.

        Sums have several contents in its tiles, which no dual value names. Such a group has the
        value of its program without dual values, and the least payment of any group at its ends.
        """
        if fused_group.axis == 0 or fused_group.count == 1:
            return False
        listed = self.listed.of(fused_group)
        inner = listed.tileable.operations[fused_group.begin : fused_group.end]
        return any(listed.groups[t] == t for each in inner for t in each.partial_sums)

    def _solve(self, fused_group: FusedGroup, duals: Floats) -> None:
        """Solve a program; note its duals, and an upper bound on its cost at other dual values."""
        if self._sums(fused_group):
            self.arcs.solve([fused_group])
            value, at = float(self.arcs.value[self.arcs.place(fused_group)]), fused_group
            self._free[self._at([at])] = value
            self._last[at] = duals
            if np.isfinite(value):
                self.planes.add(at, value, np.empty(0, np.int64), np.empty(0))
            return
        known = self._program_of(fused_group)
        known.solve(duals)
        self.arcs.work.seconds += known.work_s
        self.solved += 1
        self._last[fused_group] = duals
        change = known.sign * known.amount
        if np.isfinite(known.value):
            self._duals.add(int(self._at([fused_group])[0]), known, duals)
            self._proofs.append((known.value, known.program.named, known.row_dual))
            plain = known.value - float((change * duals[known.number]).sum())
            self.planes.add(fused_group, plain, known.number, change)
            self._most.setdefault(fused_group, []).append((plain, known.number, change))
        else:
            self._most.setdefault(fused_group, []).append((np.inf, known.number, change))
            # It fits at no dual values.
            self._free[self._at([fused_group])] = np.inf

    def _program_of(self, fused_group: FusedGroup) -> PricedFusedGroup:
        """Return the program of a fused group, with its last basis where it is kept."""
        known = self._fused_groups.pop(fused_group, None)
        if known is None:
            listed = self.listed.of(fused_group)
            known = PricedFusedGroup(listed, fused_group, self.duals, fine=self.fine)
            self.arcs.work.seconds += known.work_s
        else:
            self._kept -= known.size
        self._fused_groups[fused_group] = known
        self._kept += known.size
        # The oldest goes first; it is built anew if it is met again.
        while self._kept > _SOLVERS:
            old = next(iter(self._fused_groups))
            self._kept -= self._fused_groups.pop(old).size
        return known

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
                    agreed[each] = FusedGroupValue(
                        value=worth, moved_bytes=0.0, duals=named.duals(dual)
                    )
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


class _Duals:
    """Bounds of fused groups at any duals: ``value + sum(most * min(0, rest + sign * dual))``."""

    def __init__(self) -> None:
        self.place: Ints = np.empty(0, np.int64)
        self.value: Floats = np.empty(0)
        self.owner: Ints = np.empty(0, np.int64)
        self.number: Ints = np.empty(0, np.int64)
        self.sign, self.rest, self.most = np.empty((3, 0))
        self._new: list[tuple[int, float, Ints, Floats, Floats, Floats]] = []

    def add(self, place: int, found: PricedFusedGroup, duals: Floats) -> None:
        """Add the duals that a program was solved with."""
        # Reduced costs of the carried bytes: at other duals each is at the better end of its range.
        value = found.value - float((np.minimum(0.0, found.rest) * found.most).sum())
        rest = found.rest - found.sign * duals[found.number]
        self._new.append((place, value, found.number, found.sign, rest, found.most))

    def _gather(self) -> None:
        if not self._new:
            return
        place, value, *parts = zip(*self._new, strict=True)
        count = self.place.size
        owner = np.repeat(np.arange(len(place)) + count, [each.size for each in parts[0]])
        self.place = np.concatenate((self.place, place))
        self.value = np.concatenate((self.value, value))
        self.owner = np.concatenate((self.owner, owner))
        self.number, self.sign, self.rest, self.most = (
            np.concatenate((old, *new))
            for old, new in zip((self.number, self.sign, self.rest, self.most), parts, strict=True)
        )
        self._new.clear()

    def _values(self, duals: Floats) -> Floats:
        self._gather()
        paid = np.minimum(0.0, self.rest + self.sign * duals[self.number]) * self.most
        values: Floats = self.value + np.bincount(self.owner, paid, self.place.size)
        return values

    def raise_to(self, table: Floats, duals: Floats) -> None:
        """Raise values of fused groups to the bounds of their duals."""
        values = self._values(duals)
        np.maximum.at(table, self.place, values)

    def at(self, duals: Floats) -> dict[int, tuple[int, float]]:
        """Return, by place, the best duals of each fused group, and their bounds."""
        values = self._values(duals)
        order = np.argsort(values, kind="stable").tolist()
        return {int(self.place[which]): (which, float(values[which])) for which in order}
