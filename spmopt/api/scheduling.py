"""Scheduling: one scheduler, or several against one certified bound; verified files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING

from spmopt.api.arguments import checked
from spmopt.api.callbacks import QUIET, Callbacks
from spmopt.api.shown import Shown
from spmopt.core.errors import InfeasibleError, InputError, ScheduleError

if TYPE_CHECKING:
    from spmopt.audit import Audit
    from spmopt.core.instance import Instance
    from spmopt.core.objective import Objective
    from spmopt.core.pieces.segments import Segment
    from spmopt.core.result import Result
    from spmopt.core.schedule import Schedule
    from spmopt.core.scheduler import Policy
    from spmopt.io.files import StoredResult
    from spmopt.metrics import Metrics
    from spmopt.reporting.schedule_view import ScheduleView
    from spmopt.reporting.tables import Part
    from spmopt.schedulers.registry import SchedulerEntry

_JOINT = "joint does, of small instances"
_WIDE = 100
"""Most characters of a line that is drawn."""


def require_limits(time_limit: float, tolerance: float, **counts: int | None) -> None:
    """Raise :class:`InputError` for a limit or a count that makes no sense."""
    # Whoever has read --tolerance 0.1% may write "0.1%" here as well.
    for name, value in (("time_limit", time_limit), ("tolerance", tolerance)):
        if not isinstance(value, Real) or not isfinite(value) or value < 0:
            raise InputError(f"{name} {value}: must be a number, 0 or more")
    for name, count in counts.items():
        if count is not None and count < 1:
            raise InputError(f"{name} {count}: must be at least 1")


@dataclass(frozen=True, eq=False, repr=False)
class Solution(Shown):
    """A verified schedule of an instance, with its certified bound.

    What there is no schedule or no bound for is None. Attributes are in base units, which their
    names end in.
    """

    stored: StoredResult
    path: Path | None = None
    """File that it was read from."""

    @property
    def instance(self) -> Instance:
        """Scheduled instance."""
        return self.stored.instance

    @property
    def result(self) -> Result:
        """Schedule, exact totals, bound and certificate."""
        return self.stored.result

    @property
    def schedule(self) -> Schedule:
        """The schedule; raises :class:`InputError` where there is none."""
        from spmopt.reporting.headings import require_schedule

        return require_schedule(self._where, self.instance, self.result)

    @property
    def _where(self) -> str:
        return str(self.path or f"{self.instance.name}, {self.result.scheduler}")

    @property
    def status(self) -> str:
        """``optimal``, ``feasible``, ``infeasible``, ``unknown`` or ``failed``."""
        return str(self.result.status)

    @property
    def gap(self) -> float | None:
        """Relative distance of the objective to the certified bound."""
        return self.result.gap

    @property
    def metrics(self) -> Metrics | None:
        """Times (s), energy by parts (J), power (W) and utilization of the schedule."""
        from spmopt.metrics import metrics

        totals = self.result.totals
        return None if totals is None else metrics(self.instance.machine, totals)

    @property
    def makespan_s(self) -> float | None:
        """Sum of the durations of all steps."""
        return None if self.metrics is None else self.metrics.time_s

    @property
    def energy_j(self) -> float | None:
        """Energy of DRAM, scratchpad, arithmetic and leakage."""
        return None if self.metrics is None else self.metrics.energy_j

    @property
    def traffic_bytes(self) -> int | None:
        """Bytes moved between DRAM and scratchpad."""
        return None if self.result.totals is None else self.result.totals.traffic_bytes

    @property
    def peak_spm_bytes(self) -> int | None:
        """Largest number of bytes in use."""
        return None if self.result.totals is None else self.result.totals.peak_spm_bytes

    def parts(self, width: int | None = None) -> Iterator[Part]:
        """Yield heading, figures, and occupancy of the scratchpad over time."""
        from spmopt.reporting.results import result_parts

        yield from result_parts(self.instance, self.result, min(width or _WIDE, _WIDE))

    def record(self) -> Mapping[str, object]:
        """Return instance and figures, as ``spmopt solve --json``."""
        from spmopt.reporting.results import results_record

        return results_record(self.instance, [self.result])

    def rows(self) -> Sequence[Mapping[str, object]]:
        """Return one row of figures."""
        from spmopt.reporting.results import result_record

        return [result_record(self.instance.machine, self.result)]

    def picture(self, *, timing: str = "steps", source: str = "") -> ScheduleView:
        """Lay out all that can be seen of the schedule, as arrays; see :func:`plot`.

        Raises
        ------
        InputError
            There is no schedule, or nothing of it can be shown.
        """
        from spmopt.reporting.headings import require_schedule
        from spmopt.reporting.schedule_view import ScheduleView

        require_schedule(self._where, self.instance, self.result)
        return ScheduleView.of(self.stored, timing=timing, source=source)

    def save(self, path: str | Path) -> None:
        """Write a result file, which holds all that :func:`verify` needs."""
        from spmopt.io.files import write_result

        write_result(Path(path), self.stored)


@dataclass(frozen=True, eq=False, repr=False)
class ComparisonTable(Shown):
    """Solutions of one instance, compared with one certified bound.

    ``comparison["page"]`` is the solution of a scheduler, on the list as given; of who chooses what
    is computed in pieces, of the cover that it has chosen. ``comparison.on_cover["belady"]`` is
    that of a scheduler on that cover, or on the one that was given.

    Attributes
    ----------
    instance
        What was scheduled.
    results
        One a scheduler, in the order asked for.
    not_run
        Schedulers that were left out because the run was stopped.
    """

    instance: Instance
    results: Sequence[Result]
    not_run: Sequence[str] = ()

    def __getitem__(self, scheduler: str) -> Solution:
        from spmopt.core.errors import unknown

        for result in self.results:
            if result.scheduler == scheduler:
                return self._solution(result)
        raise unknown("scheduler of the comparison", scheduler, [r.scheduler for r in self.results])

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Solution]:
        return map(self._solution, self.results)

    def _solution(self, result: Result) -> Solution:
        from spmopt.io.files import StoredResult

        return Solution(StoredResult.made_here(self.instance, result))

    @property
    def on_cover(self) -> Mapping[str, Solution]:
        """Solutions of schedulers that were run on a cover, by name; of each cover's chooser too.

        Of a cover that was given where there is one, else of the best one found.
        """
        pieces = [each for each in self.results if each.pieces is not None]
        return {each.scheduler: self._solution(each) for each in reversed(pieces)}

    def files(self) -> Iterator[tuple[str, Solution]]:
        """Yield each solution with a name of its own: ``belady``, ``cover-belady``."""
        seen = set[str]()
        for solution in self:
            name = solution.result.scheduler
            taken = name in seen
            seen.add(name)
            yield f"cover-{name}" if taken else name, solution

    @property
    def best(self) -> Solution:
        """Best schedule; raises :class:`InputError` where there is none."""
        known = [result for result in self.results if result.value is not None]
        if not known:
            raise InputError(f"{self.instance.name}: no scheduler of the comparison has a schedule")
        return self._solution(min(known, key=lambda result: result.value or 0))

    def excess(self, scheduler: str) -> tuple[float, float]:
        """Return how far a schedule is above the optimum of its order, relatively.

        Returns
        -------
        tuple of float
            At least, against the best schedule in the listed order; at most, against the bound.

        Raises
        ------
        InputError
            It has no schedule or no bound, or another order than the best one.
        """
        result = self[scheduler].result
        listed = [
            each.value
            for each in self.results
            if each.value and each.order is None and each.pieces is None
        ]
        if result.value is None or result.gap is None or result.order is not None or not listed:
            raise InputError(
                f"{scheduler}: needs a schedule in the listed order, and a bound on it"
            )
        return float(result.value / min(listed) - 1), result.gap

    def parts(self, width: int | None = None) -> Iterator[Part]:
        """Yield a table with a row for each scheduler, and remarks."""
        from spmopt.reporting.comparison import compare_view

        del width
        yield from compare_view(self.instance, self.results, self.not_run).parts()

    def record(self) -> Mapping[str, object]:
        """Return instance and figures, as ``spmopt compare --json``."""
        from spmopt.reporting.results import results_record

        return results_record(self.instance, self.results, self.not_run)

    def rows(self) -> Sequence[Mapping[str, object]]:
        """Return one row of figures for each result."""
        from spmopt.reporting.results import comparison_rows

        return comparison_rows(self.instance, self.results)


@checked
def solve(
    instance: Instance,
    scheduler: str | SchedulerEntry | Policy | None = None,
    *,
    pieces: str | None = None,
    cover: str | Path | Sequence[Segment] | None = None,
    objective: str | Objective = "time",
    time_limit: float = 60.0,
    tolerance: float = 1e-4,
    threads: int = 2,
    callbacks: Callbacks = QUIET,
) -> Solution:
    """Schedule an instance, verify the schedule and certify its bound.

    Parameters
    ----------
    instance
        What :func:`lower` returns.
    scheduler
        Name (see :func:`list_schedulers`); default: pieces or page.
    pieces
        Covers to choose from: none (all operations whole), fuse, batch or all.
    cover
        File with the cover to schedule: TOML, JSON or a result.
    objective
        What to minimize: time, replay (time without barriers between steps), traffic or energy.
    time_limit
        Time limit of each scheduler, in seconds.
    tolerance
        Gap at which a schedule counts as optimal.
    threads
        Number of threads of a solver.
    callbacks
        Receive progress and incumbents, and stop the search.

    Returns
    -------
    Solution
        The verified schedule, where one was found, and the bound.

    Raises
    ------
    InputError
        An unknown scheduler or objective, or one that does not go with the other.

    Notes
    -----
    A cover (PROBLEM.md, section 1) cuts the list of operations into segments, each computed whole,
    or depth first in pieces of the batch: one piece through all of the segment, then the next.
    ``pieces`` names the covers to choose from: ``none`` (the list as given), ``fuse`` (a segment in
    pieces has one matrix product at most), ``batch`` (any segments) or ``all`` (bands of rows too);
    the command line takes ``all`` for networks and ONNX files where no scheduler is named, here the
    default is ``none``. With ``cover`` that one is scheduled. Results of covers have a bound over
    all of them beside their own.

    In place of a name a policy itself may be given, a function from an instance to what stays on
    chip (:data:`spmopt.core.scheduler.Policy`), and an :class:`Objective` in place of its name;
    objectives that are registered go by name too.
    """
    from spmopt.api.covers import solver

    chosen = solver(scheduler, pieces, cover)
    found = compare(
        instance,
        [chosen],
        pieces=None if chosen.covers else pieces,
        cover=cover,
        objective=objective,
        time_limit=time_limit,
        tolerance=tolerance,
        threads=threads,
        callbacks=callbacks,
    )
    if cover is not None and found.on_cover:
        return found.on_cover[chosen.name]
    return found[chosen.name]


@checked
def compare(
    instance: Instance,
    schedulers: Sequence[str | SchedulerEntry | Policy] | None = None,
    *,
    pieces: str | None = None,
    cover: str | Path | Sequence[Segment] | None = None,
    objective: str | Objective = "time",
    time_limit: float = 60.0,
    tolerance: float = 1e-4,
    threads: int = 2,
    callbacks: Callbacks = QUIET,
) -> ComparisonTable:
    """Run several schedulers, all compared with the best certified bound.

    Parameters
    ----------
    instance
        What :func:`lower` returns.
    schedulers
        Names; default: all usual ones that support the objective.
    pieces
        Covers to choose from: none (all operations whole), fuse, batch or all.
    cover
        File with the cover to schedule: TOML, JSON or a result.
    objective, time_limit, tolerance, threads, callbacks
        As for :func:`solve`.

    Returns
    -------
    ComparisonTable
        One result a scheduler. A policy of a package or of one's own that raises, or whose
        schedule breaks a rule, has the status ``failed`` and the reason in its notes.

    Raises
    ------
    InputError
        An unknown scheduler or objective, or one that does not go with the other.
    ScheduleError
        All schedulers failed.

    Notes
    -----
    With ``pieces`` (as for :func:`solve`) policies are run on the list as given and on the best
    cover found, with ``cover`` all schedulers on that one; each has two gaps, to the bound of its
    own list or cover and to the bound over all covers.
    """
    from spmopt.api.covers import given_pieces, on_covers, with_chooser
    from spmopt.core.objective import objective_named
    from spmopt.core.scheduler import Request
    from spmopt.schedulers.registry import by_name
    from spmopt.solving import compare as run

    require_limits(time_limit, tolerance, threads=threads)
    given = usual_schedulers(instance, objective)[0] if schedulers is None else schedulers
    entries = with_chooser(by_name(given), pieces, cover)
    segments = None if cover is None else given_pieces(instance, cover, pieces)
    request = Request(
        objective=objective_named(objective, instance.machine),
        tolerance=tolerance,
        time_limit_s=time_limit,
        threads=threads,
        stop=callbacks.stop,
        report=callbacks.progress,
        on_incumbent=callbacks.on_incumbent,
    )
    results = run(instance, list(entries.values()), request)
    not_run = list(entries)[len(results) :]
    results = on_covers(results, list(entries.values()), request, segments)
    return ComparisonTable(instance, results, not_run)


def usual_schedulers(instance: Instance, objective: str | Objective) -> tuple[list[str], str]:
    """Return the schedulers that a comparison has by default, and a note on those left out."""
    from spmopt.core.objective import Objective, objective_entry
    from spmopt.schedulers.registry import compared, find

    asked = objective_entry(objective).of if isinstance(objective, str) else objective
    usual = compared(instance.machine.features)
    able = [n for n in usual if not isinstance(asked, Objective) or find(n).takes(asked)]
    unable = [name for name in usual if name not in able]
    if not unable:
        return able, ""
    name = objective if isinstance(objective, str) else objective.name
    return able, f"left out, for they do not minimize {name}: {', '.join(unable)}; {_JOINT}"


@checked
def read(path: str | Path, *, callbacks: Callbacks = QUIET) -> Solution:
    """Read and verify a result file.

    Parameters
    ----------
    path
        File that :meth:`Solution.save` wrote.
    callbacks
        Receive progress.

    Returns
    -------
    Solution
        All that the file claims is true.

    Raises
    ------
    InputError
        It cannot be read.
    ScheduleError
        Its schedule breaks a rule, or something that it claims is not true.
    """
    found = verify(path, callbacks=callbacks)
    if found.violations:
        raise ScheduleError(f"{path}: not verified: {found.violations[0]}")
    return found.solution


@dataclass(frozen=True, eq=False, repr=False)
class Verification(Shown):
    """What the verifier found.

    Attributes
    ----------
    solution
        As it was given.
    audit
        Recomputed figures, and what does not hold.
    """

    solution: Solution
    audit: Audit

    @property
    def violations(self) -> Sequence[object]:
        """Rules broken and claims that are not true; empty when all is well."""
        return self.audit.violations

    def parts(self, width: int | None = None) -> Iterator[Part]:
        """Yield what holds, or what does not."""
        from spmopt.reporting.tables import Line
        from spmopt.reporting.verification import verification_lines

        del width
        head, *lines = verification_lines(self.solution.instance, self.solution.result, self.audit)
        yield Line(text=head)
        yield from (Line(text=line, indent=12) for line in lines)

    def record(self) -> Mapping[str, object]:
        """Return the recomputed figures, as ``spmopt verify --json``."""
        from spmopt.reporting.verification import verification_record

        return verification_record(self.solution.instance, self.solution.result, self.audit)


@checked
def verify(result: str | Path | Solution, *, callbacks: Callbacks = QUIET) -> Verification:
    """Recompute everything that a result claims, without any solver.

    Parameters
    ----------
    result
        Result file, or solution.
    callbacks
        Receive progress.

    Returns
    -------
    Verification
        Violations and recomputed figures.

    Raises
    ------
    InputError
        The file cannot be read.
    """
    from spmopt.audit import audit

    if not isinstance(result, Solution):
        result = unverified(result, callbacks)
    callbacks.progress("verifying", None)
    return Verification(result, audit(result.instance, result.result))


def unverified(path: str | Path, callbacks: Callbacks = QUIET) -> Solution:
    """Read a result file; nothing that it claims is checked."""
    from spmopt.audit import restored
    from spmopt.io.files import read_result

    callbacks.progress(f"reading {path}", None)
    stored = read_result(Path(path))
    try:
        return Solution(restored(stored), Path(path))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def require_feasible(solution: Solution) -> None:
    """Raise :class:`InfeasibleError`, with its reasons, where no legal schedule exists."""
    from spmopt.core.modes import unfit
    from spmopt.core.result import Status

    if solution.result.status is Status.INFEASIBLE:
        raise InfeasibleError(unfit(solution.instance) or "; ".join(solution.result.notes))
