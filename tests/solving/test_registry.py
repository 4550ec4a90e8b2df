from collections import Counter
from dataclasses import replace
from fractions import Fraction
from importlib.util import find_spec

import pytest

from spmopt.core.errors import InputError
from spmopt.core.objective import MAKESPAN, REPLAY
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.scheduler import Request
from spmopt.schedulers import registry
from spmopt.schedulers.registry import BOUNDER, SCHEDULERS, Kind, able, compare_with, find
from tests.strategies import random_problem


@pytest.mark.parametrize("name", SCHEDULERS)
def test_entries_are_complete_and_load(name: str) -> None:
    entry = SCHEDULERS[name]
    assert entry.name == name
    assert entry.summary
    assert entry.source
    assert "\n" not in entry.summary + entry.source
    for meanings in entry.options.values():
        assert len(meanings) > 1
        assert all(meaning and "\n" not in meaning for meaning in meanings.values())
    assert entry.granularity in ("tensor", "page", "contiguous", "fluid")
    assert find_spec(str(entry.target).split(":")[0]) is not None
    assert callable(entry.load())


def test_roles() -> None:
    kinds = Counter(entry.kind for entry in SCHEDULERS.values())
    assert (kinds[Kind.FORMULATION], kinds[Kind.RELAXATION]) == (6, 1)
    optimizers = [entry for entry in SCHEDULERS.values() if entry.kind is Kind.FORMULATION]
    for name, names in ((e.name, e.starts) for e in optimizers if not e.fusion_plans):
        starts = [find(name) for name in names]
        kinds_of_starts = {start.kind for start in starts}
        assert kinds_of_starts == {Kind.POLICY, *([Kind.FORMULATION] if name == "joint" else [])}
        if name in ("residency:granularity=tensor", "residency"):
            assert {start.granularity for start in starts} <= {"tensor", find(name).granularity}
    assert optimizers == [
        entry for entry in SCHEDULERS.values() if entry.starts or entry.fusion_plans
    ]
    assert SCHEDULERS[BOUNDER].kind is Kind.RELAXATION


def test_joint_starts_from_two_optimizers_and_every_policy_with_and_without_pages() -> None:
    policies = [entry for entry in SCHEDULERS.values() if entry.kind is Kind.POLICY]
    paged = {each.name for each in policies if "granularity" in each.options}
    assert paged == {"lru", "belady", "belady-size", "frequency"}
    starts = find("joint").starts
    assert starts[-2:] == ("residency", "contiguous")
    assert len(starts) == len(set(starts)) == len(policies) + len(paged) + 2
    assert {each.name for each in policies} <= set(starts)
    assert {f"{name}:granularity=page" for name in paged} <= set(starts)


def test_who_takes_an_objective() -> None:
    time, replay = MAKESPAN, REPLAY
    first = "residency:granularity=tensor, residency, fusion, contiguous"
    last = "or any policy, as belady"
    assert able(time) == f"{first}, lp-bound, {last}"
    assert able(time, bounders=False) == f"{first}, {last}"
    everyone = f"{first}, joint, lp-bound, {last}"
    assert able(replay) == everyone
    banks = frozenset({"banks"})
    assert able(time, features=banks) == "banks, lp-bound, or any policy, as belady"
    assert able(time, features=banks, bounders=False) == "banks, or any policy, as belady"
    assert able(replay, features=banks) == "banks, lp-bound, or any policy, as belady"


def test_features_that_a_scheduler_does_not_know() -> None:
    new = frozenset({"turbo"})
    find("belady").require_features(new)
    with pytest.raises(
        InputError, match="scheduler residency: knows no turbo; use any policy, as bel"
    ):
        find("residency").require_features(new)
    assert set(compare_with(frozenset())) == set(registry.COMPARED)
    assert all(find(name).kind is Kind.POLICY for name in compare_with(new))


def test_unknown_name() -> None:
    with pytest.raises(InputError, match=r"no scheduler called 'belday'; did you mean belady\?"):
        find("belday")
    with pytest.raises(InputError, match=r"choose one of .*belady, belady-size, .*lp-bound, "):
        find("x")


ENTRY = replace(
    SCHEDULERS["belady"],
    target="tests.solving.test_registry:echo",
    options={"granularity": {"tensor": "", "page": ""}, "order": {"listed": "", "depth-first": ""}},
)


def echo(problem: Problem, request: Request, **chosen: str) -> Result:
    """What the options were, as a note."""
    del problem, request
    return Result(
        residency_plan=None, notes=tuple(f"{key} {value}" for key, value in chosen.items())
    )


def test_options_name_the_scheduler_and_reach_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "SCHEDULERS", replace(SCHEDULERS, own={"belady": ENTRY}))
    plain, chosen = find("belady"), find("belady:order=depth-first:granularity=page")
    assert (plain.name, plain.granularity, plain.chosen) == ("belady", "tensor", {})
    assert chosen.name == "belady:granularity=page:order=depth-first"
    assert chosen.granularity == "page"
    problem, request = random_problem(1), Request()
    assert chosen.load()(problem, request).notes == ("granularity page", "order depth-first")
    assert plain.load()(problem, request).notes == ()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("beladi:order=listed", r"no scheduler called 'beladi'; did you mean belady\?"),
        ("belady:ordr=listed", "no option of scheduler belady called 'ordr'; did you mean order"),
        ("belady:order=depthfirst", "no choice of order .* 'depthfirst'; did you mean depth-first"),
        ("belady:order=x", "choose one of depth-first, listed"),
        ("belady:order", "'order' is not an option; write option=choice"),
        ("belady:", "'' is not an option; write option=choice"),
        ("belady:order=listed:order=listed", "option order twice"),
        ("lru:order=listed", "scheduler lru: has no options, so no 'order'"),
    ],
)
def test_bad_options(monkeypatch: pytest.MonkeyPatch, name: str, said: str) -> None:
    lru = replace(SCHEDULERS["lru"], options={})
    own = {"belady": ENTRY, "lru": lru}
    monkeypatch.setattr(registry, "SCHEDULERS", replace(SCHEDULERS, own=own))
    with pytest.raises(InputError, match=said) as caught:
        find(name)
    assert "\n" not in str(caught.value)


def test_objectives_are_supported_by_their_weights() -> None:
    mixed = replace(MAKESPAN, name="beauty", dram_in_byte=Fraction(1, 3))
    own_replay = replace(mixed, replayed=True)
    find("residency").require(mixed)
    find("joint").require(replace(REPLAY, name="mine", cycle=Fraction(2)))
    for name in ("belady", "residency", "lp-bound"):
        find(name).require(own_replay)
    with pytest.raises(InputError, match="scheduler joint: no objective beauty; use"):
        find("joint").require(own_replay)
