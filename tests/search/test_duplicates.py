"""Machines that schedules cannot tell apart get the same schedule, verified on each."""

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spmopt.hardware.machines import load_machine
from spmopt.hardware.settings import Setting
from spmopt.search.candidate import Candidate
from spmopt.search.evaluation import carried, evaluate, packed, problem_of, result_of, unpacked
from spmopt.search.pruning import SolvedMachines
from spmopt.search.space import Space
from spmopt.search.study import NETWORKS, Schedules, schedules_of
from spmopt.search.trials import candidate_of, record_of
from spmopt.verifier import require_legal
from tests.search.study import FIELDS, search, small_setup, small_space

CHIP: dict[str, Setting] = {"spm": "3MB"}


def candidate(**settings: Setting) -> Candidate:
    return Candidate.of(load_machine("gtx1080ti"), {**CHIP, **settings})


def test_what_schedules_see() -> None:
    plain = problem_of(candidate(), "time")
    for name in ("nvsim-sram", "nvsim-stt", "deepnvm-sot"):
        assert problem_of(candidate(technology=name), "time") == plain
        assert problem_of(candidate(technology=name), "traffic") == plain
        assert problem_of(candidate(technology=name), "energy") != problem_of(candidate(), "energy")
    assert problem_of(candidate(**{"area.mac_mm2": 3.0}), "energy") == problem_of(
        candidate(), "energy"
    )
    for settings in ({"spm": "4MB"}, {"bandwidth": "9GB/s"}, {"cores": 2}, {"batch": 3}):
        assert problem_of(candidate(**settings), "time") != plain
    counted = candidate(technology="nvsim-stt", banks=64)
    assert problem_of(counted, "time") not in (
        plain,
        problem_of(candidate(technology="nvsim-sram", banks=64), "time"),
    )


def test_what_schedules_see_of_banks() -> None:
    def banks(text: str) -> Candidate:
        return Candidate.of(load_machine("gtx1080ti"), {"bank": text})

    one, other = banks("1MB:nvsim-sram,3MB:nvsim-stt"), banks("1MB:nvsim-stt,3MB:nvsim-sot")
    assert problem_of(one, "time") == problem_of(other, "time")
    assert problem_of(one, "energy") != problem_of(other, "energy")
    ported = banks("1MB:nvsim-sram:4,3MB:nvsim-stt")
    assert problem_of(ported, "time") != problem_of(one, "time")


def dear(**tables: Any) -> Space:
    """Three prices of a DRAM byte on three capacities."""
    fields = {"spm": FIELDS["spm"], "page": 16, "energy": {"dram_pj_per_byte": [1.0, 5.0, 25.0]}}
    return small_space(space=fields, **tables)


@pytest.mark.parametrize(("workers", "kept"), [(0, True), (2, True), (0, False)])
def test_twins_have_the_same_time(tmp_path: Path, workers: int, kept: bool) -> None:
    setup = small_setup(dear(), objectives=("time_s", "energy_j"), scheduler="page", tolerance=0.5)
    url = str(tmp_path / "t.db") if kept else "sqlite:///:memory:"
    study = search(url, setup, sampler="random", workers=workers, prune=False)
    by_size: dict[int, list[Any]] = {}
    for trial in study.get_trials():
        by_size.setdefault(trial.params["spm"], []).append(trial)
    assert sorted(map(len, by_size.values())) == [3, 3, 3]
    for trials in by_size.values():
        assert len({trial.values[0] for trial in trials}) == 1
        assert len({trial.values[1] for trial in trials}) == 3
        networks = [one for trial in trials for one in trial.user_attrs[NETWORKS].values()]
        assert sorted(one["seconds"] == 0 for one in networks) == [False, True, True]
        assert all(one["verified"] for one in networks)
        for trial, one in zip(trials, networks, strict=True):
            stored = schedules_of(study).read(one["file"]) if kept else None
            assert (stored is not None) == kept
            if stored is not None and stored.result.schedule is not None:
                assert stored.instance.machine == candidate_of(setup, record_of(trial)).machine
                require_legal(stored.instance, stored.result.schedule, stored.result.totals)


def test_a_study_taken_up_again_knows_twins(tmp_path: Path) -> None:
    setup = small_setup(dear(), objectives=("time_s", "energy_j"), scheduler="belady")
    url = str(tmp_path / "t.db")
    for trials in (3, 9):
        study = search(url, setup, sampler="random", trials=trials, prune=False)
    networks = [one for t in study.get_trials() for one in t.user_attrs[NETWORKS].values()]
    assert sum(one["seconds"] == 0 for one in networks) == 6


def test_bounds_alone_are_carried_too() -> None:
    space = dear()
    setup = small_setup(space, objectives=("time_s", "energy_j"), scheduler="bound")
    low, high = (
        space.candidate({"spm": 640, "energy.dram_pj_per_byte": price}) for price in (1.0, 25.0)
    )
    first = evaluate(setup, low, {}, True)
    known = {name: one.packed for name, one in first.networks.items()}
    again = evaluate(setup, high, {}, False, known)
    (one,), (other,) = first.networks.values(), again.networks.values()
    assert one.spent is not None
    assert other.spent is not None
    assert other.record["bound"] == one.record["bound"]
    assert other.spent.time_s == one.spent.time_s
    assert other.spent.energy_j > one.spent.energy_j


def test_what_is_of_another_problem_is_not_carried() -> None:
    setup = small_setup(scheduler="belady")
    space = small_space()
    small, large = (space.candidate({"spm": spm, "bandwidth": 250_000_000}) for spm in (256, 1024))
    network = setup.networks[0]
    result = packed(result_of(setup, large, network))
    instance = large.instance(network)
    same = carried(result, instance)
    assert same is not None
    assert same.result.value == result_of(setup, large, network).result.value
    assert carried(result, small.instance(network)) is None  # not legal there
    slow = replace(instance, machine=replace(instance.machine, clock_hz=7))
    assert carried(result, slow) is None  # another value
    first, *others = instance.operations
    other = replace(instance, operations=(replace(first, name="x"), *others))
    assert carried(result, other) is None
    for broken in (b"", result[:100], gzip.compress(b"{}")):
        assert carried(broken, instance) is None
        assert unpacked(broken, "x") is None


def test_only_some_spaces_have_twins() -> None:
    plain = small_setup()
    assert not SolvedMachines(plain, Schedules(None)).may_repeat
    assert SolvedMachines(small_setup(dear()), Schedules(None)).may_repeat
