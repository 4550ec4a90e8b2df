"""A storage with one trial more than it has: a draft, which is sampled before anybody else sees it.

Optuna stores a trial first, then each of its values. A process killed in between leaves a trial
without an owner, or a point of half its values, at which samplers that list all points fail.
"""

from __future__ import annotations

from collections.abc import Container
from copy import copy, deepcopy
from datetime import datetime
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

from spmopt.search.study import counts

_ID = -1
"""Of the draft; storages count from 0 or 1."""


class Drafts:
    """A storage as it is, but for a draft, and for trials that came to nothing.

    Failed trials are left out and the others numbered anew, so that proposals of samplers do not
    depend on how often a search was killed.

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

    def __getattr__(self, name: str) -> Any:
        """Do all else as the storage; methods that Optuna builds on those here, as it does."""
        # A concrete method of the base class must call the overrides here, not those of the
        # storage.
        built = getattr(BaseStorage, name, None)
        if built is None or getattr(built, "__isabstractmethod__", False):
            return getattr(self._storage, name)
        return built.__get__(self)

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
            system_attrs={} if start is None else _keep(start),
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
            # Copy before renumbering: storages hand out trials of their cache.
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


def _keep(trial: FrozenTrial) -> dict[str, Any]:
    """Return attributes of samplers, without constraints, which are noted anew."""
    noted = trial.constraints
    return {k: v for k, v in trial.system_attrs.items() if k.partition(":")[2] not in noted}
