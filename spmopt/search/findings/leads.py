"""Leads on a front that gaps could make up for: members that another trial may be as good as."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial

from spmopt.search.findings.replay import candidate_of
from spmopt.search.space.figures import NOT_BOUNDED, STATIC, Spent
from spmopt.search.space.setup import Setup
from spmopt.search.study.record import AS_BEFORE, LEAST, NETWORKS, is_feasible


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """What a member of the front is ahead of another trial, whose bounds do not rule out a tie.

    Attributes
    ----------
    of
        Number of the other trial.
    values
        In the objectives in which the member is ahead: its value, that of the other trial, and
        what schedules on the other trial's machine take at least.
    """

    of: int
    values: Mapping[str, tuple[float, float, float]]


def uncertain_leads(study: Study, setup: Setup, members: Iterable[FrozenTrial]) -> dict[int, Lead]:
    """Leads that are within a gap, by the number of the member; of several the least one.

    The other trial is at most as large in every objective that the machine alone says, and in
    all others its bounds are. A figure without bounds, as power, counts as found.
    """
    names = setup.objectives
    trials = [trial for trial in study.get_trials(deepcopy=False) if has_bounds(trial)]
    bounds: dict[int, tuple[float, ...]] = {}
    found = {}
    for member in members:
        leads = []
        for other in (each for each in trials if _may_tie(member, each, names)):
            least = bounds.setdefault(other.number, least_of(other, setup))
            if all(one <= own for one, own in zip(least, member.values, strict=True)):
                leads.append(_lead(member, other, least, names))
        if leads:
            found[member.number] = min(leads, key=_size)
    return found


def has_bounds(trial: FrozenTrial) -> bool:
    """Whether a trial holds every constraint, and says what its networks take at least."""
    networks: Mapping[str, Any] = trial.user_attrs.get(NETWORKS) or {}
    known = AS_BEFORE not in trial.user_attrs and all(LEAST in one for one in networks.values())
    return known and is_feasible(trial)


def _may_tie(member: FrozenTrial, other: FrozenTrial, names: tuple[str, ...]) -> bool:
    """Whether the member is ahead, and in what schedules decide alone."""
    triples = list(zip(names, member.values, other.values, strict=True))
    ahead = {name for name, own, one in triples if own < one}
    return bool(ahead) and ahead.isdisjoint((*STATIC, *NOT_BOUNDED))


def least_of(trial: FrozenTrial, setup: Setup) -> tuple[float, ...]:
    """Objectives that no schedule on the trial's machine is below."""
    networks = trial.user_attrs[NETWORKS]
    spent = {name: Spent(**one[LEAST]) for name, one in networks.items()}
    figures = setup.figures(candidate_of(setup, trial), spent)
    pairs = zip(setup.objectives, trial.values, strict=True)
    return tuple(value if name in NOT_BOUNDED else figures[name] for name, value in pairs)


def _lead(
    member: FrozenTrial, other: FrozenTrial, least: tuple[float, ...], names: tuple[str, ...]
) -> Lead:
    rows = zip(names, member.values, other.values, least, strict=True)
    return Lead(
        of=other.number,
        values={name: (own, one, bound) for name, own, one, bound in rows if own < one},
    )


def _size(lead: Lead) -> tuple[float, int]:
    """The largest part by which it is ahead."""
    return max((one - own) / one for own, one, _ in lead.values.values()), lead.of
