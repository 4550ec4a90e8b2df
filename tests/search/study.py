"""A small study: a perceptron of nine operations on machines of a few hundred bytes.

Of more pages than are enumerated, which would take a second.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import TrialState

from spmopt.io.files import read_problem
from spmopt.search import storage as storages
from spmopt.search.setup import Setup
from spmopt.search.space import Space, space_of
from spmopt.search.storage import open_storage
from spmopt.search.study import Schedules, begin, folder_for
from spmopt.search.tune import Effort, tune
from spmopt.sweeps.cases import Network

MLP = Path(__file__).parents[2] / "instances" / "mlp.json"
FIELDS = {"spm": "256B:1024B:384B", "bandwidth": "250MB/s:1750MB/s:750MB/s", "page": "8B"}
SPACE = """
cost = { spm_mb = 1000.0, gbps = 0.01 }
[space]
spm = "256B:1024B:384B"
bandwidth = { low = "250MB/s", high = "1750MB/s", step = "750MB/s" }
page = "8B"
"""
"""The same nine machines as a file."""
COST = {"spm_mb": 1000.0, "gbps": 0.01}


def small_space(**tables: Any) -> Space:
    """Nine machines; ``tables`` replace entries of the file."""
    given = {"space": FIELDS, "cost": COST, **tables}
    return space_of(given, "space", machine=read_problem(MLP).machine)


def small_setup(space: Space | None = None, **options: Any) -> Setup:
    """Time against a dual value, by the quickest scheduler."""
    found = {"objectives": ("time_s", "cost"), "scheduler": "belady", **options}
    return Setup(networks=(Network(name=str(MLP)),), space=space or small_space(), **found)


def journal(folder: Path, name: str) -> str:
    """A storage that opens in a fraction of a database's time, where either will do."""
    return f"journal:{folder / name}.log"


def replace_sqlite(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a SQLite file that is named without ``sqlite:///`` be a journal.

    A database costs a second of CPU time; what a command prints does not depend on it.
    """
    database = storages._database

    def open_file(url: str, beat_s: int, grace_s: int) -> BaseStorage:
        if "://" in url:
            return database(url, beat_s, grace_s)
        return storages._journal(Path(url))

    monkeypatch.setattr(storages, "_database", open_file)


def search(url: str, setup: Setup, *, name: str = "s", **effort: Any) -> Study:
    """Run a study in this process."""
    storage = open_storage(url)
    folder = folder_for(url, name, None)
    study = begin(storage, name, setup, folder)
    told = Effort(**{"trials": 9, "sampler": "random", **effort})
    tune(
        study,
        setup,
        told,
        storage=storage,
        schedules=Schedules(folder),
        report=lambda message, part: None,
    )
    return study


def machines(study: Study) -> list[dict[str, Any]]:
    """What was proposed, in order."""
    return [trial.params for trial in study.get_trials()]


def values(study: Study) -> list[list[float] | None]:
    """What came of it."""
    return [trial.values if trial.values else None for trial in study.get_trials()]


def states(study: Study) -> list[TrialState]:
    return [trial.state for trial in study.get_trials()]
