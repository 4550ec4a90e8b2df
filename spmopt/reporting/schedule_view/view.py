"""View of one verified schedule, as arrays: the source of tables, plots, pages and traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np

from spmopt.analysis import Analysis
from spmopt.analysis.fused_groups import FusedGroupSpan, fused_group_spans
from spmopt.analysis.shadow_prices import ShadowPrices, little_bandwidth
from spmopt.analysis.steps import Reals
from spmopt.audit import audit
from spmopt.core.errors import ScheduleError, unknown
from spmopt.core.problem import Problem
from spmopt.core.result import Result, Totals
from spmopt.core.solution import Solution
from spmopt.core.table import Ints
from spmopt.metrics import in_unit
from spmopt.reporting.headings import describe, require_schedule, speak
from spmopt.reporting.occupancy import bytes_occupied
from spmopt.reporting.quantities import si
from spmopt.reporting.results import Figure, figures
from spmopt.reporting.schedule_view.residencies import Residencies, residencies
from spmopt.reporting.schedule_view.times import TIMINGS, Times, replay_times, step_times
from spmopt.verifier import ScheduleArrays

MB = 10**6
SHOWN = 3  # violations in an error


@dataclass(frozen=True, kw_only=True, eq=False)
class ScheduleView:
    """One verified schedule.

    Attributes
    ----------
    result, totals
        Content of the file; totals recomputed by the verifier.
    analysis
        Figures of steps, layers and tensors, in the times of the makespan.
    times
        Times of steps and commands, in cycles.
    residencies
        Rectangles of address and time.
    occupied : (kinds, n)
        Bytes on chip by :data:`~spmopt.reporting.occupancy.KINDS`, in every step.
    duals
        By how much more scratchpad and bandwidth lower the bound; None without a certificate for
        this order.
    source
        Name of the schedule's file, to tell it from another; empty if there is none.
    fused_groups
        Those of its fusion plan, where it is fused.
    """

    problem: Problem
    result: Result
    totals: Totals
    analysis: Analysis
    times: Times
    residencies: Residencies
    occupied: Ints
    duals: ShadowPrices | None
    source: str = ""
    fused_groups: tuple[FusedGroupSpan, ...] = ()

    @classmethod
    def of(cls, stored: Solution, *, timing: str = "step", source: str = "") -> Self:
        """Verify the schedule of ``stored``, and lay it out.

        Raises
        ------
        InputError
            There is no schedule, or ``timing`` is none of
            :data:`~spmopt.reporting.schedule_view.times.TIMINGS`.
        ScheduleError
            The schedule is not legal, or something is claimed of it that is not true.
        """
        problem, result = stored.problem, stored.result
        if timing not in TIMINGS:
            raise unknown("choice for timing", timing, TIMINGS)
        schedule = require_schedule(f"{problem.name}, {result.scheduler}", problem, result)
        checked = audit(problem, result)
        totals, run = checked.totals, checked.replay
        if checked.violations or totals is None or run is None:
            shown = "; ".join(str(violation) for violation in checked.violations[:SHOWN])
            raise ScheduleError(f"{problem.name}, {result.scheduler}: not verified: {shown}")
        analysis = Analysis.of(problem, schedule)
        figures, view = analysis.steps, analysis.steps.view
        times = replay_times(figures, run) if timing == "async" else step_times(figures)
        duals = ShadowPrices.of_result(problem, result, checked.bound)
        return cls(
            problem=problem,
            result=replace(result, verified=True),
            totals=totals,
            analysis=analysis,
            times=times,
            residencies=residencies(view, times),
            occupied=bytes_occupied(view),
            duals=duals,
            source=source,
            fused_groups=fused_group_spans(result.fused or problem, schedule),
        )

    @property
    def view(self) -> ScheduleArrays:
        """Schedule and problem as arrays."""
        return self.analysis.steps.view

    @property
    def stall(self) -> Ints:
        """(n,) Cycles of each step in which the engine waits."""
        return self.times.duration - self.analysis.steps.compute_cycles

    @property
    def dual(self) -> Reals | None:
        """(n,) Shadow price of a megabyte in each step, in units of :meth:`in_unit`.

        None with banks, which have shadow prices of their own.
        """
        if self.duals is None or self.duals.banks:
            return None
        space, (scale, _) = self.duals.spm, self.in_unit(Fraction(MB))
        found: Reals = np.where(space.significant, space.dual, 0.0) * scale
        return found

    @property
    def little_bytes(self) -> int:
        """An amount of at most a tenth of the scratchpad: 1 MB, 1 kB or 1 B."""
        size = self.problem.machine.spm_bytes
        return next(amount for amount in (MB, 1000, 1) if amount == 1 or 10 * amount <= size)

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """Costs, quality and use of the schedule, and shadow prices."""
        found, duals = figures(self.problem, self.result, self.totals), self.duals
        if duals is None:
            return found
        machine = self.problem.machine
        room = self.little_bytes if duals.is_line else machine.page_bytes
        more = little_bandwidth(machine)
        banks = {f"Bank {index}": space for index, space in enumerate(duals.banks)}
        prices = [
            (name, space.per_byte * room, si(room, "B"))
            for name, space in (banks or {"SPM": duals.spm}).items()
        ]
        prices.append(("DRAM", duals.per_byte_per_s * more, si(more, "B/s")))
        return (*found, *(self._dual_figure(*price) for price in prices))

    def _dual_figure(self, name: str, worth: Fraction, amount: str) -> Figure:
        (value, unit), label = self.in_unit(worth), f"{name} shadow price"
        text = f"{si(value, unit)} for {amount} more"
        note = f"by how much the bound falls at most with {amount} more"
        return Figure(label.lower().replace(" ", "_"), label, value, text, unit, note)

    def in_unit(self, value: Fraction) -> tuple[float, str]:
        """Return a value of the objective as people read it: cycles become seconds."""
        return in_unit(self.result.objective, self.problem.machine, value)


MARKS = ("A", "B")
"""Of the first and of the second schedule where there are two."""
TIMINGS_SAID = {
    "step": "time, step after step",
    "async": "async time, without barriers between steps",
}
LANES_SAID = {
    "step": "the transfers of a step are drawn back to back from its start: the model counts "
    "their total time, not their order within the step",
    "async": "transfers are drawn when the replay runs them",
}
"""Meaning of the lanes, by timing."""


def names(pictures: Sequence[ScheduleView]) -> tuple[str, ...]:
    """Return the schedulers; where they are alike, each with its file or its objective."""
    schedulers = [picture.result.scheduler for picture in pictures]
    columns = [schedulers]
    if _differ(problems := [picture.problem.name for picture in pictures]):
        columns.insert(0, problems)
    if len(pictures) > 1 and not _differ(schedulers):
        sources = [picture.source for picture in pictures]
        goals = [f"objective {speak(picture.result.objective)}" for picture in pictures]
        columns += [each for each in (sources, goals) if _differ(each) and all(each)][:1]
    return tuple(", ".join(parts) for parts in zip(*columns, strict=True))


def headings(pictures: Sequence[ScheduleView]) -> tuple[str, ...]:
    """Return :func:`names`, marked A and B where there are two."""
    found = names(pictures)
    if len(found) < 2:
        return found
    return tuple(f"{mark}: {name}" for mark, name in zip(MARKS, found, strict=True))


def conditions(pictures: Sequence[ScheduleView]) -> str:
    """Return machine, mapper, objectives and times of pictures of one problem, in a line."""
    first, goals = pictures[0], [speak(picture.result.objective) for picture in pictures]
    goal = f"objective {goals[0]}"
    if _differ(goals):
        goal = f"objectives {goals[0]} of A and {goals[1]} of B"
    parts = [describe(first.problem.machine), f"mapper {first.problem.mapper}", goal]
    if first.times.timing != "step":
        parts.append(TIMINGS_SAID[first.times.timing])
    return "; ".join(parts)


def _differ(texts: Sequence[str]) -> bool:
    return len({*texts}) > 1
