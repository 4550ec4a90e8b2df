"""The schedule of any trial: from its file, or made again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from optuna.study import Study
from optuna.trial import TrialState

from spmopt.core.errors import InputError
from spmopt.io.files import StoredResult
from spmopt.metrics import metrics
from spmopt.search.evaluation import result_of
from spmopt.search.figures import figure_text
from spmopt.search.records import TrialRecord
from spmopt.search.setup import Setup
from spmopt.search.study import Schedules
from spmopt.search.trials import candidate_of, kept_result, record_of
from spmopt.sweeps.cases import Network


def trial_numbered(study: Study, number: int) -> TrialRecord:
    """Find a trial that has its machine.

    Raises
    ------
    InputError
        No such trial, or one that is still to be begun.
    """
    trials = study.get_trials(deepcopy=False)
    if not 0 <= number < len(trials):
        raise InputError(f"--trial {number}: the study has trials 0 to {len(trials) - 1}")
    trial = trials[number]
    if trial.state is TrialState.WAITING:
        raise InputError(f"--trial {number}: is still to be run")
    return record_of(trial)


def network_named(setup: Setup, name: str | None) -> Network:
    """Find a network of the study; without a name the only one.

    Raises
    ------
    InputError
        No such network, or several.
    """
    labels = [network.label for network in setup.networks]
    if name is None and len(labels) == 1:
        return setup.networks[0]
    for network in setup.networks:
        if network.label == name:
            return network
    given = "a trial has a schedule for each" if name is None else f"there is no {name!r}"
    raise InputError(f"--network: {given}; name one of {', '.join(labels)}")


def result_for(
    setup: Setup,
    trial: TrialRecord,
    network: Network,
    schedules: Schedules,
    report: Callable[[str], None] = lambda message: None,
) -> StoredResult:
    """Give the verified result of a network in a trial, one that was excluded by proof as well.

    Made again it is as good as it was, to within the tolerance; it need not be the same. ``report``
    hears of it, and why, before it is made, and afterwards by how much its figures differ.

    Raises
    ------
    InputError
        There is no such machine.
    ScheduleError
        The file of the schedule is not legal.
    """
    found = kept_result(trial, network, schedules)
    if found is not None:
        return found
    candidate = candidate_of(setup, trial)
    report(f"trial {trial.number}: {_why_made(trial)}; {network.label} is scheduled now")
    made = result_of(setup, candidate, network)
    before = trial.networks or {}
    if network.label in before:
        report(f"trial {trial.number}: {_against(made, before[network.label])}")
    return made


def results_for(
    setup: Setup,
    trials: Sequence[TrialRecord],
    schedules: Schedules,
    report: Callable[[str], None] = lambda message: None,
) -> list[tuple[TrialRecord, Network, StoredResult]]:
    """Give the same of every network in every one of some trials."""
    return [
        (trial, network, result_for(setup, trial, network, schedules, report))
        for trial in trials
        for network in setup.networks
    ]


def _against(made: StoredResult, before: Mapping[str, Any]) -> str:
    """How the figures of a schedule that was made again differ from those of the trial."""
    totals = made.result.totals
    if totals is None:
        return "no schedule was found this time"
    found = metrics(made.instance.machine, totals)
    own = {
        "time_s": found.time_s,
        "energy_j": found.energy_j,
        "traffic_bytes": totals.traffic_bytes,
    }
    changed = [
        f"{name} {figure_text(name, value)}, was {figure_text(name, before[name])}"
        for name, value in own.items()
        if value != before[name]
    ]
    return f"made again: {'; '.join(changed)}" if changed else "made again, it takes what it took"


def _why_made(trial: TrialRecord) -> str:
    """Why there is no schedule to show."""
    match trial.state:
        case "excluded":
            return "was excluded by proof, and not scheduled"
        case "solved" | "as_before":
            return "its schedule was not kept, or is gone"
        case state:
            return f"is {state}, and has no schedule"
