"""The search: ask for machines, exclude them by proof or evaluate them, tell what came of it.

Answers are told in the order of the questions, so that what a sampler proposes does not depend on
which process was quicker: the same seed and number of workers give the same trials.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass
from time import monotonic
from warnings import catch_warnings, simplefilter

from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from spmopt.core.errors import InputError
from spmopt.core.result import Status
from spmopt.experiments.executors import open_executor
from spmopt.experiments.interrupts import endings_as_interrupt, unbroken, undisturbed
from spmopt.hardware.settings import Setting
from spmopt.search.candidate import Candidate
from spmopt.search.evaluation import TrialOutcome, evaluate
from spmopt.search.pruning import Duplicates, Neighbors, Pruner
from spmopt.search.samplers import Seeded
from spmopt.search.setup import Setup
from spmopt.search.storage import PROCESS, Beats, own_name, put_back, recover
from spmopt.search.study import (
    AS_BEFORE,
    ERROR,
    FIGURES,
    MACHINE,
    NETWORKS,
    PROOF,
    Schedules,
    counts,
    distributions,
    note_solved,
    values_of,
)

_LIVES = 3
"""How often a trial is begun whose process dies."""
_LOOK_S = 5.0
Tell = Callable[[str, float | None], None]


def tune(
    study: Study,
    setup: Setup,
    effort: Effort,
    *,
    storage: BaseStorage,
    schedules: Schedules,
    tell: Tell,
) -> None:
    """Run trials until there are enough, none is left, or the time is up.

    However it ends, trials that are under way then are put back.

    Raises
    ------
    InputError
        A network or machine that cannot be used, or no cluster.
    ScheduleError
        An illegal schedule or an untrue bound.
    """
    study.sampler = Seeded(effort.sampler, effort.seed, setup.space)
    beats = Beats(storage, study.study_name)
    found = open_executor(effort.workers, effort.address, effort.wait_for_workers)
    with endings_as_interrupt(), found as (workers, count), beats.running():
        loop = _Loop(
            study, setup, effort, schedules=schedules, tell=tell, workers=workers, beats=beats
        )
        # As many again wait in line, so that no worker does.
        loop.run(2 * count if effort.workers or effort.address else 1)


@dataclass(kw_only=True)
class _Open:
    """A trial under way; without ``future`` it waits for an elder one of the same problem."""

    trial: Trial
    values: dict[str, Setting]
    candidate: Candidate
    future: Future[TrialOutcome] | None
    lives: int = _LIVES


class _Loop:
    def __init__(
        self,
        study: Study,
        setup: Setup,
        effort: Effort,
        *,
        schedules: Schedules,
        tell: Tell,
        workers: Executor,
        beats: Beats,
    ) -> None:
        self._study, self._setup, self._schedules = study, setup, schedules
        self._effort, self._report = effort, tell
        self._workers, self._beats = workers, beats
        self._neighbors = Neighbors(setup.space, schedules)
        self._twins = Duplicates(setup, schedules)
        self._pruner = Pruner(setup, self._neighbors.pool, effort.prune)
        self._open: deque[_Open] = deque()
        self._begun: set[int] = set()
        self._began = self._look = monotonic()

    def run(self, width: int) -> None:
        """Ask and tell, ``width`` trials under way at most."""
        try:
            while True:
                self._recover()
                while len(self._open) < width and (known := self._more()) is not None:
                    self._ask(known)
                if not self._open:
                    return
                self._tell()
        except BaseException:
            with undisturbed():
                for future in (each.future for each in self._open if each.future is not None):
                    future.cancel()
                for number in sorted(self._begun):
                    put_back(self._study, _frozen(self._study, number))
            raise

    def _recover(self) -> None:
        """Look for lost trials now and then."""
        if monotonic() >= self._look:
            recover(self._study)
            self._look = monotonic() + _LOOK_S

    def _more(self) -> list[FrozenTrial] | None:
        """Trials that are solved; None where no more is to be begun."""
        effort = self._effort
        if effort.timeout_s is not None and monotonic() - self._began > effort.timeout_s:
            return None
        trials = [trial for trial in self._study.get_trials(deepcopy=False) if counts(trial)]
        done = sum(trial.state is not TrialState.RUNNING for trial in trials)
        self._report(f"{done} of {effort.trials} trials", min(1.0, done / effort.trials))
        points = {tuple(sorted(trial.params.items())) for trial in trials}
        if len(points) == self._setup.space.size:
            return None
        solved = [trial for trial in trials if trial.state is TrialState.COMPLETE]
        return solved if len(trials) < effort.trials else None

    def _ask(self, solved: list[FrozenTrial]) -> None:
        """Propose a machine; begin to evaluate it, unless it is known or excluded."""
        with unbroken(), catch_warnings():
            simplefilter("ignore")  # that beats are for another way to run a study
            trial = self._study.ask(distributions(self._setup.space))
            self._begun.add(trial.number)
        trial.set_user_attr(PROCESS, own_name())
        self._beats.add(trial.number)
        if self._is_surplus(trial.number):
            put_back(self._study, _frozen(self._study, trial.number))
            self._end(trial.number)
            return
        values = values_of(self._setup.space, trial.params)
        before = next((each for each in solved if each.params == trial.params), None)
        if before is not None:
            self._repeat(trial, before)
            return
        self._neighbors.read(solved)
        self._twins.read(solved)
        try:
            candidate = self._setup.space.candidate(values)
            static = self._pruner.excesses(candidate)
            for name, excess in static.items():
                trial.set_constraint(name, excess)
            proof = self._pruner.proof(candidate, solved)
        except InputError as error:
            self._impossible(trial, str(error))
            return
        if proof is not None:
            trial.set_user_attr(MACHINE, candidate.record())
            trial.set_user_attr(PROOF, proof.record())
            if proof.constraint and proof.constraint not in static:
                trial.set_constraint(proof.constraint, proof.excess)
            self._finish(trial, TrialState.PRUNED)
            return
        future = self._future(candidate, values)
        self._open.append(_Open(trial=trial, values=values, candidate=candidate, future=future))

    def _future(
        self, candidate: Candidate, values: Mapping[str, Setting]
    ) -> Future[TrialOutcome] | None:
        """The answer to come; None where it is to wait for one of the same problem."""
        for each in self._open:
            if each.values == values:
                return each.future
        if any(self._twins.alike(candidate, each.candidate) for each in self._open):
            return None
        return self._begin(candidate, values)

    def _begin(self, candidate: Candidate, values: Mapping[str, Setting]) -> Future[TrialOutcome]:
        near = self._neighbors.nearest(values)
        keep, known = self._keeps, self._twins.of(candidate)
        return self._workers.submit(evaluate, self._setup, candidate, near, keep, known)

    @property
    def _keeps(self) -> bool:
        """Whether schedules are wanted: for the files, or for machines that look the same."""
        return self._schedules.kept or self._twins.possible

    def _is_surplus(self, number: int) -> bool:
        """Whether others have begun the last trials since they were counted."""
        if number < self._effort.trials:
            return False
        trials = self._study.get_trials(deepcopy=False)
        before = sum(counts(trial) for trial in trials if trial.number < number)
        return before >= self._effort.trials

    def _repeat(self, trial: Trial, before: FrozenTrial) -> None:
        """Tell what the same machine came to before."""
        for name in (FIGURES, NETWORKS, MACHINE):
            trial.set_user_attr(name, before.user_attrs.get(name))
        trial.set_user_attr(AS_BEFORE, before.user_attrs.get(AS_BEFORE, before.number))
        for name, excess in before.constraints.items():
            trial.set_constraint(name, excess)
        self._finish(trial, TrialState.COMPLETE, tuple(before.values))

    def _tell(self) -> None:
        """Wait for the eldest trial and tell what came of it."""
        eldest = self._open[0]
        eldest.future = eldest.future or self._begin(eldest.candidate, eldest.values)
        try:
            answer = eldest.future.result()
        except BrokenExecutor:
            self._revive(eldest)
            return
        trial = eldest.trial
        if any(solved.spent is None for solved in answer.networks.values()):
            self._nothing(trial, answer)
        else:
            self._complete(eldest, answer)
        self._open.popleft()

    def _revive(self, dead: _Open) -> None:
        """Begin it again, unless it kills whatever it runs in."""
        dead.lives -= 1
        if dead.lives:
            dead.future = self._begin(dead.candidate, dead.values)
            return
        self._fail(dead.trial, f"its process died {_LIVES} times")
        self._open.popleft()

    def _complete(self, eldest: _Open, answer: TrialOutcome) -> None:
        trial, candidate = eldest.trial, eldest.candidate
        files = {
            name: self._schedules.write(trial.number, name, one.stored)
            for name, one in answer.networks.items()
        }
        values = note_solved(trial, self._setup, candidate, answer, files)
        kept = {name: files[name] or one.stored for name, one in answer.networks.items()}
        self._twins.add(trial.number, candidate, kept)
        cuts = {name: one.cut for name, one in answer.networks.items() if one.cut is not None}
        self._neighbors.add(trial.number, eldest.values, cuts)
        self._finish(trial, TrialState.COMPLETE, values)

    def _nothing(self, trial: Trial, answer: TrialOutcome) -> None:
        """A machine that a network does not fit, or was not scheduled on in time."""
        for name, solved in answer.networks.items():
            if solved.status is Status.INFEASIBLE:
                self._impossible(trial, f"{name}: {'; '.join(solved.notes)}")
                return
        limit = self._setup.time_limit_s
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
        self._study.tell(trial.number, values, state, skip_if_finished=True)
        self._end(trial.number)

    def _end(self, number: int) -> None:
        self._begun.discard(number)
        self._beats.remove(number)


def _frozen(study: Study, number: int) -> FrozenTrial:
    return study.get_trials(deepcopy=False)[number]


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How a study is searched.

    Attributes
    ----------
    trials
        Of the study in all, those of other processes and of before included.
    sampler, seed
        Who proposes.
    workers, address
        Processes beside this one, which meanwhile asks, proves and writes; none: all in turn, here.
        Or a Dask scheduler in their place.
    wait_for_workers
        Of the Dask scheduler, before anything begins.
    timeout_s
        Seconds after which no more trials are begun; None: without end.
    prune
        Whether machines are excluded by proof.
    """

    trials: int
    sampler: str = "tpe"
    seed: int = 0
    workers: int = 0
    address: str | None = None
    wait_for_workers: int = 0
    timeout_s: float | None = None
    prune: bool = True
