"""Parameters of CP-SAT, which decides order, residency, times and addresses together."""

from __future__ import annotations

from dataclasses import dataclass

from spmopt.core.params.record import Amount, Params, Share


@dataclass(frozen=True, kw_only=True)
class JointParams(Params):
    """Parts of the time left for searches of a part of the model, before all of it is searched.

    Attributes
    ----------
    start_fraction
        The schedule nearest to the plan to start from.
    relaxed_fraction
        The relaxation.
    relaxed_work
        The same in deterministic time of CP-SAT, about seconds.
    ordered_fraction
        Schedules in the relaxation's order.
    settling_work
        Deterministic time to settle on a schedule that does not depend on threads.
    """

    start_fraction: Share = 0.5
    relaxed_fraction: Share = 0.4
    relaxed_work: Amount = 25.0
    ordered_fraction: Share = 0.25
    settling_work: Amount = 2.0
