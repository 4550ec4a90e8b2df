"""View of a search for pages and plots, with the figures of ``tune show``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from spmopt.core.errors import InputError
from spmopt.reporting.search.front import TRIAL, Axis, Front, Limit, Trial
from spmopt.reporting.search.words import (
    LABELS,
    STATES,
    counts_text,
    fields_to_show,
    header_lines,
    proof_text,
    remark,
    state_text,
)
from spmopt.search.figures import COST, FIGURES, STATIC, static_figures
from spmopt.search.findings import has_bounds, least_of
from spmopt.search.records import Findings, TrialRecord
from spmopt.search.setup import Setup
from spmopt.search.trials import build_from

_IN_FIGURES = ("spm", "bandwidth", "throughput", "clock", "cores")  # fields that static figures say
_FIELD_UNITS = {"page": "B"}

Figures = Mapping[str, float]


def front_view(findings: Findings) -> Front:
    """Lay out a study; ``findings`` name the members shown in full."""
    setup = findings.setup
    known = {trial.number: _figures(trial, setup) for trial in findings.trials}
    keys = _keys(setup, known.values())
    return Front(
        name=findings.name,
        subject=", ".join(network.label for network in setup.networks),
        lines=(counts_text(findings.counts), *header_lines(setup)),
        axes=tuple(_axis(key, setup) for key in keys),
        trials=tuple(
            _trial(trial, findings, keys, known[trial.number]) for trial in findings.trials
        ),
        members=tuple(trial.number for trial in findings.members),
        top=findings.top,
        bounds_only=setup.bound_only,
    )


def _figures(trial: TrialRecord, setup: Setup) -> dict[str, float]:
    """Return figures of a trial by the keys of axes: measured, of the machine, of its fields."""
    found: dict[str, float] = {TRIAL: trial.number}
    candidate = build_from(setup, trial)
    if candidate is None:
        return found
    for name in (name for name in STATIC if name != COST or setup.space.cost):
        try:
            found |= static_figures((name,), candidate, setup.space.cost)
        except InputError:  # the area of a scratchpad without technology
            continue
    for key, value in trial.parameters.items():
        # Fields that static figures say already would be axes twice.
        if key not in _IN_FIGURES and not isinstance(value, bool | str):
            found[key] = value
    return found | dict(trial.figures or {})


def _keys(setup: Setup, figures: Iterable[Figures]) -> tuple[str, ...]:
    """Return objectives, constraints, other varying figures, and the trials themselves."""
    known = list(figures)
    values = {key: {each[key] for each in known if key in each} for key in chain(*known)}
    varying = [key for key in values if len(values[key]) > 1 and key != TRIAL]
    return tuple(dict.fromkeys((*setup.names, *varying, TRIAL)))


def _axis(key: str, setup: Setup) -> Axis:
    figure, label, unit = FIGURES.get(key), LABELS.get(key, key), _FIELD_UNITS.get(key, "")
    if figure is not None and figure.unit:
        label, unit = figure.short, figure.unit
    return Axis(
        key=key,
        label=label,
        unit=unit,
        is_objective=key in setup.objectives,
        of_schedules=figure is not None and bool(figure.needs),
        limits=tuple(
            Limit(text=str(limit).replace(key, label, 1), value=limit.limit)
            for limit in setup.space.constraints
            if limit.figure == key
        ),
    )


def _trial(trial: TrialRecord, findings: Findings, keys: Sequence[str], figures: Figures) -> Trial:
    setup = findings.setup
    return Trial(
        number=trial.number,
        state=STATES[trial.state],
        is_feasible=trial.is_feasible,
        fields=fields_to_show(trial.parameters, findings.built.get(trial.number)),
        figures={key: figures[key] for key in keys if key in figures},
        least=_least(trial, setup),
        gap=trial.gap,
        said=tuple(_say(trial, findings)),
    )


def _least(trial: TrialRecord, setup: Setup) -> dict[str, float]:
    """Return bounds: of a proof that excluded the trial, or beside the figures of its schedules."""
    if trial.proof is not None:
        return dict(trial.proof.get("bounds", {}))
    return {} if setup.bound_only or not has_bounds(trial) else least_of(trial, setup)


def _say(trial: TrialRecord, findings: Findings) -> Iterator[str]:
    if trial.proof is not None:
        yield proof_text(trial.proof)
    elif trial.values is None:
        yield state_text(trial)
    if said := remark(trial.number, findings):
        yield said
