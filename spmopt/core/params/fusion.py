"""Parameters of the search for fusion plans, and of the bound over the fusion space."""

from __future__ import annotations

from dataclasses import dataclass

from spmopt.core.params.record import Amount, Count, Params, Positive, Share


@dataclass(frozen=True, kw_only=True)
class FusionParams(Params):
    """Which fusion plans are tried, in which order, and how finely each is scheduled.

    Fractions are of the time limit, but for ``estimate_fractions``, which are of the time left.

    Attributes
    ----------
    first_fraction
        Until then some fusion plan is searched before a uniform one is tried: of 40 networks 12
        had none after 10 s without this limit.
    narrow_fraction
        Until then fusion plans without stripes are searched alone, once there is a first one, and
        the bound rises without dual values at boundaries, in turns with the search of plans.
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
    estimated_operations
        Operations of a graph from which fusion plans by estimates are scheduled first, at least.
    estimated_operations_per_s
        The same, for each second of the time limit.
    estimate_fractions
        Time for fusion plans by estimates: of coarse tiles, and of fine ones.
    estimate_steps
        Steps for each operation that such a fusion plan may have.
    near_gap
        Gap of a fusion plan by estimates that one of fine tiles, or a uniform one, hardly betters.
    uniform_steps
        Steps of a uniform fusion plan that is scheduled first.
    uniform_operations
        Operations of a group up to which it is chosen among uniform plans by its program.
    estimated_group
        Operations of a fused group, at most, in estimates.
    boundaries_inside
        Natural boundaries that a fused group may have inside at first.
    slice_s
        Counted seconds after which a search yields its best fusion plan so far; then twice as many.
    """

    first_fraction: Share = 0.35
    narrow_fraction: Share = 0.25
    check_fraction: Share = 0.25
    finish_fraction: Share = 0.25
    finalists: Positive = 4
    coarse_gap: Amount = 0.005
    rough_gap: Amount = 0.02
    all_groups: Count = 200
    estimated_operations: Count = 300
    estimated_operations_per_s: Count = 36
    estimate_fractions: tuple[Share, Share] = (0.25, 0.5)
    estimate_steps: Count = 3
    near_gap: Amount = 0.05
    uniform_steps: Count = 6_000
    uniform_operations: Count = 200
    estimated_group: Positive = 96
    boundaries_inside: Count = 12
    slice_s: Amount = 4.0
