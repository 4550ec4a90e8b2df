"""The sweep itself: what waits for what, and what comes out of it as it is finished.

A case is sorted into sections of one instance each; in a section, the orders that its policies
take; for each order a curve of the relaxation, solve by solve; then every point.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from spmopt.sweep.cases import Case, Order, Section
from spmopt.sweep.curve import Curve, Solved
from spmopt.sweep.pool import Pool
from spmopt.sweep.work import Finding, Search, enclose, orders, point, prepare

_FIRST, _LAST = 0, 1
"""Points last: curves come step by step, and many points wait for them."""

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
    done: Done,
    tell: Tell,
    warn: Tell,
) -> Iterator[list[Found]]:
    """Run every scheduler at every capacity of every case, but for what is done already.

    Parameters
    ----------
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
        pool=pool, schedulers=tuple(schedulers), search=search, done=done, tell=tell, warn=warn
    )
    for case in cases:
        run.begin(case)
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
    """All curves that the points of a section wait for."""

    section: Section
    open: dict[int, tuple[str, ...]]
    lanes: list[_Lane] = field(default_factory=list)


@dataclass(kw_only=True)
class _Run:
    pool: Pool
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

    def begin(self, case: Case) -> None:
        """Sort a case into sections, unless all of it is done."""
        if any(self._missing(case, size) for size in case.capacities):
            self.pool.add(_FIRST, partial(prepare, case), self._prepared)

    def _missing(self, case: Case, spm_bytes: int) -> tuple[str, ...]:
        return tuple(name for name in self.schedulers if not self.done(case, spm_bytes, name))

    def _prepared(self, answer: tuple[tuple[Section, ...], tuple[str, ...]]) -> None:
        found, warnings = answer
        for text in warnings:
            if text not in self.warned:
                self.warned.add(text)
                self.warn(text)
        for section in found:
            missing = {size: self._missing(section.case, size) for size in section.capacities}
            still = {size: names for size, names in missing.items() if names}
            if still:
                task = partial(orders, section, self.schedulers, self.search)
                self.pool.add(_FIRST, task, partial(self._ordered, section, still))

    def _ordered(
        self, section: Section, still: dict[int, tuple[str, ...]], found: Collection[Order]
    ) -> None:
        """Begin the curves, over all capacities of the section, done or not.

        So a sweep that was taken up again gives what it would have given in one go.
        """
        sizes = [size for size in section.capacities if size not in section.infeasible]
        at = {section.usable_bytes(size): size for size in reversed(sizes)}
        curves = _Lanes(section=section, open=still)
        curves.lanes = [
            _Lane(order=order, curve=Curve(tuple(at), self.search.tolerance), spm_bytes=at)
            for order in found
        ]
        for lane in curves.lanes:
            self._advance(curves, lane)
        self._points(curves)

    def _advance(self, curves: _Lanes, lane: _Lane) -> None:
        """Begin the next round of solves."""
        wanted = lane.curve.wanted()
        lane.complete = not wanted
        lane.under_way = len(wanted)
        for capacity in wanted:
            task = partial(
                enclose, curves.section, lane.order, lane.spm_bytes[capacity], self.search
            )
            self.pool.add(_FIRST, task, partial(self._solved, curves, lane))

    def _solved(self, curves: _Lanes, lane: _Lane, solved: Solved) -> None:
        lane.curve.add(solved)
        lane.under_way -= 1
        name = curves.section.case.network.name
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
            task = partial(point, section, size, names, known, self.search)
            self.pool.add(_LAST, task, partial(self._finish, section.case, size))

    def _finish(self, case: Case, spm_bytes: int, findings: list[Finding]) -> None:
        self.tell(f"{case.network.name} at {spm_bytes / 1e6:g} MB")
        self.found += [
            Found(case=case, spm_bytes=spm_bytes, finding=finding) for finding in findings
        ]
