"""The sweep itself: a task for each point, whose rows are stored as they are finished."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from spmopt.core.result import Result
from spmopt.experiments.queue import TaskQueue
from spmopt.experiments.rows import Texts
from spmopt.experiments.store import Report, RowTable
from spmopt.schedulers.registry import Kind
from spmopt.sweeps.cases import Network, SweepCase, network_warnings
from spmopt.sweeps.rows import about, row_of
from spmopt.sweeps.work import SolveOptions, point


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Every scheduler at every capacity of every case.

    Attributes
    ----------
    search
        Objective and limits.
    """

    cases: tuple[SweepCase, ...]
    schedulers: tuple[str, ...]
    search: SolveOptions = field(default_factory=SolveOptions)

    @property
    def points(self) -> list[tuple[SweepCase, int]]:
        """Cases and capacities, in the order of their rows."""
        return [(case, size) for case in self.cases for size in case.capacities]

    def keys(self, table: RowTable) -> list[Texts]:
        """Keys of all rows, in their order."""
        key = table.columns.key_about
        return [
            key(about(case, size, name)) for case, size in self.points for name in self.schedulers
        ]


def run_sweeps(
    sweeps: Sequence[Sweep],
    table: RowTable,
    queue: TaskQueue,
    *,
    report: Report = lambda message, part: None,
    warn: Callable[[str], None] = lambda message: None,
) -> None:
    """Add the missing rows of sweeps to a table.

    However it ends, finished rows are on disk; those of a finished run are in their order.

    Parameters
    ----------
    queue
        Entered; its processes run the schedulers.
    report, warn
        Receive progress, and doubts about networks.

    Raises
    ------
    InputError
        A network or machine that cannot be used, a file that cannot be written.
    ScheduleError
        An illegal schedule or an untrue bound.
    """
    keys = [key for each in sweeps for key in each.keys(table)]
    warned, built = set[str](), set[Network]()

    def warn_once(texts: Sequence[str]) -> None:
        for text in texts:
            if text not in warned:
                warned.add(text)
                warn(text)

    def finish(task: _Task, results: Sequence[tuple[Result, str]]) -> None:
        objective = task.sweep.search.objective
        table.add(
            row_of(task.case, task.spm_bytes, result, order, objective) for result, order in results
        )
        at = f"{task.case.network.label} at {task.spm_bytes / 1e6:g} MB"
        report(f"{len(table)} of {len(keys)} rows; {at}", len(table) / len(keys))

    try:
        for task in _tasks(sweeps, table):
            # Warnings come once for each network, ahead of its schedules (urgency -1).
            if task.case.network not in built:
                built.add(task.case.network)
                queue.add(
                    (-1,),
                    partial(network_warnings, task.case.network, task.case.machine),
                    warn_once,
                )
            queue.add(
                task.urgency,
                partial(point, task.case, task.spm_bytes, task.schedulers, task.sweep.search),
                partial(finish, task),
            )
        for _ in queue.steps():
            pass
    finally:
        table.close(keys)


@dataclass(frozen=True, kw_only=True)
class _Task:
    """Schedulers that one process runs at one capacity."""

    urgency: tuple[int, ...]
    sweep: Sweep
    case: SweepCase
    spm_bytes: int
    schedulers: tuple[str, ...]


def _tasks(sweeps: Sequence[Sweep], table: RowTable) -> Iterator[_Task]:
    """Yield the missing schedulers of each point: quick ones together, as they share bounds.

    Policies and relaxations are quick. Of a case they go first, so that rows come early.
    """
    ranks: dict[SweepCase, int] = {}
    for sweep, (case, size) in ((each, at) for each in sweeps for at in each.points):
        rank = ranks.setdefault(case, len(ranks))
        key = table.columns.key_about
        names = [name for name in sweep.schedulers if key(about(case, size, name)) not in table]
        slow = [name for name in names if sweep.search.scheduler(name).kind is Kind.FORMULATION]
        quick = tuple(name for name in names if name not in slow)
        # Slow ones apart, so that they run at the same time on several processes.
        for group in (quick, *((name,) for name in slow)):
            if group:
                yield _Task(
                    urgency=(rank, int(group is not quick)),
                    sweep=sweep,
                    case=case,
                    spm_bytes=size,
                    schedulers=group,
                )
