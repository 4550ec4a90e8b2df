"""In what one study differs from another, in words."""

import json
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from spmopt.search.setup import Setup
from spmopt.search.space import space_of
from spmopt.search.study import differences
from spmopt.sweeps.cases import Network


def of(batch: int | None = None, names: tuple[str, ...] = ("alexnet",), **tables: Any) -> Setup:
    fields = tables.pop("space", {"spm": ["8MiB", "24MB"]})
    networks = tuple(Network(name=name, batch=batch) for name in names)
    space = space_of({"space": fields, **tables}, "space")
    return Setup(networks=networks, space=space, objectives=("time_s",))


def between(old: Setup, new: Setup) -> list[str]:
    was, now = (json.loads(json.dumps(each.record())) for each in (old, new))
    return differences(was, now)


def test_what_differs_is_named_with_both_values() -> None:
    assert between(of(64), of(64)) == []
    assert between(of(64), of(4)) == ["networks.1.batch 4, was 64"]
    assert between(of(), of(4)) == ["networks.1.batch 4, was not given"]
    assert between(of(), of(names=("vgg16",))) == ["networks.1.name vgg16, was alexnet"]
    fields = {"spm": {"low": "8MiB", "high": "32MiB", "step": "8MiB"}, "bandwidth": "616GB/s"}
    assert between(of(), of(space=fields)) == [
        "spm low 8 MiB, high 32 MiB, step 8 MiB, was 8 MiB and 24 MB",
        "bandwidth 616 GB/s, was not given",
    ]
    assert between(of(), of(machine="a100"))[0] == "machine.name a100, was rtx2080ti"
    assert between(of(), of(constraints=["spm_mb <= 50"], cost={"gbps": 2})) == [
        "constraints spm_mb <= 50, was not given",
        "cost.gbps 2, was not given",
    ]
    other = replace(of(), scheduler="lru", tolerance=0.5, time_limit_s=1.0, schedule_for="traffic")
    assert between(of(), other) == [
        "scheduler lru, was residency",
        "schedule_for traffic, was time",
        "tolerance 0.5, was 0.001",
        "and 1 more",
    ]


@given(st.integers(2**22, 2**32), st.integers(2**22, 2**32))
def test_no_difference_is_rounded_away(one: int, other: int) -> None:
    found = between(
        of(space={"spm": one, "cores": [1, 2]}), of(space={"spm": other, "cores": [1, 2]})
    )
    assert len(found) == (one != other)
    for text in found:
        now, was = text.removeprefix("spm ").split(", was ")
        assert now != was
