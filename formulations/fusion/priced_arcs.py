"""Bounds of fused groups at dual values of bytes carried across boundaries, from few programs.

At other dual values the duals of a fused group's program bound it still, so that few programs are
solved again, and these from their last basis. Each solution says how much its fused group costs at
other dual values at most.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from formulations.fusion.boundary_duals import BoundaryDuals, PricedFusedGroup
from formulations.fusion.paths import FusedGroupArcs
from formulations.fusion.planes import Planes
from formulations.fusion.rows import NamedRows
from formulations.fusion.shortest_paths import SparseArcs
from formulations.fusion.work import TABLE_S, VALUE_S
from formulations.solver.program import Floats
from spmopt.core.fusion.certificate import PARTS
from spmopt.core.fusion.fused_groups import FusedGroup, FusionPlan
from spmopt.core.table import Ints

SOLVERS = 600_000
"""Entries of programs that are kept with their last basis: each takes half a kilobyte."""
SAME = 5e-6
"""Of the bound: the slack of a fused group's value before it is solved again."""

_Proof = tuple[float, NamedRows, Floats]
"""Lower bound on the cost of a fused group, and the duals that prove it."""


class PricedArcs:
    """Values of fused groups at dual values at boundaries, and their programs.

    ``fine``: programs tell the first and the last fusion tile from the others.

    Attributes
    ----------
    best
        The largest bound so far.
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
        self._free, self._known = self.sparse.of(arcs.value), len(arcs.solved)
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
        self.best, self.solved = -np.inf, 0

    def renew(self) -> None:
        """Take the values of fused groups without dual values that are known by now."""
        if self._known < len(self.arcs.solved):
            np.maximum(self._free, self.sparse.of(self.arcs.value), out=self._free)
            self._known = len(self.arcs.solved)

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
        return most - float(self._now[self._at([fused_group])[0]]) < SAME * abs(self.best)

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
        return self._mix(free, duals, slice(None))

    def _mix(self, free: Floats, duals: Floats, where: Ints | slice) -> Floats:
        """Return lower bounds on some fused groups at duals, from those without duals."""
        if not duals.size:
            return free.copy()
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
        while self._kept > SOLVERS:
            old = next(iter(self._fused_groups))
            self._kept -= self._fused_groups.pop(old).size
        return known


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
