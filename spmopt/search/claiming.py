"""How trials begin, and are given up: each is stored at once with its point and its owner.

A trial is *lost* when its process has ended without telling. It is failed then, and its point is
the next that is begun: a search that was killed at any moment, and run again, misses no point.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import cast
from warnings import catch_warnings, simplefilter

import optuna
from optuna.exceptions import UpdateFinishedTrialError
from optuna.samplers import RandomSampler
from optuna.storages import BaseStorage, RDBStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState, create_trial

from spmopt.core.processes import own_name
from spmopt.search.drafts import Drafts
from spmopt.search.space import Space
from spmopt.search.storage import PROCESS, beat, is_lost, own_trials, running
from spmopt.search.study import counts, distributions

_FAILED = "failed_trial"
"""Attribute of a trial, as Optuna names it: the number of the first one of its point."""


class Beginner:
    """Begins trials of a study for this process.

    Parameters
    ----------
    study
        Whose sampler proposes points.
    storage
        As it was opened.
    """

    def __init__(self, study: Study, space: Space, storage: BaseStorage) -> None:
        self._study, self._space, self._storage = study, space, storage
        self._drafts = Drafts(study._storage)
        with catch_warnings():
            simplefilter("ignore")
            self._drafting, self._plain = (
                optuna.load_study(study_name=study.study_name, storage=where, sampler=sampler)
                for where, sampler in (
                    (cast("BaseStorage", self._drafts), study.sampler),
                    # It proposes nothing: each trial has its point when it begins.
                    (study._storage, RandomSampler()),
                )
            )

    def begin(self) -> Trial:
        """Begin a point that was lost, or that the sampler proposes."""
        while True:
            # Optimistic: read, begin, then look for a rival, since not all storages have locks.
            known = self._study.get_trials(deepcopy=False)
            trial = self._begin(_lose(known, len(self._space.axes)))
            others = self._study.get_trials(deepcopy=False)[len(known) : trial.number]
            if not any(counts(each) and each.params == trial.params for each in others):
                return trial
            # Another process has begun the same in the meantime.
            restart(self._study, trial.number)

    def _begin(self, start: FrozenTrial | None) -> Trial:
        """Store a trial, of the point of ``start`` as far as that says one."""
        self._drafts.start = start
        with catch_warnings():
            simplefilter("ignore")  # that heartbeats are for another way to run a study
            self._drafting.ask(distributions(self._space))
        draft = self._drafts.draft
        assert draft is not None
        attributes = dict(draft.system_attrs)
        if start is not None:
            attributes.setdefault(_FAILED, start.number)
        fresh = create_trial(
            state=TrialState.RUNNING,
            params=draft.params,
            distributions=draft.distributions,
            user_attrs={PROCESS: own_name()},
            system_attrs=attributes,
        )
        study = self._study
        # One transaction stores state, point and owner: a kill leaves all of a trial or nothing.
        number = study._storage.create_new_trial(study._study_id, template_trial=fresh)
        trial = Trial(self._plain, number)
        beat(self._storage, trial)
        return trial


def restart(study: Study, number: int) -> None:
    """Fail a running trial; its point is begun again."""
    with suppress(UpdateFinishedTrialError):  # by another process, since it was looked at
        study.tell(number, state=TrialState.FAIL, skip_if_finished=True)


def restart_own(study: Study) -> None:
    """Put back the running trials of this process."""
    for trial in own_trials(study):
        restart(study, trial.number)


def recover(study: Study, storage: BaseStorage) -> int:
    """Put back the trials that were lost; return how many."""
    lost = [trial for trial in running(study) if is_lost(trial)]
    for trial in lost:
        restart(study, trial.number)
    if isinstance(storage, RDBStorage):
        with catch_warnings():
            simplefilter("ignore")
            # Processes of other machines are known only by heartbeats, which databases alone
            # record.
            optuna.storages.fail_stale_trials(study)
    return len(lost)


def _lose(trials: Sequence[FrozenTrial], fields: int) -> FrozenTrial | None:
    """Find the first trial that was put back and whose point was not begun since."""
    known = {point(trial) for trial in trials if counts(trial)}
    # Trials with fewer fields were killed before all values were drawn; they have no point.
    put = (each for each in trials if not counts(each) and len(each.params) == fields)
    return next((trial for trial in put if point(trial) not in known), None)


def point(trial: FrozenTrial) -> tuple[tuple[str, object], ...]:
    """Return the values of a trial, in a form to compare."""
    return tuple(sorted(trial.params.items()))
