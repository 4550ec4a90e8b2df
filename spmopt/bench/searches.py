"""Measure of a sampled search over capacities and bandwidths, held against the exact front."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from spmopt.bench.clock import timed
from spmopt.bench.fronts import Space
from spmopt.bench.suite import Case, Figures
from spmopt.core.errors import ScheduleError
from spmopt.core.machine import AREA_FIGURES
from spmopt.core.scheduler import Request
from spmopt.frontends import zoo
from spmopt.graph.training import training_graph
from spmopt.hardware.machines import load_machine
from spmopt.search.findings.shown import Tally, front, tally
from spmopt.search.front.find import by_page, find_front
from spmopt.search.front.records import Front
from spmopt.search.space.setup import Setup
from spmopt.search.space.space import space_of
from spmopt.search.study.record import AS_BEFORE, NETWORKS
from spmopt.search.study.schedules import Schedules, folder_for
from spmopt.search.study.storage import open_storage
from spmopt.search.study.studies import begin
from spmopt.search.tuning.effort import Effort
from spmopt.search.tuning.tune import tune
from spmopt.sweep.cases import Network

Floats = NDArray[np.float64]


def search(
    case: Case,
    *,
    steps: int,
    bandwidth: str,
    technology: str,
    mm2_per_gbps: float,
    tolerance: float,
    limit_s: float,
    sampler: str,
    trials: int,
    seed: int,
    workers: int,
    exact: bool,
) -> Figures:
    """Search a :class:`spmopt.bench.fronts.Space` by a sampler of Optuna, as ``spmopt tune`` does.

    Trials are in a SQLite file, schedules in files beside it. ``outside`` is the share of the
    seconds in which the one worker, or with none this process, is neither in schedulers nor in
    the verifier; None with several. With ``exact`` the front is found besides, outside of these
    seconds, and ``volume_gap`` is the share that is missing of the area that it dominates. The
    reference point is the time of the cheapest machine, found by :func:`find_front`, and the
    cost of the dearest. The area of the front is taken from bounds, so that the true share is
    no more.
    """
    space = Space(
        steps=steps, bandwidth=bandwidth, technology=technology, mm2_per_gbps=mm2_per_gbps
    )
    setup = setup_of(case, space, tolerance=tolerance, limit_s=limit_s)
    effort = Effort(trials=trials, sampler=sampler, seed=seed, workers=workers)
    with TemporaryDirectory() as folder:
        found = _searched(setup, effort, Path(folder))
    known = _front(case, space, tolerance=tolerance, limit_s=limit_s) if exact else None
    return {
        "trials": trials,
        "solved": found.tally.solved,
        "as_before": found.tally.as_before,
        "pruned": found.tally.excluded,
        "wall_s": found.wall_s,
        "cpu_s": found.cpu_s,
        "rate": trials / found.wall_s,
        "outside": 1 - found.checked_s / found.wall_s if workers <= 1 else None,
        "front": None if known is None else len(known.members),
        "volume_gap": None if known is None else _gap(found.points, known),
    }


def setup_of(case: Case, space: Space, *, tolerance: float, limit_s: float) -> Setup:
    """The study of the machines of ``space``, objectives time and cost."""
    largest = load_machine(case.machine, {"spm": case.spm}).spm_bytes
    tables = {
        "machine": case.machine,
        "space": {
            "spm": space.capacities(largest),
            "bandwidth": space.rates,
            "technology": space.technology,
            **{f"area.{name}": 0.0 for name in AREA_FIGURES},  # the scratchpad's is left
        },
        "cost": {"area_mm2": 1.0, "gbps": space.mm2_per_gbps},
    }
    others = {name: value for name, value in case.parameters.items() if name != "batch"}
    network = Network(
        name=case.network,
        training=True,
        batch=case.parameters.get("batch"),
        parameters=tuple(others.items()),
        lowering=case.lowering,
    )
    return Setup(
        networks=(network,),
        space=space_of(tables, "space"),
        objectives=("time_s", "cost"),
        tolerance=tolerance,
        time_limit_s=limit_s,
    )


def dominated_area(points: Floats, worst: Floats) -> float:
    """Area between ``points`` (n, 2), both coordinates minimised, and the point ``worst`` (2,).

    In two dimensions that is the hypervolume: the sum, over the points by their first
    coordinate, of the width up to the next one times the height of the lowest so far.
    """
    inside = points[(points < worst).all(axis=1)]
    first, second = inside[np.argsort(inside[:, 0])].T
    heights = worst[1] - np.minimum.accumulate(second)
    return float(np.diff(first, append=worst[0]) @ heights)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Found:
    """What a search came to.

    Attributes
    ----------
    points : (n, 2)
        Time and cost of the trials that no other is better than.
    checked_s
        Wall seconds in schedulers and the verifier.
    """

    tally: Tally
    points: Floats
    wall_s: float
    cpu_s: float
    checked_s: float


def _searched(setup: Setup, effort: Effort, folder: Path) -> _Found:
    url, name = str(folder / "study.db"), "bench"
    kept = folder_for(url, name, None)
    storage = open_storage(url)
    study = begin(storage, name, setup, kept)
    _, taken = timed(
        lambda: tune(
            study,
            setup,
            effort,
            storage=storage,
            schedules=Schedules(kept),
            tell=lambda message, part: None,
        )
    )
    attributes = [trial.user_attrs for trial in study.get_trials(deepcopy=False)]
    own = [each[NETWORKS] for each in attributes if NETWORKS in each and AS_BEFORE not in each]
    points = [trial.values for trial in front(study)]
    return _Found(
        tally=tally(study),
        points=np.array(points, np.float64).reshape(-1, 2),
        wall_s=taken.wall_s,
        cpu_s=taken.cpu_s,
        checked_s=sum(one["seconds_checked"] for networks in own for one in networks.values()),
    )


def _front(case: Case, space: Space, *, tolerance: float, limit_s: float) -> Front:
    request = Request(tolerance=tolerance, time_limit_s=limit_s)
    graph = training_graph(zoo.network(case.network, **case.parameters))
    found = find_front(space.options(case, graph), by_page(request), request=request)
    if found.open:
        raise ScheduleError(f"no schedule within {limit_s:g} s")
    return found


def _gap(points: Floats, found: Front) -> float:
    """Share that is missing of the area that the front dominates."""
    members = [*found.members, *found.undecided]
    cost = np.array([found.options[index].cost for index in members])
    least = np.array([float(found.solved[index].least) for index in members])
    slowest = max(float(found.solved[index].time) for index in members)
    dearest = max(option.cost for option in found.options)
    worst = np.array([slowest, dearest])
    return 1 - dominated_area(points, worst) / dominated_area(np.stack([least, cost], 1), worst)
