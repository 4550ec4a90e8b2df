"""Several processes on one study, and processes that are killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from multiprocessing.context import SpawnProcess
from multiprocessing.synchronize import Barrier
from pathlib import Path
from time import monotonic, sleep
from warnings import catch_warnings, simplefilter

import pytest
from optuna.storages import RDBStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from spmopt.hardware.machines import load_machine
from spmopt.search.claiming import put_back, recover
from spmopt.search.setup import Setup
from spmopt.search.space import space_of
from spmopt.search.storage import PROCESS, open_storage
from spmopt.search.study import begin, counts, distributions, look_up
from spmopt.search.trials import tally, trial_records
from spmopt.sweeps.cases import Network
from tests.search.study import search, small_setup, small_space
from tests.solving.fakes import bounds_only, install

SPAWN = multiprocessing.get_context("spawn")
WAIT_S = 90.0


def slow_setup(machines: int = 4) -> Setup:
    """Trials of a second or so."""
    sizes = f"2MB:{2 * machines}MB:2MB"
    space = space_of({"space": {"spm": sizes}}, "s", machine=load_machine("rtx2080ti"))
    network = Network(name="mobilenetv2", training=True, batch=2)
    return Setup(networks=(network,), space=space, objectives=("time_s", "spm_mb"))


def until(true: Callable[[], bool]) -> None:
    """Wait; fail if it takes too long."""
    end = monotonic() + WAIT_S
    while not true():
        assert monotonic() < end
        sleep(0.1)


def opened(url: str) -> Study:
    """The study of another process, once it is there; to look at it again costs little then."""
    until(lambda: Path(url).is_file() and has_study(url))
    return study_of(url)


def share(url: str, trials: int, barrier: Barrier) -> None:
    """Take part in a study, from the moment that all do."""
    barrier.wait()
    search(url, small_setup(), sampler="random", seed=os.getpid(), trials=trials, prune=False)


def run_slowly(url: str, workers: int, machines: int = 4) -> None:
    setup = slow_setup(machines)
    search(url, setup, sampler="brute-force", trials=machines, prune=False, workers=workers)


def started(target: Callable[..., None], *arguments: object) -> SpawnProcess:
    process = SPAWN.Process(target=target, args=arguments)
    process.start()
    return process


def interrupt(process: SpawnProcess) -> None:
    """Press Ctrl-C; again if nothing comes of it, as where Python is in a callback at the time."""
    assert process.pid is not None
    while process.is_alive():
        os.kill(process.pid, signal.SIGINT)
        process.join(10.0)


def running(study: Study) -> list[FrozenTrial]:
    """Trials under way in other processes that have said who they are."""
    found = study.get_trials(states=(TrialState.RUNNING,))
    return [trial for trial in found if PROCESS in trial.user_attrs]


@pytest.mark.parametrize("kind", ["sqlite", "journal"])
def test_two_processes_share_the_trials(tmp_path: Path, kind: str) -> None:
    url = str(tmp_path / "s.db") if kind == "sqlite" else f"journal:{tmp_path / 's.log'}"
    begin(open_storage(url), "s", small_setup())
    barrier = SPAWN.Barrier(2)
    processes = [started(share, url, 8, barrier) for _ in range(2)]
    for process in processes:
        process.join(WAIT_S)
        assert process.exitcode == 0
    study, _ = look_up(open_storage(url), "s")
    done = [trial for trial in study.get_trials() if counts(trial)]
    assert [trial.state for trial in done] == [TrialState.COMPLETE] * 8
    assert len({trial.user_attrs[PROCESS] for trial in done}) == 2


@pytest.mark.parametrize("workers", [0, 1])
def test_a_killed_process_loses_only_what_it_had_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    url = str(tmp_path / "s.db")
    process = started(run_slowly, url, workers)
    seen = opened(url)
    until(lambda: any(trial.number > workers for trial in running(seen)))
    process.kill()
    process.join(WAIT_S)
    lost = running(study_of(url))  # beside one that is scheduled one may wait
    assert 1 <= len(lost) <= 1 + workers
    before = {t.number: t.values for t in study_of(url).get_trials() if t.state.is_finished()}
    assert before
    install(monkeypatch, residency=bounds_only, fluid=bounds_only)  # the rest need not be slow
    study = search(url, slow_setup(), sampler="brute-force", trials=4, prune=False)
    trials = study.get_trials()
    assert all(trials[each.number].state is TrialState.FAIL for each in lost)
    done = [trial for trial in trials if trial.state is TrialState.COMPLETE]
    assert sorted(trial.params["spm"] for trial in done) == [k * 2_000_000 for k in (1, 2, 3, 4)]
    assert {number: trials[number].values for number in before} == before
    for each in lost:
        assert sum(trial.params == each.params for trial in done) == 1


def test_a_killed_worker_is_replaced(tmp_path: Path) -> None:
    url = str(tmp_path / "s.db")
    process = started(run_slowly, url, 2, 3)
    seen = opened(url)
    until(lambda: len(running(seen)) > 1)
    until(lambda: len(children(process.pid)) > 1)
    sleep(1)
    os.kill(max(children(process.pid)), signal.SIGKILL)
    process.join(WAIT_S)
    assert process.exitcode == 0
    states = [trial.state for trial in study_of(url).get_trials()]
    assert states == [TrialState.COMPLETE] * 3


def children(parent: int | None) -> list[int]:
    """Processes that evaluate; the first one looks after shared resources."""
    tasks = Path(f"/proc/{parent}/task/{parent}/children")
    found = [int(number) for number in tasks.read_text().split()]
    return [
        number for number in found if b"spawn_main" in Path(f"/proc/{number}/cmdline").read_bytes()
    ]


def has_study(url: str) -> bool:
    try:
        return bool(look_up(open_storage(url), "s"))
    except Exception:  # it is being made
        return False


def study_of(url: str) -> Study:
    return look_up(open_storage(url), "s")[0]


def test_a_trial_without_heartbeat_is_put_back(tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path / "s.db"), beat_s=1, grace_s=1)
    assert isinstance(storage, RDBStorage)
    study = begin(storage, "s", small_setup())
    number = study.ask().number
    study_id = storage.get_study_id_from_name("s")
    storage.record_heartbeat(storage.get_trial_id_from_study_id_trial_number(study_id, number))
    recover(study, storage)
    assert study.get_trials()[number].state is TrialState.RUNNING
    sleep(2.5)
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
    put_back(study, asked.number)
    study = search(url, setup, trials=3)
    first, *_, last = study.get_trials()[2:]
    assert (first.state, last.params) == (TrialState.FAIL, first.params)
    assert last.state.is_finished()
    assert last.user_attrs[PROCESS] != "elsewhere:1"


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_an_interrupt_puts_back_what_is_under_way(tmp_path: Path, workers: int) -> None:
    url = str(tmp_path / "s.db")
    process = started(run_slowly, url, workers, 40)
    seen = opened(url)
    until(lambda: bool(running(seen)))
    interrupt(process)
    states = [trial.state for trial in study_of(url).get_trials()]
    assert TrialState.RUNNING not in states
    assert states.count(TrialState.FAIL) > 0


def test_constraints_of_what_is_put_back_are_noted_anew(tmp_path: Path) -> None:
    """Optuna keeps those of the failed trial, and warns where they are set again."""
    url = str(tmp_path / "t.db")
    setup = small_setup(small_space(constraints=["spm_mb <= 1", "time_s <= 1"]))
    study = search(url, setup, trials=1)
    asked = study.ask(distributions(setup.space))
    asked.set_constraint("spm_mb <= 1", -0.5)
    asked.set_user_attr(PROCESS, "gone")
    put_back(study, asked.number)
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
