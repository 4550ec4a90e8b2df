"""Choice of fusion: a fusion space to search, or a given fusion plan."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spmopt.core.errors import ArgumentError, InputError, unknown

if TYPE_CHECKING:
    from spmopt.core.fusion.fused_groups import FusedGroup
    from spmopt.core.objective import Objective
    from spmopt.core.problem import Problem
    from spmopt.core.scheduler import Policy
    from spmopt.schedulers.registry import SchedulerEntry

FUSION, RESIDENCY = "fusion", "residency"
"""Who chooses a fusion plan, and who schedules the layer-by-layer plan.

Or a fusion plan that is given."""

_STORED = "nothing is fused: a stored problem has operations, but no network to tile"


def default_fusion(problem: Problem, objective: str | Objective) -> tuple[str, str]:
    """Return the default fusion space of the command line, and a note if it is none."""
    from spmopt.core.fusion.tileable_graph import tileable_graph_of
    from spmopt.core.objective import objective_named
    from spmopt.schedulers.registry import find

    if problem.listed is None:
        return "none", _STORED
    entry, features = find(FUSION), problem.machine.features
    if not entry.takes_features(features):
        return "none", ""
    if not entry.takes(objective_named(objective, problem.machine)):
        return "none", ""
    try:
        tileable = tileable_graph_of(problem)
    except InputError as error:
        return "none", f"nothing is fused: {error}"
    # One tile count means untiled groups only: the search would repeat layer by layer.
    if len(tileable.fusion_space().ways(tileable.batch)) == 1:
        said = "no operation can be cut along the batch, rows or another axis"
        if problem.machine.costs:
            said += f", by the costs of {problem.machine.costs}: its column tiles says how many"
        return "none", f"nothing is fused: {said}"
    return "all", ""


def require_fusion(fusion: str | None) -> None:
    """Raise :class:`InputError` unless ``fusion`` names fusion plans."""
    from spmopt.core.fusion.fusion_space import FUSION_SPACES

    if fusion is not None and fusion not in FUSION_SPACES:
        raise unknown("choice for fusion tiles", fusion, FUSION_SPACES)


def solver(
    scheduler: str | SchedulerEntry | Policy | None,
    fusion: str | None,
    fusion_plan: object | None,
) -> SchedulerEntry:
    """Return the scheduler for the options.

    Raises
    ------
    InputError
        The scheduler does not go with ``fusion`` or ``fusion_plan``.
    """
    from spmopt.schedulers.registry import Kind, find

    require_fusion(fusion)
    # A given plan needs no search, only residency for it.
    by_choice = fusion not in (None, "none") and fusion_plan is None
    entry = find((FUSION if by_choice else RESIDENCY) if scheduler is None else scheduler)
    if entry.fusion_plans:
        if fusion_plan is not None:
            raise InputError(
                f"fusion plan: scheduler {entry.name} chooses one itself; name another "
                "scheduler, as residency"
            )
        return _of_fusion_space(entry, fusion)
    if entry.rewrite and fusion_plan is not None:
        raise InputError(f"fusion plan: scheduler {entry.name} takes no fusion plan; name another")
    if by_choice:
        raise InputError(
            f"fusion tiles {fusion}: scheduler {entry.name} takes the layer-by-layer plan; use "
            "scheduler "
            f"{FUSION}, or compare"
        )
    if fusion_plan is not None and entry.kind is Kind.RELAXATION:
        raise ArgumentError(
            "fusion_plan", f": scheduler {entry.name} gives a bound, no schedule; name another"
        )
    return entry


def with_fusion_scheduler(
    entries: dict[str, SchedulerEntry], fusion: str | None, fusion_plan: object | None
) -> dict[str, SchedulerEntry]:
    """Return schedulers of a comparison, with one that searches or bounds the fusion space."""
    from spmopt.schedulers.registry import find

    require_fusion(fusion)
    found = {}
    for entry in entries.values():
        chosen = _of_fusion_space(entry, fusion) if entry.fusion_plans else entry
        found[chosen.name] = chosen
    # A given plan needs a bound over the fusion space, which only a fusion scheduler has.
    wanted = fusion_plan is not None or fusion not in (None, "none")
    if wanted and not any(entry.fusion_plans for entry in found.values()):
        chosen = _of_fusion_space(find(FUSION), fusion)
        found[chosen.name] = chosen
    return found


def _of_fusion_space(entry: SchedulerEntry, fusion: str | None) -> SchedulerEntry:
    """Return the fusion scheduler for the fusion space asked for."""
    # all is the scheduler's own default: its name in tables stays short.
    if fusion is None or fusion == "all":
        return entry
    # Two statements of the space, in the name and in the option, might differ.
    if entry.chosen:
        raise ArgumentError("fusion", f" {fusion}: scheduler {entry.name} says so itself; give one")
    return entry.choose({"space": fusion})


def resolve_fusion(
    problem: Problem, fusion_plan: str | Path | Sequence[FusedGroup], fusion: str | None
) -> Problem:
    """Return the problem of a fusion plan that is given.

    Raises
    ------
    InputError
        It is no fusion plan of the problem's listing, or none of those that are asked for.
    """
    from spmopt.core.fusion.tileable_graph import tileable_graph_of
    from spmopt.io.fusion_plans import read_fusion_plan

    tileable = tileable_graph_of(problem)
    if isinstance(fusion_plan, str | Path):
        fused_groups = read_fusion_plan(Path(fusion_plan), tileable)
    else:
        fused_groups = tuple(fusion_plan)
    # A plan outside the space could be below the space's bound, and look like a contradiction.
    space = tileable.fusion_space(fusion or "all")
    outside = tileable.outside(space, fused_groups)
    if outside:
        raise ArgumentError("fusion_plan", f": {outside}, which is none of --fusion {space.name}")
    return tileable.problem(fused_groups)[0]
