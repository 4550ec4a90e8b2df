"""All that is shown of a study, found once, for people and programs alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields

from optuna.study import Study

from spmopt.core.errors import InputError
from spmopt.hardware.scratchpad import least_sure
from spmopt.search.candidate import Candidate
from spmopt.search.evaluation import LEAST
from spmopt.search.figures import NOT_BOUNDED, Spent
from spmopt.search.records import Findings, TrialRecord
from spmopt.search.setup import Setup
from spmopt.search.storage import LOST
from spmopt.search.study import AS_BEFORE, ERROR, FIGURES, MACHINE, NETWORKS, PROOF, SECONDS
from spmopt.search.trials import build_from, candidate_of, front, merge, tally, trial_records

_OF_NETWORKS = ("scheduler", "status", "verified", "gap", "time_s", "energy_j", "traffic_bytes")


def findings_of(study: Study, setup: Setup, top: int | None = None) -> Findings:
    """Find the front of a study, or the ``top`` best."""
    trials, best = trial_records(study), front(study, top)
    by_number = {trial.number: trial for trial in trials}
    # A list of the best is a ranking: merging would hide places in it.
    stand_for = merge(best, setup.tolerance) if top is None else {}
    members = tuple(
        by_number[trial.number] for trial in best if top is not None or trial.number in stand_for
    )
    return Findings(
        name=study.study_name,
        setup=setup,
        trials=tuple(trials),
        members=members,
        top=top,
        counts=tally(trials),
        built={trial.number: build_from(setup, trial) for trial in members},
        merged=stand_for,
    )


def require_feasible(findings: Findings) -> None:
    """Raise if trials were run, and none can be had.

    Raises
    ------
    InputError
        No machine of the space can be built.
    """
    trials = _count(findings)
    # One possible machine suffices: then the front is empty for another reason.
    reasons = [(trial.proof or {}).get("impossible") for trial in trials]
    if trials and all(reasons):
        raise InputError(f"all {len(trials)} trials are impossible: {reasons[0]}")


def why_no_front(findings: Findings) -> str:
    """Say why nothing is on the front, in a sentence."""
    trials = _count(findings)
    if not trials:
        return "no trial was run"
    errors = [trial.error for trial in trials if trial.error is not None]
    if len(errors) == len(trials):
        return f"all {len(trials)} trials failed: {errors[0]}"
    for limit in findings.setup.space.constraints:
        name = str(limit)
        known = [trial for trial in trials if name in trial.constraints]
        if known and all(trial.constraints[name] > 0 for trial in known):
            # Own figures override bounds: a solved trial knows more than its proof.
            bounds = [
                {**(trial.proof or {}).get("bounds", {}), **(trial.figures or {})}
                for trial in known
            ]
            values = [each[limit.figure] for each in bounds if limit.figure in each]
            nearest = (max if limit.least else min)(values) if values else None
            ending = "" if nearest is None else f"; the nearest comes to {nearest:.6g}"
            return f"none of {len(trials)} trials holds {limit}{ending}"
    return f"none of {len(trials)} trials holds all constraints"


def _count(findings: Findings) -> list[TrialRecord]:
    return [trial for trial in findings.trials if trial.state != "put_back"]


def has_bounds(trial: TrialRecord) -> bool:
    """Return whether a trial holds every constraint, and has lower bounds of all networks."""
    known = all(LEAST in one for one in (trial.networks or {}).values())
    return trial.as_before is None and known and trial.is_feasible


def least_of(trial: TrialRecord, setup: Setup) -> dict[str, float]:
    """Bound the objectives of all schedules on a trial's machine; those without bounds are own."""
    spent = {name: _spend(one[LEAST]) for name, one in (trial.networks or {}).items()}
    figures = setup.figures(candidate_of(setup, trial), spent)
    own = _objectives(trial, setup)
    return {name: own[name] if name in NOT_BOUNDED else figures[name] for name in own}


def not_minimized(setup: Setup) -> list[str]:
    """List the objectives that figures depend on but schedules do not minimize."""
    return [] if setup.bound_only else [each for each in setup.needs if each != setup.schedule_for]


def trial_json(trial: TrialRecord, setup: Setup) -> dict[str, object]:
    """Give one trial, with all that is known of it, for a program."""
    return _short_json(trial) | {
        "values": None if trial.values is None else _objectives(trial, setup),
        "feasible": trial.is_feasible,
        "constraints": dict(trial.constraints),
        NETWORKS: trial.networks,
        MACHINE: trial.machine,
        SECONDS: trial.seconds,
        AS_BEFORE: trial.as_before,
        **_build_json(build_from(setup, trial)),
    }


def study_json(findings: Findings) -> dict[str, object]:
    """Return the findings of a study, and each of its trials in short, as a JSON object."""
    setup = findings.setup
    return {
        "study": findings.name,
        "setup": setup.record(),
        "not_minimized": not_minimized(setup),
        "counts": dict(findings.counts),
        "top": findings.top,
        "front": [
            trial_json(trial, setup) | {"merged": findings.merged.get(trial.number, ())}
            for trial in findings.members
        ],
        "trials": [_short_json(trial) for trial in findings.trials],
    }


def rows(findings: Findings) -> list[dict[str, object]]:
    """Return the front as rows: fields, figures, and totals of all networks and of each.

    The column ``figures`` is ``schedules`` or, where figures are lower bounds, ``bounds``.
    ``merged`` are the trials that a member stands for.
    """
    made, setup = [], findings.setup
    for trial in findings.members:
        row: dict[str, object] = {"trial": trial.number, **trial.parameters}
        row |= _build_json(findings.built[trial.number])
        if findings.top is None:
            row["merged"] = " ".join(map(str, findings.merged[trial.number]))
        row["figures"] = "bounds" if setup.bound_only else "schedules"
        row |= _total(trial, setup) | dict(trial.figures or {})
        row["gap"] = trial.gap
        for name, one in (trial.networks or {}).items():
            row |= {f"{name}.{key}": one.get(key) for key in _OF_NETWORKS}
        made.append(row)
    return made


def _spend(record: Mapping[str, float]) -> Spent:
    """Read time, energy and traffic of a network, or their lower bounds, from its record."""
    return Spent(**{field.name: record[field.name] for field in fields(Spent)})


def _objectives(trial: TrialRecord, setup: Setup) -> dict[str, float]:
    return dict(zip(setup.objectives, trial.values or (), strict=True))


def _total(trial: TrialRecord, setup: Setup) -> dict[str, object]:
    """Sum the totals of all networks by their weights, as figures do."""
    spent = {name: _spend(one) for name, one in (trial.networks or {}).items()}
    return asdict(setup.total(candidate_of(setup, trial), spent))


def _short_json(trial: TrialRecord) -> dict[str, object]:
    return {
        "trial": trial.number,
        "state": trial.state,
        "parameters": dict(trial.parameters),
        FIGURES: trial.figures,
        "gap": trial.gap,
        PROOF: trial.proof,
        ERROR: LOST if trial.state in ("lost", "put_back") else trial.error,
    }


def _build_json(built: Candidate | None) -> dict[str, object]:
    """Return derived properties of a machine, under the column names of a sweep."""
    if built is None:
        return {"dram_bytes_per_s": None, "basis": None}
    basis = least_sure(built.machine)
    return {
        "dram_bytes_per_s": built.machine.dram_bytes_per_s,
        "basis": None if basis is None else str(basis),
    }
