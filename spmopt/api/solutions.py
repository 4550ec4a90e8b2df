"""Solutions: verified schedules with their certified bounds, one or several compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spmopt.api.shown import Shown
from spmopt.core import solution as core_solution
from spmopt.core.errors import InputError

if TYPE_CHECKING:
    from spmopt.core.problem import Problem
    from spmopt.core.result import Result
    from spmopt.core.schedule import Schedule
    from spmopt.metrics import Metrics
    from spmopt.reporting.schedule_view import ScheduleView
    from spmopt.reporting.tables import Part


class Solution(core_solution.Solution, Shown):
    """A verified schedule of a problem, with its certified bound.

    Attributes are None when no schedule or bound exists. They are in base units, which their names
    end in.
    """

    @property
    def schedule(self) -> Schedule:
        """The schedule; raises :class:`InputError` where there is none."""
        from spmopt.reporting.headings import require_schedule

        return require_schedule(self._where, self.problem, self.result)

    @property
    def _where(self) -> str:
        return str(self.path or f"{self.problem.name}, {self.result.scheduler}")

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
        return None if totals is None else metrics(self.problem.machine, totals)

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

    def parts(self) -> Iterator[Part]:
        """Yield heading and figures."""
        from spmopt.reporting.results import result_parts

        yield from result_parts(self.problem, self.result)

    def record(self) -> Mapping[str, object]:
        """Return problem and figures, as ``spmopt solve --json``."""
        from spmopt.reporting.results import results_record

        return results_record(self.problem, [self.result])

    def rows(self) -> Sequence[Mapping[str, object]]:
        """Return one row of figures."""
        from spmopt.reporting.results import result_record

        return [result_record(self.problem, self.result)]

    def picture(self, *, timing: str = "step", source: str = "") -> ScheduleView:
        """Lay out all that can be seen of the schedule, as arrays; see :func:`plot`.

        Raises
        ------
        InputError
            There is no schedule, or nothing of it can be shown.
        """
        from spmopt.reporting.headings import require_schedule
        from spmopt.reporting.schedule_view import ScheduleView

        require_schedule(self._where, self.problem, self.result)
        return ScheduleView.of(self, timing=timing, source=source)

    def save(self, path: str | Path) -> None:
        """Write a result file, which holds all that :func:`verify` needs."""
        from spmopt.io.files import write_result

        write_result(Path(path), self)


@dataclass(frozen=True, eq=False, repr=False)
class ComparisonTable(Shown):
    """Solutions of one problem, compared with one certified bound.

    ``comparison["residency"]`` is the solution of a scheduler, layer by layer; of a scheduler that
    fuses, on the fusion plan that it has chosen. ``comparison.on_fusion_plan["belady"]`` is the
    solution on that fusion plan, or on the given one.

    Attributes
    ----------
    problem
        Scheduled problem.
    results
        One a scheduler, in the order asked for.
    not_run
        Schedulers that were left out because the run was stopped.
    wide
        Whether the table has all figures: energy, distance to the best, both gaps, seconds.
    """

    problem: Problem
    results: Sequence[Result]
    not_run: Sequence[str] = ()
    wide: bool = False

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
        return Solution.of(self.problem, result)

    @property
    def on_fusion_plan(self) -> Mapping[str, Solution]:
        """Solutions of schedulers that were run on a fusion plan, by name.

        Of each fusion plan's chooser too. Of a fusion plan that was given where there is one, else
        of the best one found.
        """
        fusion = [each for each in self.results if each.fused is not None]
        # Reversed: of equal names the first result stays.
        return {each.scheduler: self._solution(each) for each in reversed(fusion)}

    def files(self) -> Iterator[tuple[str, Solution]]:
        """Yield each solution with a name of its own: ``belady``, ``fused-belady``."""
        seen = set[str]()
        for solution in self:
            name = solution.result.scheduler
            taken = name in seen
            seen.add(name)
            # Results layer by layer come first, so that the second one of a name is fused.
            yield f"fused-{name}" if taken else name, solution

    @property
    def best(self) -> Solution:
        """Best schedule; raises :class:`InputError` where there is none."""
        known = [result for result in self.results if result.value is not None]
        if not known:
            raise InputError(f"{self.problem.name}: no scheduler of the comparison has a schedule")
        # A value of 0 is legal; "or 0" is for the type checker alone.
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
            # Other orders and fusion plans have optima of their own.
            if each.value and each.order is None and each.problem_of(self.problem) is self.problem
        ]
        if result.value is None or result.gap is None or result.order is not None or not listed:
            raise InputError(
                f"{scheduler}: needs a schedule in the listed order, and a bound on it"
            )
        return float(result.value / min(listed) - 1), result.gap

    def parts(self) -> Iterator[Part]:
        """Yield a table with a row for each scheduler, and remarks."""
        from spmopt.reporting.comparison import compare_view

        view = compare_view(self.problem, self.results, self.not_run, wide=self.wide)
        yield from view.parts()

    def record(self) -> Mapping[str, object]:
        """Return problem and figures, as ``spmopt compare --json``."""
        from spmopt.reporting.results import results_record

        return results_record(self.problem, self.results, self.not_run)

    def rows(self) -> Sequence[Mapping[str, object]]:
        """Return one row of figures for each result."""
        from spmopt.reporting.results import comparison_rows

        return comparison_rows(self.problem, self.results)
