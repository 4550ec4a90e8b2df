"""A study as view data: what a page and a plot show of it is what ``tune show`` has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from spmopt.core.errors import InputError
from spmopt.report.fronts import Axis, Front, Limit, Share, Trial, Worth
from spmopt.report.fronts.front import TRIAL
from spmopt.report.quantities import shown_setting
from spmopt.search.findings.found import Found
from spmopt.search.findings.leads import has_bounds, least_of
from spmopt.search.findings.lines import (
    STATES,
    beyond_lines,
    counts_text,
    figure_text,
    header_lines,
    lead_text,
    network_text,
    proof_text,
    state_text,
)
from spmopt.search.findings.replay import candidate_of
from spmopt.search.findings.shown import gap_of, state_of
from spmopt.search.findings.values import UNITS, shown_fields, shown_figure
from spmopt.search.space.figures import NAMES, OBJECTIVES, STATIC, static_figures
from spmopt.search.space.setup import Setup
from spmopt.search.study.record import FIGURES, MACHINE, NETWORKS, PROOF, is_feasible

_SHORT = {name: short for short, name in OBJECTIVES.items() if name in UNITS}
_IN_FIGURES = ("spm", "bandwidth", "throughput", "clock", "cores")
"""Fields that static figures say."""
_FIELD_UNITS = {"page": "B"}

Figures = Mapping[str, float]


def front_of(study: Study, setup: Setup, found: Found) -> Front:
    """Lay out a study; ``found`` is what of it is shown."""
    trials = [
        trial for trial in study.get_trials(deepcopy=False) if trial.state is not TrialState.WAITING
    ]
    figures = {trial.number: _figures(trial, setup) for trial in trials}
    keys = _keys(setup, figures.values())
    return Front(
        name=study.study_name,
        subject=", ".join(network.label for network in setup.networks),
        lines=(counts_text(found.counted), *header_lines(setup)),
        axes=tuple(_axis(key, setup) for key in keys),
        trials=tuple(
            _trial(trial, setup, found, (keys, figures[trial.number])) for trial in trials
        ),
        members=tuple(trial.number for trial in found.trials),
        top=found.top,
        shares=tuple(_shares(found)),
        worth=tuple(
            Worth(trial=number, network=network, **asdict(prices))
            for number, network, prices in found.worth
        ),
        bounds_only=setup.bound_only,
    )


def _figures(trial: FrozenTrial, setup: Setup) -> dict[str, float]:
    """What is known of a trial by the keys of axes: measured, of the machine, of its fields."""
    found: dict[str, float] = {TRIAL: trial.number}
    try:
        candidate = candidate_of(setup, trial)
    except (InputError, KeyError):  # no such machine, or a trial that was lost without its fields
        return found
    for name in (name for name in STATIC if name != "cost" or setup.space.cost):
        try:
            found |= static_figures((name,), candidate, setup.space.cost)
        except InputError:  # the area of a scratchpad without technology
            continue
    for key, value in trial.params.items():
        if key not in _IN_FIGURES and not isinstance(value, bool | str):
            found[key] = value
    return found | (trial.user_attrs.get(FIGURES) or {})


def _keys(setup: Setup, figures: Iterable[Figures]) -> tuple[str, ...]:
    """Objectives, constraints, what else varies, and the trials themselves."""
    values: dict[str, set[float]] = {}
    for each in figures:
        for key, value in each.items():
            values.setdefault(key, set()).add(value)
    varying = [key for key in values if len(values[key]) > 1 and key != TRIAL]
    return tuple(dict.fromkeys((*setup.names, *varying, TRIAL)))


def _axis(key: str, setup: Setup) -> Axis:
    return Axis(
        key=key,
        label=_SHORT.get(key, key),
        unit=UNITS.get(key, _FIELD_UNITS.get(key, "")),
        is_objective=key in setup.objectives,
        of_schedules=key in NAMES and key not in STATIC,
        limits=tuple(
            Limit(text=str(limit), value=limit.limit, is_least=limit.least)
            for limit in setup.space.constraints
            if limit.figure == key
        ),
    )


def _trial(
    trial: FrozenTrial, setup: Setup, found: Found, axes: tuple[Sequence[str], Figures]
) -> Trial:
    keys, figures = axes
    in_full = any(trial.number == member.number for member in found.trials)
    attrs: Mapping[str, Any] = trial.user_attrs
    built = found.built.get(trial.number)
    least = _least(trial, setup)
    networks: Mapping[str, Any] = attrs.get(NETWORKS) or {}
    return Trial(
        number=trial.number,
        state=STATES[state_of(trial)],
        is_feasible=is_feasible(trial),
        fields=shown_fields(trial.params, built),
        figures={key: figures[key] for key in keys if key in figures},
        least=least,
        texts=_texts(trial, setup, figures, least),
        gap=gap_of(trial),
        said=tuple(_said(trial, found)),
        machine=_machine(attrs.get(MACHINE) or {}) if in_full else None,
        networks=tuple(
            f"{name}: {network_text(one, setup)}" for name, one in networks.items() if in_full
        ),
    )


def _least(trial: FrozenTrial, setup: Setup) -> dict[str, float]:
    """Bounds: of a proof that excluded the trial, or beside the figures of its schedules."""
    if PROOF in trial.user_attrs:
        return dict(trial.user_attrs[PROOF].get("bounds", {}))
    if setup.bound_only or not has_bounds(trial):
        return {}
    return dict(zip(setup.objectives, least_of(trial, setup), strict=True))


def _texts(trial: FrozenTrial, setup: Setup, figures: Figures, least: Figures) -> dict[str, str]:
    """Figures as they are shown; of what a proof excluded the bounds in their place."""
    known = [key for key in setup.names if key in figures]
    found = {key: figure_text(key, figures[key], setup) for key in known}
    if PROOF in trial.user_attrs:
        bounded = {key: value for key, value in least.items() if key not in found}
        found |= {key: f"≥ {shown_figure(key, value)}" for key, value in bounded.items()}
    return found


def _said(trial: FrozenTrial, found: Found) -> Iterator[str]:
    if PROOF in trial.user_attrs:
        yield proof_text(trial.user_attrs[PROOF])
    elif trial.state is not TrialState.COMPLETE:
        yield state_text(trial)
    if trial.number in found.leads:
        yield lead_text(trial.number, found.leads[trial.number])
    if trial.number in found.built:
        yield from beyond_lines({trial.number: found.built[trial.number]})


def _machine(settings: Mapping[str, Any]) -> dict[str, str]:
    return {key: shown_setting(key, value) for key, value in settings.items() if value is not None}


def _shares(found: Found) -> Sequence[Share]:
    return [
        Share(
            objective=name,
            rests="by the space" if each.trials is None else f"by {each.trials} machines solved",
            parts=dict(each.parts),
        )
        for name, each in found.varies.items()
        if each.parts
    ]
