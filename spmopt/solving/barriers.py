"""Optimizers of steps, whose schedules are compared by the replay.

The replay has no barriers between steps, and an optimizer of steps does not minimize it. But its
schedules are mostly good ones there too: the replay is never later than the sum of the steps. So
they are made for the objective with barriers, and valued by the replay that the verifier runs.
Dual values of steps prove nothing about it; from them others are found that do
(:mod:`formulations.residency.replay`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.scheduler import Request
from spmopt.schedulers.registry import Kind, SchedulerEntry

BY_STEPS = "optimizes time with barriers between steps; compared by async time"
"""Note on a result of the replay."""
NOTHING_BETTER = "nothing better found than {}, whose schedule this is"
"""Note on a schedule of those that an optimizer starts from."""


def by_steps(entry: SchedulerEntry, objective: Objective) -> bool:
    """Whether a scheduler optimizes steps where the replay was asked for."""
    return objective.replayed and entry.kind is Kind.FORMULATION and not entry.replayed


def with_barriers(request: Request) -> Request:
    """Return its request; progress of another objective is not reported."""
    steps = request.objective.with_barriers
    return replace(request.part(bounds=False), objective=steps, duals=None)


def replay(result: Result, objective: Objective) -> Result:
    """Value the schedule of an optimizer of steps by the replay, and drop its bounds."""
    return replace(
        result,
        value=result.value_for(objective),
        certificate=None,
        class_bound=None,
        cut_short=False,
        fusion_certificate=None,
        notes=(*result.notes, BY_STEPS),
    )


def no_worse(result: Result, starts: Iterable[Result], objective: Objective) -> Result:
    """Take the best schedule that an optimizer of steps started from, where it replays faster."""
    # A start may win by the replay although the optimizer improved it step by step.
    valued = [(value, each) for each in starts if (value := each.value_for(objective)) is not None]
    value, best = min(valued, key=lambda pair: pair[0], default=(None, None))
    if best is None or value is None or result.value is None or result.value <= value:
        return result
    return _instead(result, replace(best, value=value))


def no_worse_than_list(result: Result, listed: Result | None) -> Result:
    """Take the layer-by-layer schedule in place of a fused one that is worse."""
    if result.fused is None or result.value is None or listed is None or listed.value is None:
        return result
    if result.value <= listed.value:
        return result
    return on_whole_plan(_instead(result, listed), listed, result.fused)


def on_whole_plan(result: Result, listed: Result, problem: Problem) -> Result:
    """Return the schedule layer by layer as one of the fusion plan of whole operations.

    Bounds over the fusion space apply to it; without one it is not called optimal.
    """
    from spmopt.core.fusion.tileable_graph import TileableGraph, tileable_graph_of, whole

    found = problem.fused_from
    tileable = found if isinstance(found, TileableGraph) else tileable_graph_of(problem)
    layers = tileable.problem(whole(tileable))[0]
    return replace(result, certificate=listed.certificate, fused=layers)


def _instead(result: Result, other: Result) -> Result:
    notes = (*result.notes, NOTHING_BETTER.format(other.origin))
    return replace(result.with_schedule_of(other), notes=notes)
