"""Searches with the scheduler of tiles: what is excluded, is so by bounds over the fusion space."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from optuna.trial import TrialState

from spmopt.core.errors import InputError
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.fusion.tileable_graph import TileableGraph, whole
from spmopt.graph.build import GraphBuilder
from spmopt.graph.tileable import tileable
from spmopt.hardware.machines import load_machine
from spmopt.search.evaluation import LEAST, evaluate
from spmopt.search.figures import Spent
from spmopt.search.proofs import least_of_fusion_plans
from spmopt.search.setup import Setup
from spmopt.search.space import space_of
from spmopt.search.study import NETWORKS
from spmopt.search.trials import front
from spmopt.solving import solve
from spmopt.sweeps.cases import Network
from spmopt.sweeps.work import SolveOptions
from tests.search.study import MLP, journal, search
from tests.search.test_tune import check_proof, exact_front, figures_of
from tests.thorough import THOROUGH, nightly, some

ALEXNET = Network(name="alexnet", batch=2)
FIELDS: dict[str, Any] = {"spm": ["1MiB", "8MiB"], "bandwidth": ["100GB/s", "616GB/s"]}


def setup_of(networks: tuple[Network, ...] = (ALEXNET,), **fields: Any) -> Setup:
    given = {"space": FIELDS | fields, "cost": {"spm_mb": 1000.0, "gbps": 0.01}}
    return Setup(
        networks=networks,
        space=space_of(given, "space", machine=load_machine("rtx2080ti")),
        objectives=("time_s", "cost"),
        scheduler="fusion",
        tolerance=2e-2,
        time_limit_s=1.0,
    )


@nightly
def test_what_is_excluded_is_off_the_front_when_it_is_solved(tmp_path: Path) -> None:
    setup = setup_of()
    figures = figures_of(setup)
    wanted = exact_front(setup, figures)
    study = search(journal(tmp_path, "fusion"), setup, sampler="brute-force", trials=99, seed=1)
    found = sorted(tuple(trial.values) for trial in front(study))
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, sorted(wanted), strict=True):
        assert ours == pytest.approx(theirs, rel=2e-2)
    pruned = study.get_trials(states=(TrialState.PRUNED,))
    assert pruned
    for trial in pruned:
        check_proof(study, setup, trial, figures)
    for trial in study.get_trials(states=(TrialState.COMPLETE,)):
        record = trial.user_attrs[NETWORKS]["alexnet"]
        assert record[LEAST]["time_s"] <= record["time_s"]
        assert record["bound"] <= record["value"]


@pytest.mark.parametrize("objective", some(["energy", "time", "traffic"], 3))
def test_what_any_fusion_plan_takes_at_least_is_no_more_than_one_takes(objective: str) -> None:
    setup = setup_of()
    for point in islice(setup.space.points(), None if THOROUGH else 2):
        problem = setup.space.candidate(point).problem(ALEXNET)
        assert problem.listed is not None
        listed = problem.listed(problem.machine)
        assert isinstance(listed, TileableGraph)
        least = least_of_fusion_plans(problem, listed).spend(problem.machine)
        request = SolveOptions(objective=objective, time_limit_s=0.4).request(problem)
        totals = solve(problem, "fusion", request).totals
        assert totals is not None
        spent = Spent.of(problem.machine, totals)
        assert least.time_s <= spent.time_s
        assert least.energy_j <= spent.energy_j
        assert least.traffic_bytes <= spent.traffic_bytes


def test_what_stripes_take_counts_in_it() -> None:
    """Two stripes of this convolution read fewer bytes from the scratchpad than it does whole."""
    b = GraphBuilder("convolution")
    x, w = b.input("x", (1, 4, 8, 8)), b.weight("w", (4, 4, 3, 3))
    graph = b.finish([b.add("Conv", [x, w], name="y", pads=(1, 1, 1, 1))])
    machine = load_machine("rtx2080ti", {"spm": "2KB", "page": "16B"})
    found = tileable(graph, machine, mapper="tiled")
    read = dict[int, int]()
    for stripes in (1, 2, 4):
        problem, _ = found.problem((FusedGroup(begin=0, end=1, stripes=stripes),))
        read[stripes] = sum(each.mappings[0].spm_read_bytes for each in problem.operations)
    assert read[2] < read[1]
    least = least_of_fusion_plans(found.problem(whole(found))[0], found)
    assert least.spm_read_bytes == min(read.values())


def test_duals_of_a_fusion_plan_say_nothing_of_other_machines() -> None:
    setup = setup_of()
    answer = evaluate(setup, setup.space.candidate(next(iter(setup.space.points()))), {}, True)
    assert answer.networks["alexnet"].cut is None
    assert answer.networks["alexnet"].packed


def test_what_cannot_be_in_pieces_is_refused() -> None:
    with pytest.raises(InputError, match=r"the operations of .*mlp\.json are fixed"):
        setup_of((Network(name=str(MLP)),))
    with pytest.raises(InputError, match="cores: scheduler fusion does not divide"):
        setup_of(cores=[1, 2])
