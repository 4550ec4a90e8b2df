"""Searches by samplers of Optuna, compared with the exact front of time and cost."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from results.shared.bench import TINY, Bench, BenchLine, Case, Figures, timed
from results.shared.exact_front import ExactFront
from results.shared.machines import MachineGrid
from spmopt.core.scheduler import Request
from spmopt.search.setup import Setup
from spmopt.search.space import space_of
from spmopt.search.storage import open_storage
from spmopt.search.study import AS_BEFORE, NETWORKS, Schedules, begin, folder_for
from spmopt.search.trials import front, tally, trial_records
from spmopt.search.tune import Effort, tune
from spmopt.sweeps.cases import Network

Floats = NDArray[np.float64]
REQUEST = Request(tolerance=1e-3, time_limit_s=60.0)


def setup_of(grid: MachineGrid, request: Request) -> Setup:
    """Return what ``spmopt tune`` would search: the machines, by time and cost."""
    case = grid.case
    network = Network(
        name=case.network,
        training=True,
        batch=case.parameters.get("batch"),
        parameters=tuple((k, v) for k, v in case.parameters.items() if k != "batch"),
        mapper=case.mapper,
    )
    return Setup(
        networks=(network,),
        space=space_of(grid.tables(), "space"),
        objectives=("time_s", "cost"),
        tolerance=request.tolerance,
        time_limit_s=request.time_limit_s,
    )


def search(
    grid: MachineGrid,
    effort: Effort,
    *,
    exact: bool = False,
    request: Request = REQUEST,
    seed: int = 0,
) -> Figures:
    """Search; trials are in a SQLite file, schedules in files beside it.

    ``outside`` is the share of the seconds in which the one worker, or with none this process, is
    neither in schedulers nor in the verifier; None with several. With ``exact`` the front is found
    besides, outside of these seconds, and ``volume_gap`` is the share that is missing of the area
    that it dominates. The area of the front is taken from bounds, so that the true share is no
    more.
    """
    setup, effort = setup_of(grid, request), replace(effort, seed=seed)
    with TemporaryDirectory() as folder:
        url, name = str(Path(folder) / "study.db"), "bench"
        kept, storage = folder_for(url, name, None), open_storage(url)
        study, schedules = begin(storage, name, setup, kept), Schedules(kept)
        run = partial(tune, study, setup, effort, storage=storage, schedules=schedules)
        _, taken = timed(partial(run, report=lambda message, part: None))
        attributes = [trial.user_attrs for trial in study.get_trials(deepcopy=False)]
        points = np.array([trial.values for trial in front(study)], np.float64).reshape(-1, 2)
        counted = tally(trial_records(study))
    own = [each[NETWORKS] for each in attributes if NETWORKS in each and AS_BEFORE not in each]
    checked_s = sum(one["seconds_checked"] for networks in own for one in networks.values())
    known = grid.front(request) if exact else None
    return {
        "trials": effort.trials,
        "solved": counted["solved"],
        "as_before": counted["as_before"],
        "pruned": counted["excluded"],
        **taken,
        "rate": effort.trials / taken["wall_s"],
        "outside": 1 - checked_s / taken["wall_s"] if effort.workers <= 1 else None,
        "front": None if known is None else len(known.members),
        "volume_gap": None if known is None else missing(points, known),
    }


def missing(points: Floats, found: ExactFront) -> float:
    """Return the share that is missing of the area that the front dominates.

    The reference point is the time of the cheapest machine and the cost of the dearest.
    """
    members = [*found.members, *found.undecided]
    cost = np.array([found.options[index].cost for index in members])
    least = np.array([float(found.solved[index].least) for index in members])
    slowest = max(float(found.solved[index].time) for index in members)
    worst = np.array([slowest, max(option.cost for option in found.options)])
    return 1 - dominated_area(points, worst) / dominated_area(np.stack([least, cost], 1), worst)


def dominated_area(points: Floats, worst: Floats) -> float:
    """Return the area between ``points`` (n, 2), to be minimized, and the point ``worst`` (2,).

    In two dimensions that is the hypervolume: the sum, over the points by their first
    coordinate, of the width up to the next one times the height of the lowest so far.
    """
    inside = points[(points < worst).all(axis=1)]
    first, second = inside[np.argsort(inside[:, 0])].T
    heights = worst[1] - np.minimum.accumulate(second)
    return float(np.diff(first, append=worst[0]) @ heights)


GRID = MachineGrid(Case("resnet50", "160MB"), 20)
PARTS = {"": (200, 1), "none": (40, 0), "one": (40, 1), "two": (40, 2)}  # trials and workers
BENCH = Bench(
    file=__file__,
    lines=[
        BenchLine(
            ("resnet50", sampler),
            {
                label: partial(
                    search,
                    GRID,
                    Effort(trials=trials, sampler=sampler, workers=workers),
                    exact=not label,
                )
                for label, (trials, workers) in PARTS.items()
            },
            {"volume_gap": "≤ 0.01", "outside": "≤ 0.05"},
        )
        for sampler in ("tpe", "nsga2")
    ],
    seeded=True,
    quick=partial(
        search,
        MachineGrid(TINY, 2, "300GB/s"),
        Effort(trials=2, sampler="random"),
        exact=True,
        request=replace(REQUEST, tolerance=1e-2),
    ),
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
