"""Trials of a study as records: outcomes, machines and schedules, stored or made again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import inf, log
from operator import le

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from spmopt.core.errors import InputError
from spmopt.core.solution import Solution
from spmopt.search.candidate import Candidate
from spmopt.search.evaluation import result_of
from spmopt.search.records import STATES, TrialRecord
from spmopt.search.setup import Setup
from spmopt.search.storage import is_lost, whereabouts
from spmopt.search.study import AS_BEFORE, ERROR, NOTED, PROOF, Schedules, is_feasible, values_of
from spmopt.sweeps.cases import Network
from spmopt.verifier import require_legal


def trial_records(study: Study) -> list[TrialRecord]:
    """Read all trials that were begun."""
    trials = study.get_trials(deepcopy=False)
    return [record_of(trial) for trial in trials if trial.state is not TrialState.WAITING]


def record_of(trial: FrozenTrial) -> TrialRecord:
    """Read a trial."""
    state = _state_of(trial)
    return TrialRecord(
        number=trial.number,
        state=state,
        parameters=trial.params,
        values=tuple(trial.values) if trial.state is TrialState.COMPLETE else None,
        is_feasible=is_feasible(trial),
        constraints=trial.constraints,
        process=whereabouts(trial) if state == "running" else "",
        **{name: trial.user_attrs.get(name) for name in NOTED},
    )


def tally(trials: Iterable[TrialRecord]) -> dict[str, int]:
    """Count trials by state."""
    return dict.fromkeys(STATES, 0) | Counter(trial.state for trial in trials)


def front(study: Study, top: int | None = None) -> list[FrozenTrial]:
    """List the trials that no other is better than, or the ``top`` best in the first objective.

    By objectives, feasible ones only, each machine once.
    """
    found = study.best_trials if top is None else study.get_trials(deepcopy=False)
    once = {
        # Reversed: of equal points the dict keeps the last, which is the earliest trial.
        tuple(sorted(each.params.items())): each
        for each in reversed(found)
        if is_feasible(each)
    }
    return sorted(once.values(), key=lambda trial: (trial.values, trial.number))[:top]


def merge(trials: Sequence[FrozenTrial], tolerance: float) -> dict[int, tuple[int, ...]]:
    """Merge the trials of a front whose lead is no more than the tolerance of schedules.

    A trial is merged into another that is at most ``tolerance`` worse in every objective and
    better by the product of all of them.

    Returns
    -------
    dict
        Numbers of the trials that remain, each with those that it stands for; in the order given.
    """
    kept: dict[int, tuple[FrozenTrial, list[int]]] = {}
    # The best product first, so that a merged trial never stands for a better one.
    for trial in sorted(trials, key=_product):
        for own, others in kept.values():
            limits = [value * (1 + tolerance) for value in trial.values]
            if all(map(le, own.values, limits)):
                others.append(trial.number)
                break
        else:
            kept[trial.number] = trial, []
    return {
        trial.number: tuple(sorted(kept[trial.number][1]))
        for trial in trials
        if trial.number in kept
    }


def _product(trial: FrozenTrial) -> tuple[float, int]:
    """Return the logarithm of the product of all objectives, and the number."""
    return sum(log(value) if value > 0 else -inf for value in trial.values), trial.number


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


def candidate_of(setup: Setup, trial: TrialRecord) -> Candidate:
    """Make the machine of a trial; raises :class:`InputError` where there is none."""
    return setup.space.candidate(values_of(setup.space, trial.parameters))


def build_from(setup: Setup, trial: TrialRecord) -> Candidate | None:
    """Build the machine of a trial; None where there is no such machine."""
    try:
        return candidate_of(setup, trial)
    except (InputError, KeyError):  # a trial that was lost may not have all of its fields
        return None


def keep_result(trial: TrialRecord, network: Network, schedules: Schedules) -> Solution | None:
    """Read the verified result of a network in a trial; None where there is no file.

    Raises
    ------
    ScheduleError
        A schedule that is not legal.
    """
    file = (trial.networks or {}).get(network.label, {}).get("file")
    found = None if file is None else schedules.read(file)
    if found is not None and found.result.schedule is not None:
        # Files may be edited or of another version: nothing is shown unverified.
        require_legal(found.problem, found.result.schedule, found.result.totals)
    return found


def result_for(
    setup: Setup,
    trial: TrialRecord,
    network: Network,
    schedules: Schedules,
    report: Callable[[str], None] = lambda message: None,
) -> Solution:
    """Give the verified result of a network in a trial, one that was excluded by proof as well.

    Made again it is as good as it was, to within the tolerance; it need not be the same. ``report``
    receives why it is made.

    Raises
    ------
    InputError
        There is no such machine.
    ScheduleError
        The file of the schedule is not legal.
    """
    found = keep_result(trial, network, schedules)
    if found is not None:
        return found
    candidate = candidate_of(setup, trial)
    report(f"trial {trial.number}: {_why_made(trial)}; {network.label} is scheduled now")
    return result_of(setup, candidate, network)


def _why_made(trial: TrialRecord) -> str:
    """Say why there is no schedule to show."""
    match trial.state:
        case "excluded":
            return "was excluded by proof, and not scheduled"
        case "solved" | "as_before":
            return "its schedule was not kept, or is gone"
        case state:
            return f"is {state}, and has no schedule"


def _state_of(trial: FrozenTrial) -> str:
    """Return its state, one of :data:`~spmopt.search.records.STATES`."""
    match trial.state:
        case TrialState.COMPLETE:
            return "as_before" if AS_BEFORE in trial.user_attrs else "solved"
        case TrialState.PRUNED:
            proof = trial.user_attrs.get(PROOF) or {}
            return "impossible" if "impossible" in proof else "excluded"
        case TrialState.FAIL:
            # One that was put back has none, and its point was asked for again.
            return "failed" if ERROR in trial.user_attrs else "put_back"
        case _:
            return "lost" if is_lost(trial) else "running"
