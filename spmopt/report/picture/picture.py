"""Everything that can be seen of one schedule, as arrays; table, plot, page and trace show it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from spmopt.analysis import Analysis
from spmopt.analysis.roofline import Reals
from spmopt.analysis.worth import Worth
from spmopt.audit import Audit, audit
from spmopt.core.errors import InputError, ScheduleError, unknown
from spmopt.core.instance import Instance
from spmopt.core.order import same_order
from spmopt.core.result import Result, Totals
from spmopt.core.table import Ints
from spmopt.io.result import StoredResult
from spmopt.metrics import in_unit
from spmopt.report.picture.copies import Copies, copies
from spmopt.report.picture.occupancy import occupied_bytes
from spmopt.report.picture.residencies import Residencies, residencies
from spmopt.report.picture.times import TIMINGS, Times, replay_times, step_times
from spmopt.verify import Replay, View

MB, GB = 10**6, 10**9
SHOWN = 3


@dataclass(frozen=True, kw_only=True, eq=False)
class Picture:
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
    copies
        When a whole copy of a tensor is in DRAM.
    occupied : (kinds, n)
        Bytes on chip by :data:`~spmopt.report.picture.occupancy.KINDS`, in every step.
    worth
        What more scratchpad and bandwidth are worth; None without prices for this order.
    source
        What the schedule's file is called, to tell it from another; empty if there is none.
    """

    instance: Instance
    result: Result
    totals: Totals
    analysis: Analysis
    times: Times
    residencies: Residencies
    copies: Copies
    occupied: Ints
    worth: Worth | None
    source: str = ""

    @classmethod
    def of(cls, stored: StoredResult, *, timing: str = "steps", source: str = "") -> Self:
        """Verify the schedule of ``stored``, and lay it out.

        Raises
        ------
        InputError
            There is no schedule, it waits for ports of banks, or ``timing`` is none of
            :data:`~spmopt.report.picture.times.TIMINGS`.
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
        if any(bank.has_rates for bank in instance.machine.banks):
            raise InputError(
                f"{instance.name}: waits for ports of banks, which no picture tells; give banks "
                "without ports, as --bank 2MB:nvsim-sram"
            )
        checked, totals, run = _verified(instance, result)
        analysis = Analysis.of(instance, result.schedule)
        figures, view = analysis.steps, analysis.steps.view
        replayed = timing == "replay"
        times = replay_times(figures, run) if replayed else step_times(figures)
        return cls(
            instance=instance,
            result=result,
            totals=totals,
            analysis=analysis,
            times=times,
            residencies=residencies(view, times),
            copies=copies(view),
            occupied=occupied_bytes(view),
            worth=_worth(instance, result, checked.bound),
            source=source,
        )

    @property
    def view(self) -> View:
        """Schedule and instance as arrays."""
        return self.analysis.steps.view

    @property
    def stall(self) -> Ints:
        """(n,) Cycles of each step in which the engine waits."""
        return self.times.duration - self.analysis.steps.compute_cycles

    @property
    def price(self) -> Reals | None:
        """(n,) What a megabyte more in each step saves at first, in units of :meth:`in_unit`."""
        if self.worth is None:
            return None
        price = np.where(self.worth.counted, self.worth.spm_price, 0.0)
        scale, _ = self.in_unit(Fraction(MB))
        found: Reals = price * scale
        return found

    def in_unit(self, value: Fraction) -> tuple[float, str]:
        """A value of the objective as people read it: cycles become seconds."""
        return in_unit(self.result.objective, self.instance.machine, value)


def _verified(instance: Instance, result: Result) -> tuple[Audit, Totals, Replay]:
    """Recompute schedule, figures and bound."""
    found = audit(instance, result)
    if found.violations or found.totals is None or found.replay is None:
        shown = "; ".join(str(violation) for violation in found.violations[:SHOWN])
        raise ScheduleError(f"{instance.name}, {result.scheduler}: not verified: {shown}")
    return found, found.totals, found.replay


def _worth(instance: Instance, result: Result, proved: Fraction | None) -> Worth | None:
    """By the prices of the result, if it has any for its order; banks have prices of their own.

    ``proved`` is the bound that they prove.
    """
    certificate = result.certificate
    known = certificate is not None and same_order(certificate.order, result.order)
    if certificate is None or not known or instance.machine.banks:
        return None
    return Worth.of(instance, certificate, proved)
