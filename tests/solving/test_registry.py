from dataclasses import replace
from importlib.util import find_spec

import pytest

from spmopt.core.errors import InputError
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.scheduler import Request
from spmopt.schedulers import registry
from spmopt.schedulers.registry import SCHEDULERS, Kind, compare_with, find
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
