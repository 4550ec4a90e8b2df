"""The sweep itself: what waits for what, and what comes out of it as it is finished.

A case is sorted into sections of one instance each; in a section, the orders that its policies
take; for each order a curve of the relaxation, solve by solve; then every point, policies first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from spmopt.schedulers.registry import Kind, find
from spmopt.sweep.cases import Case, Order, Section
from spmopt.sweep.curve import Curve, Solved
from spmopt.sweep.pool import Pool
from spmopt.sweep.store import Store
from spmopt.sweep.work import Finding, Search, enclose, orders, point, prepare

_CURVE, _QUICK, _SLOW = range(3)
"""What goes first in a section."""

Done = Callable[[Case, int, str], bool]
Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Found:
    """One scheduler at one point of the sweep."""

    case: Case
    spm_bytes: int
    finding: Finding


def sweep(
    cases: Sequence[Case],
    schedulers: Sequence[str],
    search: Search,
    *,
    pool: Pool,
    store: Store,
    done: Done,
    tell: Tell,
    warn: Tell,
) -> Iterator[list[Found]]:
    """Run every scheduler at every capacity of every case, but for what is done already.

    Parameters
    ----------
    store
        Solutions of curves that are known already, and where new ones go.
    done
        Whether a case, a capacity and a scheduler are done.
    tell, warn
        Told of progress, and of what is doubtful.

    Yields
    ------
    What was finished since; empty when there is progress only.

    Raises
    ------
    InputError
        A network or machine that cannot be used.
    ScheduleError
        An illegal schedule or an untrue bound.
    """
    run = _Run(
        pool=pool,
        store=store,
        schedulers=tuple(schedulers),
        search=search,
        done=done,
        tell=tell,
        warn=warn,
    )
    for rank, case in enumerate(cases):
        run.begin(rank, case)
    for _ in pool.steps():
        yield run.take()


@dataclass(kw_only=True)
class _Lane:
    """The curve of a section in one order, and how many solves are under way."""

    order: Order
    curve: Curve
    spm_bytes: dict[int, int]
    under_way: int = 0
    complete: bool = False


@dataclass(kw_only=True)
class _Lanes:
    """All curves that the points of a section wait for; ``rank`` is of its case, and its own."""

    rank: tuple[int, int]
    section: Section
    open: dict[int, tuple[str, ...]]
    lanes: list[_Lane] = field(default_factory=list)


@dataclass(kw_only=True)
class _Run:
    pool: Pool
    store: Store
    schedulers: tuple[str, ...]
    search: Search
    done: Done
    tell: Tell
    warn: Tell
    warned: set[str] = field(default_factory=set)
    found: list[Found] = field(default_factory=list)

    def take(self) -> list[Found]:
        """What was found since the last call."""
        found, self.found = self.found, []
        return found

    def begin(self, rank: int, case: Case) -> None:
        """Sort a case into sections, unless all of it is done.

        Tasks of the cases before it go first, then those of smaller sections, so that rows come
        early; in a section curves before points, many of which wait for each solve, and policies
        before optimisers, which take longer.
        """
        if any(self._missing(case, size) for size in case.capacities):
            self.pool.add((rank, 0, _CURVE), partial(prepare, case), partial(self._prepared, rank))

    def _missing(self, case: Case, spm_bytes: int) -> tuple[str, ...]:
        return tuple(name for name in self.schedulers if not self.done(case, spm_bytes, name))

    def _prepared(self, rank: int, answer: tuple[tuple[Section, ...], tuple[str, ...]]) -> None:
        found, warnings = answer
        for text in warnings:
            if text not in self.warned:
                self.warned.add(text)
                self.warn(text)
        for number, section in enumerate(found):
            missing = {size: self._missing(section.case, size) for size in section.capacities}
            still = {size: names for size, names in missing.items() if names}
            if still:
                task = partial(orders, section, self.schedulers, self.search)
                curves = _Lanes(rank=(rank, number), section=section, open=still)
                self.pool.add((*curves.rank, _CURVE), task, partial(self._ordered, curves))

    def _ordered(self, curves: _Lanes, found: Collection[Order]) -> None:
        """Begin the curves, over all capacities of the section, done or not.

        So a sweep that was taken up again gives what it would have given in one go.
        """
        section = curves.section
        sizes = [size for size in section.capacities if size not in section.infeasible]
        at = {section.usable_bytes(size): size for size in reversed(sizes)}
        curves.lanes = [
            _Lane(order=order, curve=Curve(tuple(at), self.search.tolerance), spm_bytes=at)
            for order in found
        ]
        for lane in curves.lanes:
            self._advance(curves, lane)
        self._points(curves)

    def _advance(self, curves: _Lanes, lane: _Lane) -> None:
        """Begin the next round of solves."""
        section, order, curve = curves.section, lane.order, lane.curve
        while not lane.under_way and (wanted := curve.wanted()):
            near = {capacity: curve.nearest(capacity) for capacity in wanted}
            for capacity in wanted:
                known = self.store.get(section, order, capacity)
                if known is not None:
                    curve.add(known)
                    continue
                neighbour = near[capacity]
                prices = None if neighbour is None else neighbour.certificate
                size = lane.spm_bytes[capacity]
                task = partial(enclose, section, order, size, self.search, prices)
                then = partial(self._solved, curves, lane)
                self.pool.add((*curves.rank, _CURVE), task, then)
                lane.under_way += 1
        lane.complete = not lane.under_way

    def _solved(self, curves: _Lanes, lane: _Lane, solved: Solved) -> None:
        self.store.put(curves.section, lane.order, solved)
        lane.curve.add(solved)
        lane.under_way -= 1
        name = curves.section.case.network.label
        self.tell(f"{name}: {lane.curve.solves} solutions of its curve")
        if not lane.under_way:
            self._advance(curves, lane)
            self._points(curves)

    def _points(self, curves: _Lanes) -> None:
        """Once the curves are complete, run every point."""
        if not all(lane.complete for lane in curves.lanes):
            return
        section = curves.section
        for size, names in curves.open.items():
            known = {}
            if size not in section.infeasible:
                usable = section.usable_bytes(size)
                known = {lane.order: lane.curve.at(usable) for lane in curves.lanes}
            for urgency, some in _by_urgency(names):
                task = partial(point, section, size, some, known, self.search)
                then = partial(self._finish, section.case, size)
                self.pool.add((*curves.rank, urgency), task, then)

    def _finish(self, case: Case, spm_bytes: int, findings: list[Finding]) -> None:
        self.tell(f"{case.network.label} at {spm_bytes / 1e6:g} MB")
        self.found += [
            Found(case=case, spm_bytes=spm_bytes, finding=finding) for finding in findings
        ]


def _by_urgency(names: Sequence[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Policies and the relaxation, whose rows are quick, together; each optimiser by itself."""
    slow = [name for name in names if find(name).kind is Kind.FORMULATION]
    quick = tuple(name for name in names if name not in slow)
    if quick:
        yield _QUICK, quick
    for name in slow:
        yield _SLOW, (name,)
