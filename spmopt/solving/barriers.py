"""Optimizers of steps, whose schedules are compared by the replay.

The replay has no barriers between steps, and who optimizes steps does not minimize it. But its
schedules are mostly good ones there too: the replay is never later than the sum of the steps. So
they are made for the objective with barriers, and valued by the replay that the verifier runs.
Prices of steps prove nothing about it; from them others are found that do
(:mod:`formulations.residency.replay`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from spmopt.core.objective import Objective
from spmopt.core.pieces.listing import whole
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
    return replace(request.part(bounds=False), objective=steps, prices=None)


def valued(legal: VerifiedSchedule, objective: Objective) -> VerifiedSchedule:
    """Value a schedule by another objective."""
    return replace(legal, value=legal.totals.value(objective))


def replayed(run: Run, objective: Objective) -> Run:
    """Value what an optimizer of steps found by the replay, and leave its bounds out."""
    outcome, pieces = run.outcome, run.pieces
    if outcome is not None:
        outcome = replace(
            outcome,
            certificate=None,
            class_bound=None,
            cut_short=False,
            pieces=None if pieces is None else replace(pieces, certificate=None),
        )
    legal = None if run.legal is None else valued(run.legal, objective)
    return replace(run, outcome=outcome, legal=legal, notes=(*run.notes, BY_STEPS))


def no_worse(run: Run, starts: Iterable[VerifiedSchedule], objective: Objective) -> Run:
    """Take the best schedule that an optimizer of steps started from, where it replays faster."""
    known = [valued(start, objective) for start in starts]
    best = min(known, key=lambda start: start.value, default=None)
    if best is None or run.legal is None or run.legal.value <= best.value:
        return run
    return replace(run, legal=best, notes=(*run.notes, NOTHING_BETTER.format(best.origin)))


def no_worse_than_list(run: Run, listed: Run | None) -> Run:
    """Take the layer-by-layer schedule in place of a fused one that is worse."""
    legal = None if listed is None else listed.legal
    if run.pieces is None or run.legal is None or legal is None or run.legal.value <= legal.value:
        return run
    assert run.outcome is not None
    assert listed is not None
    proof = None if listed.outcome is None else listed.outcome.certificate
    listing = run.pieces.listing
    cover = whole(listing)
    pieces = replace(run.pieces, cover=cover, instance=listing.instance(cover)[0])
    notes = (*run.notes, NOTHING_BETTER.format(legal.origin))
    outcome = replace(run.outcome, certificate=proof, pieces=pieces)
    return replace(run, outcome=outcome, legal=legal, notes=notes)
