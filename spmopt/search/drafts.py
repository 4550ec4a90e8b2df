"""A storage with one trial more than it has: a draft, which is sampled before anybody else sees it.

Optuna stores a trial first, then each of its values. Whoever is killed in between leaves a trial
of nobody, or a point of half its values, at which samplers that list all points fail.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from copy import copy, deepcopy
from datetime import datetime
from typing import Any, Never

from optuna.distributions import BaseDistribution
from optuna.storages import BaseStorage
from optuna.study import StudyDirection
from optuna.study._frozen import FrozenStudy
from optuna.trial import FrozenTrial, TrialState

from spmopt.search.study import counts

_ID = -1
"""Of the draft; storages count from 0 or 1."""


class Drafts(BaseStorage):
    """A storage as it is, but for a draft, and for trials that came to nothing.

    These are left out and the others numbered anew, so that what samplers propose does not depend
    on how often a search was killed.

    Attributes
    ----------
    start
        A trial whose point the next draft has, as far as it says one.
    draft
        The last one.
    """

    def __init__(self, storage: BaseStorage) -> None:
        self._storage = storage
        self.start: FrozenTrial | None = None
        self.draft: FrozenTrial | None = None

    def create_new_trial(self, study_id: int, template_trial: FrozenTrial | None = None) -> int:
        """Begin a new draft in place of the one before."""
        del template_trial
        start = self.start
        self.draft = FrozenTrial(
            number=sum(map(counts, self._storage.get_all_trials(study_id, deepcopy=False))),
            trial_id=_ID,
            state=TrialState.RUNNING,
            value=None,
            datetime_start=datetime.now(),
            datetime_complete=None,
            params={} if start is None else dict(start.params),
            distributions={} if start is None else dict(start.distributions),
            user_attrs={},
            system_attrs={} if start is None else _kept(start),
            intermediate_values={},
        )
        return _ID

    def get_all_trials(
        self,
        study_id: int,
        deepcopy: bool = True,
        states: Container[TrialState] | None = None,
    ) -> list[FrozenTrial]:
        """Return trials that count, and the draft."""
        found = list[FrozenTrial]()
        for trial in filter(counts, self._storage.get_all_trials(study_id, deepcopy=deepcopy)):
            same = trial.number == len(found)
            found.append(trial if same else copy(trial))
            found[-1].number = len(found) - 1
        if self.draft is not None:
            found.append(self.draft)
        return [trial for trial in found if states is None or trial.state in states]

    def get_trial(self, trial_id: int) -> FrozenTrial:
        """Return the draft, or a trial."""
        if trial_id == _ID and self.draft is not None:
            return deepcopy(self.draft)
        return self._storage.get_trial(trial_id)

    def set_trial_param(
        self,
        trial_id: int,
        param_name: str,
        param_value_internal: float,
        distribution: BaseDistribution,
    ) -> None:
        """Note a value of the draft."""
        draft = self._of(trial_id)
        draft.distributions = {**draft.distributions, param_name: distribution}
        value = distribution.to_external_repr(param_value_internal)
        draft.params = {**draft.params, param_name: value}

    def set_trial_user_attr(self, trial_id: int, key: str, value: Any) -> None:
        """Note an attribute of the draft."""
        self._of(trial_id).set_user_attr(key, value)

    def set_trial_system_attr(self, trial_id: int, key: str, value: Any) -> None:
        """Note an attribute of the draft."""
        self._of(trial_id).system_attrs[key] = value

    def _of(self, trial_id: int) -> FrozenTrial:
        assert trial_id == _ID
        assert self.draft is not None
        return self.draft

    def set_trial_state_values(
        self, trial_id: int, state: TrialState, values: Sequence[float] | None = None
    ) -> Never:
        """Refuse: a draft has no end."""
        raise NotImplementedError

    def set_trial_intermediate_value(
        self, trial_id: int, step: int, intermediate_value: float
    ) -> Never:
        """Refuse: a draft has none."""
        raise NotImplementedError

    def create_new_study(
        self, directions: Sequence[StudyDirection], study_name: str | None = None
    ) -> int:
        """Do as the storage."""
        return self._storage.create_new_study(directions, study_name)

    def delete_study(self, study_id: int) -> None:
        """Do as the storage."""
        self._storage.delete_study(study_id)

    def set_study_user_attr(self, study_id: int, key: str, value: Any) -> None:
        """Do as the storage."""
        self._storage.set_study_user_attr(study_id, key, value)

    def set_study_system_attr(self, study_id: int, key: str, value: Any) -> None:
        """Do as the storage."""
        self._storage.set_study_system_attr(study_id, key, value)

    def get_study_id_from_name(self, study_name: str) -> int:
        """Do as the storage."""
        return self._storage.get_study_id_from_name(study_name)

    def get_study_name_from_id(self, study_id: int) -> str:
        """Do as the storage."""
        return self._storage.get_study_name_from_id(study_id)

    def get_study_directions(self, study_id: int) -> list[StudyDirection]:
        """Do as the storage."""
        return self._storage.get_study_directions(study_id)

    def get_study_user_attrs(self, study_id: int) -> dict[str, Any]:
        """Do as the storage."""
        return self._storage.get_study_user_attrs(study_id)

    def get_study_system_attrs(self, study_id: int) -> dict[str, Any]:
        """Do as the storage."""
        return self._storage.get_study_system_attrs(study_id)

    def get_all_studies(self) -> list[FrozenStudy]:
        """Do as the storage."""
        return self._storage.get_all_studies()


def _kept(trial: FrozenTrial) -> dict[str, Any]:
    """Return attributes of samplers, without constraints, which are noted anew."""
    noted = trial.constraints
    return {k: v for k, v in trial.system_attrs.items() if k.partition(":")[2] not in noted}
