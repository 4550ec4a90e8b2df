"""Optimizers of steps under the replay: valued by it, never worse than policies, without bounds."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

import spmopt
from spmopt.core.errors import InputError
from spmopt.core.instance import Instance
from spmopt.core.objective import MAKESPAN, REPLAY
from spmopt.core.result import Result, Status
from spmopt.core.scheduler import Incumbent, Request
from spmopt.schedulers.registry import find
from spmopt.solving import compare, solve
from spmopt.solving.barriers import BY_STEPS
from spmopt.verifier import verify
from tests.banked import banked
from tests.graph.networks import mlp
from tests.solving.fakes import exact
from tests.strategies import random_instance

ASKED = Request(objective=REPLAY, time_limit_s=10, threads=1)
OPTIMIZERS = ("page", "whole", "contiguous")


def instance_of(seed: int) -> Instance:
    return random_instance(seed, max_operations=7, max_tensors=5, setup=True)


def replay_of(instance: Instance, result: Result) -> int:
    assert result.schedule is not None
    report = verify(instance, result.schedule)
    assert report.legal
    assert report.replay is not None
    return report.replay.cycles


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_valued_by_the_replay_of_the_verifier(name: str) -> None:
    sooner = 0
    for seed in range(500, 516):
        instance = instance_of(seed)
        result = solve(instance, name, ASKED)
        assert exact(result) == replay_of(instance, result)
        assert result.totals is not None
        sooner += exact(result) < result.totals.makespan_cycles
        assert (result.bound, result.certificate, result.class_bound) == (None, None, None)
        assert result.status is Status.FEASIBLE  # nothing is proved about the replay
        assert BY_STEPS in result.notes
    assert sooner or name == "whole"


def test_schedule_is_that_of_the_steps_or_a_policy_that_replays_faster() -> None:
    kept = 0
    for seed in range(500, 516):
        instance = instance_of(seed)
        by_steps = solve(instance, "page", replace(ASKED, objective=MAKESPAN))
        *policies, page = compare(instance, [*find("page").starts, "page"], ASKED)
        in_order = [exact(each) for each in policies if each.order is None]
        assert exact(page) == min(replay_of(instance, by_steps), *in_order)
        kept += exact(page) == replay_of(instance, by_steps)
    assert kept


def test_weights_beside_time() -> None:
    mixed = replace(REPLAY, name="mixed", cycle=Fraction(2), dram_in_byte=Fraction(1, 3))
    instance = instance_of(505)
    result = solve(instance, "page", replace(ASKED, objective=mixed))
    assert result.totals is not None
    cycles, moved = replay_of(instance, result), result.totals.dram_in_bytes
    assert exact(result) == 2 * cycles + Fraction(moved, 3)
    assert cycles < result.totals.makespan_cycles


def test_banks() -> None:
    instance = banked(32, max_operations=8, max_tensors=6)
    result = solve(instance, "banks", ASKED)
    assert exact(result) == replay_of(instance, result)
    assert result.bound is None


def test_news_are_of_the_replay() -> None:
    news: list[Incumbent] = []
    result = solve(instance_of(505), "page", replace(ASKED, on_incumbent=news.append))
    values = [each.value for each in news if each.value is not None]
    assert values == [result.value]
    assert all(each.bound is None for each in news)


def test_fluid_has_nothing_to_say() -> None:
    with pytest.raises(InputError, match="scheduler fluid: no objective replay; use time"):
        solve(instance_of(500), "fluid", ASKED)
    with pytest.raises(InputError, match="no objective replay, for the program has barriers"):
        spmopt.export(instance_of(500), objective="replay")


@pytest.mark.parametrize("names", [["pieces"], ["page", "pieces"]])
def test_pieces_claim_no_bound_and_are_no_worse_than_the_list(names: list[str]) -> None:
    machine = spmopt.machine("rtx2080ti", spm="256B", page="16B", bandwidth="10GB/s")
    instance = spmopt.lower(mlp(), machine)
    assert isinstance(instance, Instance)
    *_, result = compare(instance, names, replace(ASKED, time_limit_s=4))
    assert result.pieces is not None
    assert exact(result) == replay_of(result.pieces.instance, result)
    assert (result.bound, result.cover_bound, result.pieces.certificate) == (None, None, None)
    (listed,) = result.beside
    assert exact(result) <= exact(listed) == replay_of(instance, listed)
    assert result.status is listed.status is Status.FEASIBLE
