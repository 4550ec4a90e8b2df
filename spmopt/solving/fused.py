"""Compare schedulers on a fusion plan too: one that is given, or the best one found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from spmopt.core.fusion.tileable_graph import FusionResult
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.scheduler import Incumbent, OnIncumbent, Policy, Request
from spmopt.schedulers.registry import Kind, SchedulerEntry, find
from spmopt.solving.case import Case
from spmopt.solving.params import SolveParams
from spmopt.solving.records import Bound, Run, result_of
from spmopt.solving.solver import DEFAULTS, compare, run_asked


def compare_fused(
    problem: Problem,
    entries: Sequence[SchedulerEntry],
    request: Request,
    given: FusionResult | None = None,
    params: SolveParams = DEFAULTS,
) -> list[Result]:
    """Run schedulers layer by layer, on a fusion plan, and those that choose one.

    Parameters
    ----------
    given
        A fusion plan for all schedulers; without it policies run on the best one found.

    Returns
    -------
    list
        Results layer by layer, of the fusion plan, and of those that chose one. Of ``entries``
        some may be missing at the end, where the request was stopped.
    """
    results = compare(problem, entries, request, params)
    pairs = list(zip(results, entries, strict=False))
    listed = [result for result, entry in pairs if not entry.fusion_plans]
    chosen = [result for result, entry in pairs if entry.fusion_plans]
    best = next((each for each in chosen if each.fusion is not None), None)
    if best is None or best.fusion is None or request.stop():
        return [*listed, *chosen]
    of_fusion_plans = best.fusion_bound
    if given is not None:
        able = [e for _, e in pairs if not e.fusion_plans and e.kind is not Kind.RELAXATION]
        fusion = replace(given, certificate=best.fusion.certificate)
        found = compare_on(fusion, able, request, of_fusion_plans=of_fusion_plans, params=params)
        beside = (*best.beside, best)
        return [*listed, *(replace(each, beside=beside) for each in found), *chosen]
    able = [entry for _, entry in pairs if entry.kind is Kind.POLICY]
    if not able or all(fused_group.micro_batches == 1 for fused_group in best.fusion.fusion_plan):
        return [*listed, *chosen]
    bound = None
    if best.bound is not None and best.certificate is not None:
        bound = Bound(value=best.bound, certificate=best.certificate)
    found = compare_on(
        best.fusion, able, request, bound=bound, of_fusion_plans=of_fusion_plans, params=params
    )
    return [*listed, *found, *chosen]


def compare_on(
    fusion: FusionResult,
    schedulers: Sequence[str | SchedulerEntry | Policy],
    request: Request,
    *,
    bound: Bound | None = None,
    of_fusion_plans: Fraction | None = None,
    params: SolveParams = DEFAULTS,
) -> list[Result]:
    """Run schedulers on the problem of a fusion plan; otherwise as :func:`compare`.

    Parameters
    ----------
    fusion
        The fusion plan; its certificate stands in the results.
    bound
        A bound on schedules of the residency plan; without it the schedulers prove one.
    of_fusion_plans
        A bound over all fusion plans.
    """
    own = replace(request, on_incumbent=_on_fusion_plan(request))
    case, runs = Case.of(fusion.problem, own, params), list[Run]()
    for entry in map(find, schedulers):
        if not runs or not request.stop():
            runs.append(run_asked(case, entry))
    # Another order is none of a fusion plan.
    in_order = [run for run in runs if run.order is None]
    best = bound or case.bounds.best_bounds(in_order).get(None)
    results = []
    for run in runs:
        outcome = run.outcome and replace(run.outcome, fusion=fusion)
        own_bound = best if run.order is None else None
        fused = replace(run, outcome=outcome)
        results.append(result_of(fused, own_bound, request, of_fusion_plans, case.calls.faults))
    return results


def _on_fusion_plan(request: Request) -> OnIncumbent:
    """Tell of schedules of a fusion plan; their bounds hold for no others."""

    def tell(news: Incumbent) -> None:
        name = f"{news.scheduler} on the fusion plan"
        request.on_incumbent(replace(news, scheduler=name, bound=None, of_fusion_plans=True))

    return tell
