"""The sweep itself: what waits for what, and what comes out of it as it is finished.

A case is sorted into sections of one problem each; in a section, the orders that its policies
take; for each order a curve of the relaxation, solve by solve; then every point, policies first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any

from spmopt.experiments.queue import TaskQueue
from spmopt.experiments.rows import Texts
from spmopt.experiments.run import shard
from spmopt.experiments.store import Report, RowTable
from spmopt.schedulers.registry import Kind
from spmopt.sweeps.cases import Order, Section, SweepCase
from spmopt.sweeps.curve import BoundCurve, EnclosedOptimum
from spmopt.sweeps.rows import about, row_of
from spmopt.sweeps.work import Finding, SolveOptions, enclose, orders, point, prepare

_CURVE, _QUICK, _SLOW = range(3)
"""What goes first in a section."""


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """What is run: every scheduler at every capacity of every case.

    Attributes
    ----------
    search
        What is minimized, and how far.
    only
        Cases and capacities (bytes) that rows are made of; None: all.
    """

    cases: tuple[SweepCase, ...]
    schedulers: tuple[str, ...]
    search: SolveOptions = field(default_factory=SolveOptions)
    only: frozenset[tuple[SweepCase, int]] | None = None

    @property
    def points(self) -> list[tuple[SweepCase, int]]:
        """Cases and capacities, in the order of their rows."""
        every = [(case, size) for case in self.cases for size in case.capacities]
        return [each for each in every if self.only is None or each in self.only]

    def keys(self, table: RowTable) -> list[Texts]:
        """Keys of all rows, in their order."""
        key = table.columns.key_about
        return [
            key(about(case, size, name)) for case, size in self.points for name in self.schedulers
        ]

    def shard(self, text: str | None) -> tuple[Sweep, dict[str, Any]]:
        """Cut out the points of a shard; arguments, answer and errors of :func:`shard`.

        Bounds are found as for the whole sweep, so that rows are the same.
        """
        points, cut = shard(self.points, text)
        return (replace(self, only=frozenset(points)) if cut else self), cut


def run_sweeps(
    sweeps: Sequence[Sweep],
    table: RowTable,
    queue: TaskQueue,
    *,
    report: Report = lambda message, part: None,
    warn: Callable[[str], None] = lambda message: None,
) -> int:
    """Add the rows of sweeps to a table, but for those that are there; wait for other processes.

    However it ends, finished rows are on disk; those of a finished run are in their order.

    Parameters
    ----------
    queue
        Entered; who works.
    report, warn
        Told of progress, and of what is doubtful.

    Returns
    -------
    int
        Number of programs that were solved for curves.

    Raises
    ------
    InputError
        A network or machine that cannot be used, a file that cannot be written.
    ScheduleError
        An illegal schedule or an untrue bound.
    """
    keys = [key for each in sweeps for key in each.keys(table)]

    def note(message: str) -> None:
        report(f"{len(table)} of {len(keys)} rows; {message}", len(table) / len(keys))

    ranks, warned = count(), set[str]()
    runs = [
        _SweepRun(
            sweep=each,
            queue=queue,
            table=table,
            note=note,
            warn=warn,
            warned=warned,
        )
        for each in sweeps
    ]
    try:
        for _ in table.rounds(keys, report):
            for run in runs:
                for case in run.sweep.cases:
                    run.begin(next(ranks), case)
            for _ in queue.steps():
                pass
    finally:
        table.close(keys)
    return sum(run.solves for run in runs)


@dataclass(kw_only=True)
class _Lane:
    """The curve of a section in one order, and how many solves are under way."""

    order: Order
    curve: BoundCurve
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
class _SweepRun:
    sweep: Sweep
    queue: TaskQueue
    table: RowTable
    note: Callable[[str], None]
    warn: Callable[[str], None]
    warned: set[str]
    solves: int = 0

    def begin(self, rank: int, case: SweepCase) -> None:
        """Sort a case into sections, unless all of it is done or another process is at it.

        Tasks of the cases before it go first, then those of smaller sections, so that rows come
        early; in a section curves before points, many of which wait for each solve, and policies
        before optimizers, which take longer.
        """
        missing = [
            self._key(case, size, name)
            for size in case.capacities
            for name in self._missing(case, size)
        ]
        if missing:
            then, admit = partial(self._prepare, rank), partial(self.table.claim, missing)
            self.queue.add((rank, 0, _CURVE), partial(prepare, case), then, admit)

    def _key(self, case: SweepCase, spm_bytes: int, scheduler: str) -> Texts:
        return self.table.columns.key_about(about(case, spm_bytes, scheduler))

    def _missing(self, case: SweepCase, spm_bytes: int) -> tuple[str, ...]:
        """Schedulers whose rows of a point are wanted and not there."""
        if self.sweep.only is not None and (case, spm_bytes) not in self.sweep.only:
            return ()
        names = self.sweep.schedulers
        return tuple(name for name in names if self._key(case, spm_bytes, name) not in self.table)

    def _prepare(self, rank: int, answer: tuple[tuple[Section, ...], tuple[str, ...]]) -> None:
        found, warnings = answer
        for text in warnings:
            if text not in self.warned:
                self.warned.add(text)
                self.warn(text)
        for number, section in enumerate(found):
            missing = {size: self._missing(section.case, size) for size in section.capacities}
            still = {size: names for size, names in missing.items() if names}
            if still:
                task = partial(orders, section, self.sweep.schedulers, self.sweep.search)
                curves = _Lanes(rank=(rank, number), section=section, open=still)
                self.queue.add((*curves.rank, _CURVE), task, partial(self._order, curves))

    def _order(self, curves: _Lanes, found: Collection[Order]) -> None:
        """Begin the curves, over all capacities of the section, done or not.

        So a sweep that was taken up again gives what it would have given in one go.
        """
        section = curves.section
        sizes = [size for size in section.capacities if size not in section.infeasible]
        at = {section.usable_bytes(size): size for size in reversed(sizes)}
        curves.lanes = [
            _Lane(
                order=order, curve=BoundCurve(tuple(at), self.sweep.search.tolerance), spm_bytes=at
            )
            for order in found
        ]
        for lane in curves.lanes:
            self._advance(curves, lane)
        self._points(curves)

    def _advance(self, curves: _Lanes, lane: _Lane) -> None:
        """Begin the next round of solves."""
        section, order, curve = curves.section, lane.order, lane.curve
        for capacity in curve.want():
            neighbor = curve.nearest(capacity)
            duals = None if neighbor is None else neighbor.certificate
            size = lane.spm_bytes[capacity]
            task = partial(enclose, section, order, size, self.sweep.search, duals)
            self.queue.add((*curves.rank, _CURVE), task, partial(self._solved, curves, lane))
            lane.under_way += 1
        lane.complete = not lane.under_way

    def _solved(self, curves: _Lanes, lane: _Lane, solved: EnclosedOptimum) -> None:
        self.solves += 1
        lane.curve.add(solved)
        lane.under_way -= 1
        name = curves.section.case.network.label
        self.note(f"{name}: {lane.curve.solves} solutions of its curve")
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
            for urgency, some in _by_urgency(names, self.sweep.search):
                task = partial(point, section, size, some, known, self.sweep.search)
                then = partial(self._finish, section.case, size)
                self.queue.add((*curves.rank, urgency), task, then)

    def _finish(self, case: SweepCase, spm_bytes: int, findings: list[Finding]) -> None:
        objective = self.sweep.search.objective
        self.table.add(row_of(case, spm_bytes, finding, objective) for finding in findings)
        self.note(f"{case.network.label} at {spm_bytes / 1e6:g} MB")


def _by_urgency(
    names: Sequence[str], search: SolveOptions
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Policies and the relaxation, whose rows are quick, together; each optimizer by itself."""
    slow = [name for name in names if search.scheduler(name).kind is Kind.FORMULATION]
    quick = tuple(name for name in names if name not in slow)
    if quick:
        yield _QUICK, quick
    for name in slow:
        yield _SLOW, (name,)
