"""Everything that can be seen of one schedule, as arrays; table, plot, page and trace show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np

from spmopt.analysis import Analysis
from spmopt.analysis.shadow_prices import ShadowPrices, SpacePrices
from spmopt.analysis.steps import Reals
from spmopt.audit import Audit, audit
from spmopt.core.errors import InputError, ScheduleError, unknown
from spmopt.core.instance import Instance
from spmopt.core.result import Result, Totals
from spmopt.core.table import Ints
from spmopt.io.files import StoredResult
from spmopt.metrics import in_unit
from spmopt.reporting.headings import describe, spoken
from spmopt.reporting.occupancy import occupied_bytes
from spmopt.reporting.quantities import si
from spmopt.reporting.results import Figure, figures
from spmopt.reporting.schedule_view.residencies import Residencies, residencies
from spmopt.reporting.schedule_view.segments import SegmentSpan, segment_spans
from spmopt.reporting.schedule_view.times import TIMINGS, Times, replay_times, step_times
from spmopt.verifier import Replay, ScheduleArrays

MB, GB = 10**6, 10**9
SHOWN = 3


@dataclass(frozen=True, kw_only=True, eq=False)
class ScheduleView:
    """One verified schedule.

    Attributes
    ----------
    result, totals
        As the file has it; recomputed by the verifier.
    analysis
        Figures of steps, layers and tensors, in the times of the makespan.
    times
        When everything happens, in cycles.
    residencies
        Rectangles of address and time.
    occupied : (kinds, n)
        Bytes on chip by :data:`~spmopt.reporting.occupancy.KINDS`, in every step.
    prices
        By how much more scratchpad and bandwidth lower the bound; None without a certificate for
        this order.
    source
        What the schedule's file is called, to tell it from another; empty if there is none.
    segments
        Those of its cover, where it is in pieces.
    """

    instance: Instance
    result: Result
    totals: Totals
    analysis: Analysis
    times: Times
    residencies: Residencies
    occupied: Ints
    prices: ShadowPrices | None
    source: str = ""
    segments: tuple[SegmentSpan, ...] = ()

    @classmethod
    def of(cls, stored: StoredResult, *, timing: str = "steps", source: str = "") -> Self:
        """Verify the schedule of ``stored``, and lay it out.

        Raises
        ------
        InputError
            There is no schedule, or ``timing`` is none of
            :data:`~spmopt.reporting.schedule_view.times.TIMINGS`.
        ScheduleError
            The schedule is not legal, or something is claimed of it that is not true.
        """
        instance, result = stored.instance, stored.result
        if timing not in TIMINGS:
            raise unknown("choice for timing", timing, TIMINGS)
        if result.schedule is None:
            raise InputError(
                f"{instance.name}, {result.scheduler}: holds no schedule ({result.status}); "
                "name a result that has one"
            )
        checked, totals, run = _verified(instance, result)
        analysis = Analysis.of(instance, result.schedule)
        figures, view = analysis.steps, analysis.steps.view
        times = replay_times(figures, run) if timing == "replay" else step_times(figures)
        prices = ShadowPrices.of_result(instance, result, checked.bound)
        return cls(
            instance=instance,
            result=replace(result, verified=True),
            totals=totals,
            analysis=analysis,
            times=times,
            residencies=residencies(view, times),
            occupied=occupied_bytes(view),
            prices=prices,
            source=source,
            segments=segment_spans(result),
        )

    @property
    def view(self) -> ScheduleArrays:
        """Schedule and instance as arrays."""
        return self.analysis.steps.view

    @property
    def stall(self) -> Ints:
        """(n,) Cycles of each step in which the engine waits."""
        return self.times.duration - self.analysis.steps.compute_cycles

    @property
    def price(self) -> Reals | None:
        """(n,) What a megabyte more in each step saves at first, in units of :meth:`in_unit`.

        Nothing with banks, which have prices of their own.
        """
        if self.prices is None or self.prices.banks:
            return None
        return self.per_megabyte(self.prices.spm)

    def per_megabyte(self, space: SpacePrices) -> Reals:
        """Return (n,) what a megabyte more of a memory saves in each step."""
        scale, _ = self.in_unit(Fraction(MB))
        found: Reals = np.where(space.counted, space.price, 0.0) * scale
        return found

    @property
    def spaces(self) -> dict[str, SpacePrices]:
        """Prices by memory: those of the scratchpad, or of each of its banks."""
        if self.prices is None:
            return {}
        if not self.prices.banks:
            return {"SPM": self.prices.spm}
        return {f"bank {index}": bank.space for index, bank in enumerate(self.prices.banks)}

    @property
    def little_bytes(self) -> int:
        """An amount that is little beside the scratchpad, to tell prices of: 1 MB, 1 kB or 1 B."""
        size = self.instance.machine.spm_bytes
        return next(amount for amount in (MB, 1000, 1) if amount == 1 or 10 * amount <= size)

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """Costs, quality and use of the schedule, and shadow prices."""
        found = figures(self.instance, self.result, self.totals)
        if self.prices is None:
            return found
        rate = self.instance.machine.dram_bytes_per_s
        more = next(one for one in (GB, MB, 1000, 1) if one == 1 or 10 * one <= rate)
        dram = self.in_unit(self.prices.per_byte_per_s * more)
        return (
            *found,
            *(
                _price(
                    f"{name[:1].upper()}{name[1:]} price",
                    *self.in_unit(space.per_byte * self.little_bytes),
                    si(self.little_bytes, "B"),
                )
                for name, space in self.spaces.items()
            ),
            _price("DRAM price", *dram, si(more, "B/s")),
        )

    def in_unit(self, value: Fraction) -> tuple[float, str]:
        """Return a value of the objective as people read it: cycles become seconds."""
        return in_unit(self.result.objective, self.instance.machine, value)


def _price(label: str, value: float, unit: str, amount: str) -> Figure:
    key, per = label.lower().replace(" ", "_"), amount.removeprefix("1 ")
    text = f"{si(value, unit)} per {per}"
    return Figure(key, label, value, text, unit, f"how much the bound falls per extra {amount}")


def _verified(instance: Instance, result: Result) -> tuple[Audit, Totals, Replay]:
    """Recompute schedule, figures and bound."""
    found = audit(instance, result)
    if found.violations or found.totals is None or found.replay is None:
        shown = "; ".join(str(violation) for violation in found.violations[:SHOWN])
        raise ScheduleError(f"{instance.name}, {result.scheduler}: not verified: {shown}")
    return found, found.totals, found.replay


MARKS = ("A", "B")
"""Of the first and of the second schedule where there are two."""
TIMINGS_SAID = {
    "steps": "time, step after step",
    "replay": "time of the replay, without barriers between steps",
}
LANES_SAID = {
    "steps": "the transfers of a step are drawn back to back from its start: the model counts "
    "their total time, not their order within the step",
    "replay": "transfers are drawn when the replay runs them",
}
"""What the lanes show, by timing."""


def names(pictures: Sequence[ScheduleView]) -> tuple[str, ...]:
    """Return schedulers; the file, else the objective follows where it tells two of one apart."""
    schedulers = [picture.result.scheduler for picture in pictures]
    columns = [schedulers]
    if _differ(instances := [picture.instance.name for picture in pictures]):
        columns.insert(0, instances)
    if len(pictures) > 1 and not _differ(schedulers):
        sources = [picture.source for picture in pictures]
        goals = [f"objective {spoken(picture.result.objective)}" for picture in pictures]
        columns += [each for each in (sources, goals) if _differ(each) and all(each)][:1]
    return tuple(", ".join(parts) for parts in zip(*columns, strict=True))


def headings(pictures: Sequence[ScheduleView]) -> tuple[str, ...]:
    """Return the same, marked A and B where there are two."""
    found = names(pictures)
    if len(found) < 2:
        return found
    return tuple(f"{mark}: {name}" for mark, name in zip(MARKS, found, strict=True))


def conditions(pictures: Sequence[ScheduleView]) -> str:
    """Return machine, lowering, objectives and times of pictures of one instance, in a line."""
    first, goals = pictures[0], [spoken(picture.result.objective) for picture in pictures]
    goal = f"objective {goals[0]}"
    if _differ(goals):
        each = (f"{name} of {mark}" for mark, name in zip(MARKS, goals, strict=True))
        goal = f"objectives {' and '.join(each)}"
    parts = [describe(first.instance.machine), f"lowering {first.instance.lowering}", goal]
    if first.times.timing != "steps":
        parts.append(TIMINGS_SAID[first.times.timing])
    return "; ".join(parts)


def _differ(texts: Sequence[str]) -> bool:
    return len({*texts}) > 1
