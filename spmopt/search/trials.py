"""Trials of a study as records: what came of them, their machines and kept schedules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from spmopt.core.errors import InputError
from spmopt.hardware.scratchpad import bases_of, least_sure
from spmopt.hardware.technology import Basis
from spmopt.io.files import StoredResult
from spmopt.search.candidate import Candidate
from spmopt.search.records import BuiltMachine, Tally, TrialRecord
from spmopt.search.setup import Setup
from spmopt.search.storage import is_lost, whereabouts
from spmopt.search.study import (
    AS_BEFORE,
    ERROR,
    FIGURES,
    MACHINE,
    NETWORKS,
    PROOF,
    SECONDS,
    Schedules,
    is_feasible,
    values_of,
)
from spmopt.sweeps.cases import Network
from spmopt.verifier import require_legal


def trial_records(study: Study) -> list[TrialRecord]:
    """Read all trials that were begun."""
    trials = study.get_trials(deepcopy=False)
    return [record_of(trial) for trial in trials if trial.state is not TrialState.WAITING]


def record_of(trial: FrozenTrial) -> TrialRecord:
    """Read a trial."""
    attrs, state = trial.user_attrs, _state_of(trial)
    return TrialRecord(
        number=trial.number,
        state=state,
        parameters=trial.params,
        values=tuple(trial.values) if trial.state is TrialState.COMPLETE else None,
        is_feasible=is_feasible(trial),
        constraints=trial.constraints,
        figures=attrs.get(FIGURES),
        networks=attrs.get(NETWORKS),
        machine=attrs.get(MACHINE),
        seconds=attrs.get(SECONDS),
        proof=attrs.get(PROOF),
        error=attrs.get(ERROR),
        as_before=attrs.get(AS_BEFORE),
        process=whereabouts(trial) if state == "running" else "",
    )


def tally(trials: Iterable[TrialRecord]) -> Tally:
    """Count what trials came to."""
    return Tally(**Counter(trial.state for trial in trials))


def front(study: Study) -> list[FrozenTrial]:
    """List the trials that no other is better than, by the first objective; each machine once."""
    found = [trial for trial in study.best_trials if is_feasible(trial)]
    once = {tuple(sorted(trial.params.items())): trial for trial in reversed(found)}
    return sorted(once.values(), key=lambda trial: (trial.values, trial.number))


def best(study: Study, count: int) -> list[FrozenTrial]:
    """List the ``count`` feasible trials best in the first objective; each machine once."""
    found = [trial for trial in study.get_trials(deepcopy=False) if is_feasible(trial)]
    once = {tuple(sorted(trial.params.items())): trial for trial in reversed(found)}
    return sorted(once.values(), key=lambda trial: (trial.values, trial.number))[:count]


def candidate_of(setup: Setup, trial: TrialRecord) -> Candidate:
    """Make the machine of a trial; raises :class:`InputError` where there is none."""
    return setup.space.candidate(values_of(setup.space, trial.parameters))


def built_of(setup: Setup, trial: TrialRecord) -> BuiltMachine | None:
    """Build the machine of a trial; None where there is no such machine."""
    try:
        machine = candidate_of(setup, trial).machine
    except (InputError, KeyError):  # a trial that was lost may not have all of its fields
        return None
    memory, bases = machine.memory, bases_of(machine)
    rate = machine.dram_bytes_per_s
    return BuiltMachine(
        dram_bytes_per_s=rate if memory is None else memory.dram_bytes_per_s,
        channel_bytes_per_s=rate,
        basis=least_sure(machine),
        beyond=tuple(dict.fromkeys(name for name, one in bases if one is Basis.EXTRAPOLATED)),
    )


def kept_result(trial: TrialRecord, network: Network, schedules: Schedules) -> StoredResult | None:
    """Read the verified result of a network in a trial; None where there is no file.

    Raises
    ------
    ScheduleError
        A schedule that is not legal.
    """
    file = (trial.networks or {}).get(network.label, {}).get("file")
    found = None if file is None else schedules.read(file)
    if found is not None and found.result.schedule is not None:
        require_legal(found.instance, found.result.schedule, found.result.totals)
    return found


def kept_results(
    setup: Setup, trials: Iterable[TrialRecord], schedules: Schedules
) -> dict[tuple[int, str], StoredResult]:
    """Read verified results by trial and network; without those whose files are gone.

    Raises
    ------
    ScheduleError
        A schedule that is not legal.
    """
    asked = ((trial, network) for trial in trials for network in setup.networks)
    found = (
        ((trial.number, network.label), kept_result(trial, network, schedules))
        for trial, network in asked
    )
    return {key: stored for key, stored in found if stored is not None}


def _state_of(trial: FrozenTrial) -> str:
    """Say what came of it, as one of the counts of :class:`Tally`."""
    match trial.state:
        case TrialState.COMPLETE:
            return "as_before" if AS_BEFORE in trial.user_attrs else "solved"
        case TrialState.PRUNED:
            proof = trial.user_attrs.get(PROOF, {})
            return "impossible" if "impossible" in proof else "excluded"
        case TrialState.FAIL:
            # One that was put back has none, and its point was asked for again.
            return "failed" if ERROR in trial.user_attrs else "put_back"
        case _:
            return "lost" if is_lost(trial) else "running"
