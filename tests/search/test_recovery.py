"""Trials whose process is gone: they are put back, and run next."""

from __future__ import annotations

from pathlib import Path
from warnings import catch_warnings, simplefilter

from optuna.storages import RDBStorage
from optuna.trial import TrialState
from sqlalchemy import text

from spmopt.search.claiming import recover, restart
from spmopt.search.storage import PROCESS, open_storage
from spmopt.search.study import begin, distributions
from spmopt.search.trials import tally, trial_records
from tests.search.study import search, small_setup, small_space


def test_a_trial_without_heartbeat_is_put_back(tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path / "s.db"))
    assert isinstance(storage, RDBStorage)
    study = begin(storage, "s", small_setup())
    number = study.ask().number
    study_id = storage.get_study_id_from_name("s")
    storage.record_heartbeat(storage.get_trial_id_from_study_id_trial_number(study_id, number))
    recover(study, storage)
    assert study.get_trials()[number].state is TrialState.RUNNING
    with storage.engine.begin() as connection:
        connection.execute(text("UPDATE trial_heartbeats SET heartbeat = '2000-01-01 00:00:00'"))
    recover(study, storage)
    assert [trial.state for trial in study.get_trials()] == [TrialState.FAIL]


def test_what_is_put_back_is_run_next(tmp_path: Path) -> None:
    url, setup = str(tmp_path / "s.db"), small_setup()
    study = search(url, setup, trials=2)
    asked = study.ask()
    asked.suggest_int("spm", 256, 1024, step=384)
    asked.suggest_int("bandwidth", 250 * 10**6, 1750 * 10**6, step=750 * 10**6)
    asked.set_user_attr(PROCESS, "elsewhere:1")
    recover(study, open_storage(url))  # another machine's processes are not looked for
    restart(study, asked.number)
    study = search(url, setup, trials=3)
    first, *_, last = study.get_trials()[2:]
    assert (first.state, last.params) == (TrialState.FAIL, first.params)
    assert last.state.is_finished()
    assert last.user_attrs[PROCESS] != "elsewhere:1"


def test_constraints_of_what_is_put_back_are_noted_anew(tmp_path: Path) -> None:
    """Optuna keeps those of the failed trial, and warns where they are set again."""
    url = str(tmp_path / "t.db")
    setup = small_setup(small_space(constraints=["spm_mb <= 1", "time_s <= 1"]))
    study = search(url, setup, trials=1)
    asked = study.ask(distributions(setup.space))
    asked.set_constraint("spm_mb <= 1", -0.5)
    asked.set_user_attr(PROCESS, "gone")
    restart(study, asked.number)
    with catch_warnings():
        simplefilter("error")
        again = search(url, setup, trials=3)
    first = again.get_trials()[2]
    assert first.params == asked.params
    assert first.system_attrs["failed_trial"] == asked.number
    assert first.constraints.keys() == {"spm_mb <= 1", "time_s <= 1"}
    assert first.constraints["spm_mb <= 1"] != -0.5
    states = [trial.state for trial in trial_records(again)]
    counted = tally(trial_records(again))
    assert states.count("put_back") == counted["put_back"] == 1
    assert sum(counted.values()) == len(states) == 4


def test_a_sqlite_file_is_written_ahead(tmp_path: Path) -> None:
    """Else each of some twenty transactions of a trial waits for the disk, and for its readers."""
    storage = open_storage(str(tmp_path / "s.db"))
    assert isinstance(storage, RDBStorage)
    with storage.engine.connect() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
