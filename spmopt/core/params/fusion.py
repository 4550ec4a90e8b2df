"""Parameters of the search for fusion plans, and of the bound over the fusion space."""

from __future__ import annotations

from dataclasses import dataclass

from spmopt.core.params.record import Amount, Count, Params, Positive, Share


@dataclass(frozen=True, kw_only=True)
class FusionParams(Params):
    """Which fusion plans are tried, in which order, and how finely each is scheduled.

    Fractions are of the time limit.

    Attributes
    ----------
    narrow_fraction
        Until then the bound rises without dual values at boundaries, in turns with the search of
        fusion plans.
    check_fraction
        Most time that the check of a proof may take.
    finish_fraction
        Kept back for schedules of the best fusion plans, to the tolerance asked for.
    finalists
        Fusion plans of which these are made: rounding misjudges a plan by some percent.
    coarse_gap
        Gap at which a fusion plan's schedule tells how good the plan is.
    rough_gap
        The same, where there is less time.
    all_groups
        Fused groups of a tileable graph up to which all of its fusion plans may be tried.
    """

    narrow_fraction: Share = 0.25
    check_fraction: Share = 0.25
    finish_fraction: Share = 0.25
    finalists: Positive = 4
    coarse_gap: Amount = 0.005
    rough_gap: Amount = 0.02
    all_groups: Count = 200
