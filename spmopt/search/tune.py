"""The search: propose machines, exclude them by proof or evaluate them, record outcomes.

Answers are recorded in the order of the questions, so that proposals do not depend on which process
was quicker: the same seed and number of workers give the same trials.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from time import monotonic

from optuna.exceptions import UpdateFinishedTrialError
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from spmopt.core.errors import InputError
from spmopt.core.result import Status
from spmopt.experiments.interrupts import defer_interrupts, unbroken
from spmopt.experiments.queue import TaskQueue
from spmopt.hardware.settings import Setting
from spmopt.search.candidate import Candidate
from spmopt.search.claiming import Beginner, point, recover, restart, restart_own
from spmopt.search.evaluation import TrialOutcome, evaluate
from spmopt.search.pruning import SolvedMachines
from spmopt.search.samplers import Seeded
from spmopt.search.setup import Setup
from spmopt.search.storage import beating
from spmopt.search.study import (
    AS_BEFORE,
    ERROR,
    FIGURES,
    MACHINE,
    NETWORKS,
    PROOF,
    SECONDS,
    Schedules,
    counts,
    values_of,
)

_RECOVER_S = 5.0
Report = Callable[[str, float | None], None]


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How a study is searched.

    Attributes
    ----------
    trials
        Total of the study, with trials of other processes and of earlier runs.
    sampler, seed
        Who proposes.
    workers
        Processes beside this one, which meanwhile asks, proves and writes; none: all in turn, here.
    timeout_s
        Seconds after which no more trials are begun; None: without end.
    prune
        Whether machines are excluded by proof.
    """

    trials: int
    sampler: str = "tpe"
    seed: int = 0
    workers: int = 0
    timeout_s: float | None = None
    prune: bool = True


def tune(
    study: Study,
    setup: Setup,
    effort: Effort,
    *,
    storage: BaseStorage,
    schedules: Schedules,
    report: Report,
    note: Callable[[str], None] = lambda _: None,
) -> None:
    """Run trials until there are enough, none is left, or the time is up.

    However it ends, trials that are under way then are put back.

    Parameters
    ----------
    report, note
        Told of progress, and of processes that died and were replaced.

    Raises
    ------
    InputError
        A network or machine that cannot be used.
    ScheduleError
        An illegal schedule or an untrue bound.
    """
    study.sampler = Seeded(effort.sampler, effort.seed, setup.space)
    restart_own(study)  # of a search before that could not end them, as on a full disk
    recover(study, storage)
    schedules.tidy(study.get_trials(deepcopy=False))
    workers = TaskQueue(effort.workers, beside=effort.workers > 0, report=note)
    with workers as queue, beating(storage, study):
        loop = _Loop(
            study=study,
            setup=setup,
            effort=effort,
            storage=storage,
            schedules=schedules,
            report=report,
            queue=queue,
            solved=SolvedMachines(setup, schedules),
            beginner=Beginner(study, setup.space, storage),
        )
        # As many again wait in line, so that no worker does.
        loop.run(2 * effort.workers or 1)


@dataclass(kw_only=True)
class _Open:
    """A trial under way; ``outcome`` is a message where its process died each time."""

    trial: Trial
    values: Mapping[str, Setting]
    candidate: Candidate
    outcome: TrialOutcome | str | None = None


@dataclass(kw_only=True)
class _Loop:
    study: Study
    setup: Setup
    effort: Effort
    storage: BaseStorage
    schedules: Schedules
    report: Report
    queue: TaskQueue
    solved: SolvedMachines
    beginner: Beginner
    open: deque[_Open] = field(default_factory=deque)
    began: float = field(default_factory=monotonic)
    recovered: float = -_RECOVER_S

    def run(self, width: int) -> None:
        """Propose and record, ``width`` trials under way at most."""
        try:
            self._fill(width)
            for _ in self.queue.steps():
                # Only from the front: a later trial that ended first must wait, or proposals would
                # differ.
                while self.open and self.open[0].outcome is not None:
                    self._end(self.open.popleft())
                self._fill(width)
        except BaseException:
            with defer_interrupts():
                restart_own(self.study)
            raise

    def _fill(self, width: int) -> None:
        """Begin trials until ``width`` are under way."""
        if monotonic() >= self.recovered + _RECOVER_S:
            recover(self.study, self.storage)
            self.recovered = monotonic()
        while len(self.open) < width and (known := self._more()) is not None:
            # After a sleep of the machine another process may have taken the trial for lost.
            with suppress(UpdateFinishedTrialError):
                self._begin(known)

    def _more(self) -> list[FrozenTrial] | None:
        """Return trials that are solved; None where no more is to be begun."""
        effort = self.effort
        if effort.timeout_s is not None and monotonic() - self.began > effort.timeout_s:
            return None
        trials = [trial for trial in self.study.get_trials(deepcopy=False) if counts(trial)]
        done = sum(trial.state is not TrialState.RUNNING for trial in trials)
        self.report(f"{done} of {effort.trials} trials", min(1.0, done / effort.trials))
        fields = len(self.setup.space.axes)
        # Points, not trials: random samplers repeat points before a small space is exhausted.
        points = {point(trial) for trial in trials if len(trial.params) == fields}
        if len(points) == self.setup.space.size or len(trials) >= effort.trials:
            return None
        return [trial for trial in trials if trial.state is TrialState.COMPLETE]

    def _begin(self, solved: list[FrozenTrial]) -> None:
        """Propose a machine; begin to evaluate it, unless it is known or excluded."""
        with unbroken():
            trial = self.beginner.begin()
        if self._is_surplus(trial.number):
            restart(self.study, trial.number)
            return
        values = values_of(self.setup.space, trial.params)
        before = next((each for each in solved if each.params == trial.params), None)
        if before is not None:
            self._repeat(trial, before)
            return
        self.solved.read(solved)
        try:
            candidate = self.setup.space.candidate(values)
            static = self.solved.excesses(candidate)
        except InputError as error:
            self._impossible(trial, str(error))
            return
        _set_constraints(trial, static)
        try:
            proof = self.solved.proof(candidate, solved, prune=self.effort.prune)
        except InputError as error:
            self._impossible(trial, str(error))
            return
        if proof is not None:
            trial.set_user_attr(MACHINE, candidate.record())
            trial.set_user_attr(PROOF, proof.record)
            if proof.constraint and proof.constraint not in static:
                trial.set_constraint(proof.constraint, proof.excess)
            self._finish(trial, TrialState.PRUNED)
            return
        self.open.append(_Open(trial=trial, values=values, candidate=candidate))
        near = self.solved.nearest(values)
        task = partial(evaluate, self.setup, candidate, near, self.schedules.are_kept)
        answer = partial(setattr, self.open[-1], "outcome")
        self.queue.add((trial.number,), task, answer, fail=answer)

    def _is_surplus(self, number: int) -> bool:
        """Return whether others have begun the last trials since they were counted."""
        if number < self.effort.trials:
            return False
        trials = self.study.get_trials(deepcopy=False)
        before = sum(counts(trial) for trial in trials if trial.number < number)
        return before >= self.effort.trials

    def _repeat(self, trial: Trial, before: FrozenTrial) -> None:
        """Record the earlier outcome of the same machine."""
        for name in (FIGURES, NETWORKS, MACHINE):
            trial.set_user_attr(name, before.user_attrs.get(name))
        trial.set_user_attr(AS_BEFORE, before.user_attrs.get(AS_BEFORE, before.number))
        _set_constraints(trial, before.constraints)
        self._finish(trial, TrialState.COMPLETE, tuple(before.values))

    def _end(self, eldest: _Open) -> None:
        """Record the outcome of a trial."""
        outcome = eldest.outcome
        with suppress(UpdateFinishedTrialError):
            if not isinstance(outcome, TrialOutcome):
                self._fail(eldest.trial, f"its {outcome}")
            elif any(network.spent is None for network in outcome.networks.values()):
                self._nothing(eldest.trial, outcome)
            else:
                self._complete(eldest, outcome)

    def _complete(self, eldest: _Open, outcome: TrialOutcome) -> None:
        trial, networks = eldest.trial, outcome.networks
        spent = {name: one.spent for name, one in networks.items() if one.spent is not None}
        figures = self.setup.figures(eldest.candidate, spent)
        files = {
            name: self.schedules.write(trial.number, name, one.packed)
            for name, one in networks.items()
        }
        records = {name: {**one.record, "file": files[name]} for name, one in networks.items()}
        # Attributes before the state: a finished trial of a storage cannot be changed.
        trial.set_user_attr(FIGURES, figures)
        trial.set_user_attr(NETWORKS, records)
        trial.set_user_attr(MACHINE, eldest.candidate.record())
        trial.set_user_attr(SECONDS, outcome.seconds)
        limits = (each for each in self.setup.space.constraints if not each.is_static)
        _set_constraints(trial, {str(limit): limit.excess(figures) for limit in limits})
        cuts = {name: one.cut for name, one in networks.items() if one.cut is not None}
        self.solved.add(trial.number, eldest.values, cuts)
        values = tuple(figures[name] for name in self.setup.objectives)
        self._finish(trial, TrialState.COMPLETE, values)

    def _nothing(self, trial: Trial, outcome: TrialOutcome) -> None:
        """Record a machine that a network does not fit, or was not scheduled on in time."""
        for name, network in outcome.networks.items():
            if network.record["status"] == Status.INFEASIBLE:
                self._impossible(trial, f"{name}: {'; '.join(network.record['notes'])}")
                return
        limit = self.setup.time_limit_s
        self._fail(trial, f"no schedule found within --time-limit {limit:g}")

    def _impossible(self, trial: Trial, why: str) -> None:
        trial.set_user_attr(PROOF, {"impossible": why})
        trial.set_constraint("possible", 1.0)
        self._finish(trial, TrialState.PRUNED)

    def _fail(self, trial: Trial, why: str) -> None:
        trial.set_user_attr(ERROR, why)
        self._finish(trial, TrialState.FAIL)

    def _finish(
        self, trial: Trial, state: TrialState, values: tuple[float, ...] | None = None
    ) -> None:
        self.study.tell(trial.number, values, state, skip_if_finished=True)


def _set_constraints(trial: Trial, excesses: Mapping[str, float]) -> None:
    for name, excess in excesses.items():
        trial.set_constraint(name, excess)
