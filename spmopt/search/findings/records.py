"""What a study has found as plain data: for JSON, and as rows of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from spmopt.search.findings.built import Built, built_of
from spmopt.search.findings.found import Found
from spmopt.search.findings.leads import Lead
from spmopt.search.findings.replay import candidate_of
from spmopt.search.findings.shown import gap_of, state_of
from spmopt.search.space.figures import Spent
from spmopt.search.space.setup import Setup
from spmopt.search.study.process import LOST
from spmopt.search.study.record import (
    AS_BEFORE,
    ERROR,
    FIGURES,
    MACHINE,
    NETWORKS,
    PROOF,
    SECONDS,
    is_feasible,
)

_OF_NETWORKS = ("scheduler", "status", "verified", "gap", "time_s", "energy_j", "traffic_bytes")


def not_minimised(setup: Setup) -> list[str]:
    """What figures depend on and schedules do not minimise: some of time, energy, traffic."""
    return [] if setup.bound_only else [each for each in setup.needs if each != setup.schedule_for]


def trial_record(trial: FrozenTrial, setup: Setup) -> dict[str, object]:
    """One trial, with all that is known of it."""
    attrs: Mapping[str, Any] = trial.user_attrs
    values = trial.values if trial.state is TrialState.COMPLETE else None
    return _line(trial) | {
        "values": None if values is None else dict(zip(setup.objectives, values, strict=True)),
        "feasible": is_feasible(trial),
        "constraints": dict(trial.constraints),
        **{name: attrs.get(name) for name in (NETWORKS, MACHINE, SECONDS, AS_BEFORE)},
        **_machine(built_of(setup, trial)),
    }


def study_record(study: Study, setup: Setup, found: Found) -> dict[str, object]:
    """What is shown of a study, and every trial of it in short."""
    trials = [
        trial for trial in study.get_trials(deepcopy=False) if trial.state is not TrialState.WAITING
    ]
    return {
        "study": study.study_name,
        "setup": setup.record(),
        "not_minimised": not_minimised(setup),
        "counts": {key: getattr(found.counted, key) for key in found.counted.__slots__},
        "top": found.top,
        "front": [
            trial_record(trial, setup) | {"within_gap": _lead(found.leads.get(trial.number))}
            for trial in found.trials
        ],
        "trials": [_line(trial) for trial in trials],
        "importances": {key: dict(each.parts) for key, each in found.varies.items()},
        "importances_trials": {key: each.trials for key, each in found.varies.items()},
        "worth": [
            {"trial": number, "network": label, **{k: getattr(each, k) for k in each.__slots__}}
            for number, label, each in found.worth
        ],
    }


def rows(found: Found, setup: Setup) -> list[dict[str, object]]:
    """The front as rows: fields, figures, and what networks come to together and each.

    ``figures`` says whether those of schedules are ``schedules``', or ``bounds`` of all schedules.
    ``within_gap`` is the trial that a member may be no better than.
    """
    made = []
    for trial in found.trials:
        row: dict[str, object] = {"trial": trial.number, **trial.params}
        row |= _machine(found.built[trial.number])
        if found.top is None:
            lead = found.leads.get(trial.number)
            row["within_gap"] = "" if lead is None else lead.of
        row["figures"] = "bounds" if setup.bound_only else "schedules"
        row |= _total(trial, setup) | dict(trial.user_attrs[FIGURES])
        row["gap"] = gap_of(trial)
        for name, one in (trial.user_attrs.get(NETWORKS) or {}).items():
            row |= {f"{name}.{key}": one.get(key) for key in _OF_NETWORKS}
        made.append(row)
    return made


def _total(trial: FrozenTrial, setup: Setup) -> dict[str, object]:
    """What all networks take by their weights, as figures have it."""
    networks: Mapping[str, Any] = trial.user_attrs[NETWORKS]
    parts = [field.name for field in fields(Spent)]
    spent = {name: Spent(**{part: one[part] for part in parts}) for name, one in networks.items()}
    return asdict(setup.total(candidate_of(setup, trial), spent))


def _line(trial: FrozenTrial) -> dict[str, object]:
    """One trial in short."""
    state = state_of(trial)
    return {
        "trial": trial.number,
        "state": state,
        "parameters": dict(trial.params),
        FIGURES: trial.user_attrs.get(FIGURES),
        "gap": gap_of(trial),
        PROOF: trial.user_attrs.get(PROOF),
        ERROR: LOST if state in ("lost", "put_back") else trial.user_attrs.get(ERROR),
    }


def _machine(built: Built | None) -> dict[str, object]:
    """Of a machine what its settings do not say, by the names that a sweep has for it."""
    if built is None:
        return {"dram_bytes_per_s": None, "basis": None}
    basis = None if built.basis is None else str(built.basis)
    return {"dram_bytes_per_s": built.channel_bytes_per_s, "basis": basis}


def _lead(lead: Lead | None) -> dict[str, object] | None:
    if lead is None:
        return None
    keys = ("value", "other", "least")
    values = {name: dict(zip(keys, row, strict=True)) for name, row in lead.values.items()}
    return {"trial": lead.of, "values": values}
