"""Optimizers of steps, whose schedules are compared by the replay.

The replay has no barriers between steps, and who optimizes steps does not minimize it. But its
schedules are mostly good ones there too: the replay is never later than the sum of the steps. So
they are made for the objective with barriers, and valued by the replay that the verifier runs.
Dual values of steps prove nothing about it; from them others are found that do
(:mod:`formulations.residency.replay`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from spmopt.core.fusion.tileable_graph import whole
from spmopt.core.objective import Objective
from spmopt.core.scheduler import Request
from spmopt.schedulers.registry import Kind, SchedulerEntry
from spmopt.solving.records import Run, VerifiedSchedule

BY_STEPS = "optimizes time with barriers between steps; compared by the replay"
"""Note on a result of the replay."""
NOTHING_BETTER = "nothing better found than {}, whose schedule this is"
"""Note on a schedule of those that an optimizer starts from."""


def by_steps(entry: SchedulerEntry, objective: Objective) -> bool:
    """Whether a scheduler optimizes steps where the replay was asked for."""
    return objective.replayed and entry.kind is Kind.FORMULATION and not entry.replayed


def with_barriers(request: Request) -> Request:
    """Return what is asked of it; news are of another objective, so that nobody hears them."""
    steps = request.objective.with_barriers
    return replace(request.part(bounds=False), objective=steps, duals=None)


def evaluate(legal: VerifiedSchedule, objective: Objective) -> VerifiedSchedule:
    """Value a schedule by another objective."""
    return replace(legal, value=legal.totals.value(objective))


def replay(run: Run, objective: Objective) -> Run:
    """Value what an optimizer of steps found by the replay, and leave its bounds out."""
    outcome, fusion = run.outcome, run.fusion
    if outcome is not None:
        outcome = replace(
            outcome,
            certificate=None,
            class_bound=None,
            cut_short=False,
            fusion=None if fusion is None else replace(fusion, certificate=None),
        )
    legal = None if run.legal is None else evaluate(run.legal, objective)
    return replace(run, outcome=outcome, legal=legal, notes=(*run.notes, BY_STEPS))


def no_worse(run: Run, starts: Iterable[VerifiedSchedule], objective: Objective) -> Run:
    """Take the best schedule that an optimizer of steps started from, where it replays faster."""
    known = [evaluate(start, objective) for start in starts]
    best = min(known, key=lambda start: start.value, default=None)
    if best is None or run.legal is None or run.legal.value <= best.value:
        return run
    return replace(run, legal=best, notes=(*run.notes, NOTHING_BETTER.format(best.origin)))


def no_worse_than_list(run: Run, listed: Run | None) -> Run:
    """Take the layer-by-layer schedule in place of a fused one that is worse."""
    legal = None if listed is None else listed.legal
    if run.fusion is None or run.legal is None or legal is None or run.legal.value <= legal.value:
        return run
    assert run.outcome is not None
    assert listed is not None
    proof = None if listed.outcome is None else listed.outcome.certificate
    tileable = run.fusion.tileable
    fusion_plan = whole(tileable)
    fusion = replace(run.fusion, fusion_plan=fusion_plan, problem=tileable.problem(fusion_plan)[0])
    notes = (*run.notes, NOTHING_BETTER.format(legal.origin))
    outcome = replace(run.outcome, certificate=proof, fusion=fusion)
    return replace(run, outcome=outcome, legal=legal, notes=notes)
