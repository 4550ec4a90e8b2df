"""Trials that were begun and lost, at whatever moment: no machine is missing, none is run twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from optuna.study import Study
from optuna.trial import TrialState

from spmopt.core.errors import InputError
from spmopt.core.processes import machine, own_name
from spmopt.search import claiming
from spmopt.search.claiming import Beginner, restart
from spmopt.search.samplers import NAMES, Seeded
from spmopt.search.storage import PROCESS, in_memory, open_storage, using
from spmopt.search.study import SETUP, begin, counts, distributions, remember
from tests.full_disk import full_disk
from tests.search.study import journal, search, small_setup
from tests.thorough import some

GONE = f"{machine()}:999999999"
ALL = 9


pytestmark = pytest.mark.usefixtures("quick")


def begun(study: Study, storage: Any, sampler: str = "random") -> Beginner:
    setup = small_setup()
    study.sampler = Seeded(sampler, 0, setup.space)
    return Beginner(study, setup.space, storage)


def done(study: Study) -> list[dict[str, Any]]:
    return [trial.params for trial in study.get_trials() if counts(trial)]


def lose(study: Study, number: int) -> None:
    """Let the process of a trial be gone."""
    trial_id = study.get_trials()[number]._trial_id
    study._storage.set_trial_user_attr(trial_id, PROCESS, GONE)


@pytest.mark.parametrize("kind", ["memory", "sqlite", "journal"])
def test_a_trial_has_its_point_and_owner_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    where = {"sqlite": str(tmp_path / "s.db"), "journal": journal(tmp_path, "s")}
    storage = in_memory() if kind == "memory" else open_storage(where[kind])
    study = begin(storage, "s", small_setup())
    beginner = begun(study, storage)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(claiming, "Trial", killed)
    with pytest.raises(KeyboardInterrupt):
        beginner.begin()
    (trial,) = study.get_trials()
    assert trial.state is TrialState.RUNNING
    assert trial.user_attrs == {PROCESS: own_name()}
    assert trial.params.keys() == distributions(small_setup().space).keys()


@pytest.mark.parametrize("sampler", some(["tpe", "brute-force", "nsga2", "random", "grid"]))
def test_what_was_lost_changes_nothing(tmp_path: Path, sampler: str) -> None:
    """Neither which machines are proposed nor their order depends on it."""
    assert sampler in NAMES
    whole = search(journal(tmp_path, "whole"), small_setup(), sampler=sampler, prune=False)
    url = journal(tmp_path, "lost")
    for trials in (2, 5):
        study = search(url, small_setup(), sampler=sampler, prune=False, trials=trials)
        beginner = begun(study, open_storage(url), sampler)
        for _ in range(2):
            lose(study, beginner.begin().number)
    study = search(url, small_setup(), sampler=sampler, prune=False, trials=30)
    assert done(study) == done(whole)
    assert len(done(study)) == ALL
    states = [trial.state for trial in study.get_trials()]
    assert (states.count(TrialState.COMPLETE), states.count(TrialState.FAIL)) == (ALL, 4)


def test_a_point_that_another_process_has_just_begun_is_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = journal(tmp_path, "s")
    storage = open_storage(url)
    study = begin(storage, "s", small_setup())
    mine, other = (begun(study, storage) for _ in range(2))
    inner = mine._begin
    raced = list[int]()

    def late(start: Any) -> Any:
        if not raced:
            raced.append(other.begin().number)
        return inner(start)

    # Both have drawn the same point from the same trials.
    drafted = mine._drafts.create_new_trial
    monkeypatch.setattr(mine, "_begin", late)
    monkeypatch.setattr(mine._drafts, "create_new_trial", drafted)
    study.sampler = Seeded("random", 0, small_setup().space)
    found = mine.begin()
    points = [trial.params for trial in study.get_trials() if counts(trial)]
    assert len(points) == 2
    assert points[0] != points[1]
    assert found.number not in raced


def test_a_trial_that_another_process_has_failed_is_dropped(tmp_path: Path) -> None:
    study = search(journal(tmp_path, "s"), small_setup(), trials=1)
    beginner = begun(study, open_storage(journal(tmp_path, "s")))
    trial = beginner.begin()
    restart(study, trial.number)
    restart(study, trial.number)
    assert study.get_trials()[trial.number].state is TrialState.FAIL


def test_a_study_that_was_cut_off_as_it_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage, setup = open_storage(journal(tmp_path, "s")), small_setup()

    def killed(study: Study, names: list[str]) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Study, "set_metric_names", killed)
        with pytest.raises(KeyboardInterrupt):
            begin(storage, "s", setup)
    study = begin(storage, "s", setup)
    assert study.user_attrs[SETUP]
    remember(study, setup)


@pytest.mark.parametrize("kind", some(["journal", "sqlite"]))
def test_a_full_disk_ends_a_search_in_one_line(tmp_path: Path, kind: str) -> None:
    url = str(tmp_path / "s.db") if kind == "sqlite" else journal(tmp_path, "s")
    search(url, small_setup(), trials=1, prune=False)
    path = tmp_path / ("s.db" if kind == "sqlite" else "s.log")
    sizes = [each.stat().st_size for each in tmp_path.glob(f"{path.name}*")]
    with full_disk(max(sizes) + 1000), pytest.raises(InputError) as raised, using(url):
        search(url, small_setup(), trials=30, prune=False)
    assert "--storage" in str(raised.value)
    study = search(url, small_setup(), trials=30, prune=False)
    assert len({json.dumps(each, sort_keys=True) for each in done(study)}) == ALL
    assert len(done(study)) == ALL
