"""Hardware search: machines of a space, scheduled, verified and bounded; what was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from optuna.storages import BaseStorage
from optuna.study import Study

from spmopt.api.drawn import Drawn
from spmopt.api.shown import Shown
from spmopt.api.solved import Solved
from spmopt.cli.tuning.options import Tuned, effort_of, setup_of
from spmopt.core.errors import InputError
from spmopt.report.tables import Part
from spmopt.search.findings.found import found_of
from spmopt.search.findings.front import front_of
from spmopt.search.findings.parts import study_parts
from spmopt.search.findings.records import rows
from spmopt.search.findings.replay import network_named, result_for, trial_numbered
from spmopt.search.findings.shown import front, require_feasible
from spmopt.search.space.setup import Setup
from spmopt.search.study.schedules import Schedules, folder_for
from spmopt.search.study.storage import in_memory, open_storage
from spmopt.search.study.studies import begin
from spmopt.search.tuning.tune import tune as run


@dataclass(frozen=True, eq=False, repr=False)
class Searched(Shown):
    """A study of machines.

    ``study`` is Optuna's own, ``setup`` what it is about.
    """

    study: Study
    setup: Setup
    schedules: Schedules

    @property
    def front(self) -> list[int]:
        """Numbers of the trials that no other is better than, best first by the first objective."""
        return [trial.number for trial in front(self.study)]

    @property
    def rows(self) -> list[dict[str, object]]:
        """The front as rows: fields, objectives, figures; what ``tune show -o`` writes."""
        return rows(found_of(self.study, self.setup), self.setup)

    def parts(self) -> Iterator[Part]:
        """As ``spmopt tune show`` prints it."""
        yield from study_parts(self.study, self.setup, found_of(self.study, self.setup))

    def draw(self, x: str | None = None, y: str | None = None) -> Drawn:
        """The front among all trials, by two figures; by default the first two objectives."""
        found = front_of(self.study, self.setup, found_of(self.study, self.setup))

        def write(path: Path) -> None:
            # Only a picture needs matplotlib.
            from spmopt.report.plots.fronts import save_front

            save_front(found, path, x, y)

        return Drawn(f"front of {found.name}, {found.subject}", write)

    def solved(self, trial: int, network: str | None = None) -> Solved:
        """The verified schedule of a trial, made again where it was not kept.

        Raises
        ------
        InputError
            No such trial or network, or the search gives bounds in place of schedules.
        """
        if self.setup.bound_only:
            raise InputError(f"scheduler {self.setup.scheduler} gives bounds, no schedules")
        found = trial_numbered(self.study, trial)
        which = network_named(self.setup, network)
        return Solved(result_for(self.setup, found, which, self.schedules))


def tune(
    networks: str | Sequence[str],
    space: str | Path,
    *,
    objectives: Sequence[str] = ("time", "area"),
    trials: int = 100,
    sampler: str = "tpe",
    seed: int = 0,
    training: bool = False,
    batch: int | None = None,
    scheduler: str = "page",
    time_limit: float = 60.0,
    tolerance: float = 1e-3,
    workers: int = 0,
    storage: str | Path | None = None,
    study: str | None = None,
) -> Searched:
    """Search machines for networks: schedules of each, verified, with certified bounds.

    Parameters
    ----------
    networks
        Names, ONNX files, or instances as JSON.
    space
        TOML file: machine, fields, constraints, costs, weights.
    objectives
        Figures, all minimised: time, energy, traffic, power, edp, edap, area, cost.
    trials
        Of the study in all.
    sampler, seed
        Who proposes machines, as ``tpe``, ``nsga2``, ``grid``, ``brute-force``.
    training, batch
        Of the networks.
    scheduler
        A name of ``spmopt schedulers``, ``best-policy`` or ``bound``.
    time_limit, tolerance
        Of each schedule: seconds, gap.
    workers
        Processes that schedule beside this one; 0: all in this one.
    storage, study
        SQLite file, database or ``journal:FILE``, and the study's name in it, which is gone on
        with; None: in memory, gone with this process.

    Raises
    ------
    InputError
        A network, space or option that cannot be used, or no machine of the space can be built.
    """
    tuned = Tuned(
        networks=[networks] if isinstance(networks, str) else list(networks),
        training=training,
        batch=batch,
        space=Path(space),
        objective=",".join(objectives),
        scheduler=scheduler,
        tolerance=tolerance,
        time_limit=time_limit,
        trials=trials,
        sampler=sampler,
        seed=seed,
        workers=workers,
    )
    setup = setup_of(tuned)
    effort = effort_of(tuned, setup)
    name = study or tuned.space.stem
    kept, folder = _storage(storage, name)
    begun = begin(kept, name, setup, folder)
    schedules = Schedules(folder)
    run(begun, setup, effort, storage=kept, schedules=schedules, tell=lambda message, part: None)
    require_feasible(begun, setup)
    return Searched(begun, setup, schedules)


def _storage(storage: str | Path | None, study: str) -> tuple[BaseStorage, Path | None]:
    if storage is None:
        return in_memory(), None
    return open_storage(str(storage)), folder_for(str(storage), study, None)
