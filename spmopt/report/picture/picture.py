"""Everything that can be seen of one schedule, as arrays; table, plot, page and trace show it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from spmopt.analysis import Analysis
from spmopt.analysis.roofline import Reals
from spmopt.analysis.worth import Worth
from spmopt.core.errors import InputError
from spmopt.core.instance import Instance
from spmopt.core.order import same_order
from spmopt.core.result import Result, Totals
from spmopt.core.table import Ints
from spmopt.io.result import StoredResult
from spmopt.metrics import in_unit
from spmopt.report.picture.copies import Copies, copies
from spmopt.report.picture.occupancy import occupied_bytes
from spmopt.report.picture.residencies import Residencies, residencies
from spmopt.report.picture.times import TIMINGS, Times, Timing, replay_times, step_times
from spmopt.verify import View, require_legal

MB, GB = 10**6, 10**9


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

    @classmethod
    def of(cls, stored: StoredResult, *, timing: Timing = "steps") -> Self:
        """Verify the schedule of ``stored``, and lay it out.

        Raises
        ------
        InputError
            There is no schedule, it waits for ports of banks, or there is no such ``timing``.
        ScheduleError
            The schedule is not legal, or costs other than is claimed.
        """
        instance, result = stored.instance, stored.result
        if timing not in TIMINGS:
            raise InputError(f"timing {timing!r}: must be one of {', '.join(TIMINGS)}")
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
        report = require_legal(instance, result.schedule, result.totals)
        if report.totals is None or report.replay is None:
            raise InputError(f"{instance.name}: the verifier gave no figures")
        analysis = Analysis.of(instance, result.schedule)
        figures, view = analysis.steps, analysis.steps.view
        replayed = timing == "replay"
        times = replay_times(figures, report.replay) if replayed else step_times(figures)
        return cls(
            instance=instance,
            result=result,
            totals=report.totals,
            analysis=analysis,
            times=times,
            residencies=residencies(view, times),
            copies=copies(view),
            occupied=occupied_bytes(view),
            worth=_worth(instance, result),
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


def _worth(instance: Instance, result: Result) -> Worth | None:
    """By the prices of the result, if it has any for its order; banks have prices of their own."""
    certificate = result.certificate
    known = certificate is not None and same_order(certificate.order, result.order)
    if certificate is None or not known or instance.machine.banks:
        return None
    return Worth.of(instance, certificate)
