"""The scheduler ``joint``: verified, never worse than a policy, with a bound for its class."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from time import sleep
from typing import Any

import numpy as np
import pytest

from formulations.joint.facts import analyze, least_cycles
from formulations.joint.schedule import FoundSchedule, JointSettings, schedule
from formulations.solver import apart
from spmopt.core.errors import InputError
from spmopt.core.moved_whole import move_whole
from spmopt.core.objective import MAKESPAN, REPLAY
from spmopt.core.order import same_order
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.policies.belady import belady
from spmopt.schedulers.registry import Kind, SchedulerEntry, find
from spmopt.solving import compare, solve
from spmopt.solving.checked_calls import CheckedCalls
from spmopt.verifier import bound
from spmopt.verifier.any_order import any_order_bound
from tests.checked import need
from tests.formulations.joint.brute_force import least_replay
from tests.formulations.joint.solved import small, solved
from tests.instances.golden import problem as golden
from tests.solving.fakes import exact
from tests.strategies import random_problem
from tests.thorough import nightly, some
from tests.tiny import Op, tiny

ASKED = Request(objective=REPLAY, time_limit_s=20, threads=1)
READS = tiny({"x": (16, "in")}, [Op(reads="x"), Op(reads="x")], spm=8)


@pytest.mark.parametrize("seed", some(range(400, 412), 12))
def test_optimum_and_bound(seed: int) -> None:
    problem = small(seed)
    *starts, result = compare(problem, [*find("joint").starts, "joint"], ASKED)
    own = solved(problem)
    best, start = own.cycles, min(map(exact, starts))
    assert move_whole(problem, own.schedule)
    assert best == least_replay(problem)
    # Parts of tensors in another order may be better than all of the class, and all starts.
    assert exact(result) == need(result.totals).replay_cycles <= min(Fraction(best), start)
    assert (result.class_bound is not None) == (best <= exact(result))
    assert result.class_bound is None or result.class_bound.value == best
    assert least_cycles(analyze(problem)) <= best
    assert bound(problem, need(result.certificate)) == result.bound
    assert same_order(need(result.certificate).order, result.order)
    assert any_order_bound(problem, REPLAY) <= exact(result)


@pytest.mark.parametrize(
    ("name", "cycles"),
    [
        ("take-turns", 16),
        # Up to half a minute, of which windows take most: longer where the machine is busy.
        pytest.param("random-21", 32, marks=nightly),
        pytest.param("random-89", 19, marks=nightly),
        pytest.param("mlp", 2396, marks=nightly),
    ],
)
def test_beats_the_policies_in_replay(name: str, cycles: int) -> None:
    *others, joint = _beside_all_policies(name, time_limit_s=60)
    policies = [each for each in others if find(each.scheduler).kind is Kind.POLICY]
    assert exact(joint) == cycles < min(map(exact, policies))
    assert cycles <= min(map(exact, others))
    assert need(joint.class_bound).value <= cycles


@pytest.mark.parametrize("name", [pytest.param("random-55", marks=nightly), "half-stays"])
def test_never_worse_than_a_schedule_that_keeps_parts(name: str) -> None:
    *others, joint = _beside_all_policies(name)
    best, of_class = min(map(exact, others)), solved(golden(name)).cycles
    assert exact(joint) <= best < of_class
    assert joint.class_bound is None  # the schedule is of another class
    assert joint.class_gap is None
    said, origin = joint.notes[:2]
    assert said.startswith(f"at least {of_class} cycles for the replay of whole tensors")
    assert origin.startswith("nothing better found than ")
    assert not move_whole(golden(name), need(joint.schedule))


@pytest.mark.parametrize("seed", some(range(501, 513), 12))
def test_never_worse_than_what_it_starts_from(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Optimizers that it starts from have a part of its time: alone they may find more."""
    starts, call = list[Result](), CheckedCalls.call

    def called(
        calls: CheckedCalls,
        entry: SchedulerEntry,
        given: Sequence[Result] = (),
        *rest: Any,
        **more: Any,
    ) -> Result:
        starts.extend(given if entry.name == "joint" else ())
        return call(calls, entry, given, *rest, **more)

    problem = random_problem(seed, max_operations=8, max_tensors=6, setup=True)
    request = replace(ASKED, time_limit_s=0.5)
    policies = [each for each in find("joint").starts if find(each).kind is Kind.POLICY]
    others = compare(problem, policies, request)
    monkeypatch.setattr(CheckedCalls, "call", called)
    joint = solve(problem, "joint", request)  # runs them itself
    assert {each.scheduler for each in starts} >= set(policies)
    assert exact(joint) <= min(map(exact, (*others, *starts)))
    if joint.class_bound is not None:  # of the class that it is held against
        assert move_whole(problem, need(joint.schedule))
        assert joint.class_bound.value <= exact(joint)


def test_bound_in_units_of_the_objective() -> None:
    for cycle in (Fraction(1, 2), Fraction(3)):
        request = replace(ASKED, objective=replace(REPLAY, name="mine", cycle=cycle))
        result = solve(golden("load-ahead"), "joint", request)
        assert exact(result) == 14 * cycle == Fraction(need(result.class_bound).value)


def _beside_all_policies(name: str, time_limit_s: float = 20) -> list[Result]:
    request = replace(ASKED, time_limit_s=time_limit_s)
    return compare(golden(name), [*find("joint").starts, "joint"], request)


def test_searches_from_a_plan_of_whole_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    hints: list[ResidencyPlan | None] = []

    def search(
        problem: Problem,
        settings: JointSettings,
        start: ResidencyPlan | None,
        stop: Callable[[], bool],
        note: Callable[[str], None],
    ) -> Iterator[FoundSchedule]:
        hints.append(start)
        return iter(())

    monkeypatch.setattr(import_module("formulations.joint.schedule"), "search", search)
    problem = golden("random-55")
    parts = belady(problem, ASKED, granularity="page").residency_plan
    whole = belady(problem, ASKED).residency_plan
    assert (
        schedule(problem, replace(ASKED, start=parts, others=(need(whole),))).residency_plan
        is parts
    )
    (hint,) = hints
    sizes = np.array([tensor.size_bytes for tensor in problem.tensors])
    assert (need(hint).residency.size_bytes == sizes[need(hint).residency.tensor]).all()


def test_no_time_leaves_the_policy() -> None:
    problem = golden("half-stays")
    (policy, joint) = compare(problem, ["belady-size:granularity=page", "joint"], _in(0.0))
    assert need(joint.value) <= need(policy.value)
    # That policy keeps parts: the bound of whole tensors is said, no gap to it.
    assert joint.class_bound is None
    assert joint.notes[0].startswith(f"at least {least_cycles(analyze(problem)):,} cycles for ")


def test_no_time_and_a_policy_of_the_class() -> None:
    fits = tiny({"x": (8, "in")}, [Op(reads="x"), Op(reads="x")], spm=8)
    joint = solve(fits, "joint", _in(0.0))
    assert any(note.startswith("nothing better found than ") for note in joint.notes)
    assert need(joint.class_bound).value == least_cycles(analyze(fits)) == 8 == exact(joint)


def test_only_the_replay_is_minimized() -> None:
    with pytest.raises(InputError, match="no objective time; use timing async"):
        solve(READS, "joint", Request(objective=MAKESPAN))


def _in(seconds: float) -> Request:
    return Request(objective=REPLAY, time_limit_s=seconds, threads=1)


def test_several_threads_end_at_the_same_schedule() -> None:
    request = Request(objective=REPLAY, time_limit_s=20, threads=2)
    one, other = (solve(golden("load-ahead"), "joint", request).totals for _ in range(2))
    assert need(one) == other
    assert need(one).replay_cycles == 14


def test_more_uses_than_are_searched() -> None:
    uses = 301
    problem = tiny({"x": (4, "in")}, [Op(reads="x")] * uses, spm=8)
    (policy, joint) = compare(problem, ["stream", "joint"], replace(ASKED, time_limit_s=0.2))
    assert need(joint.value) <= need(policy.value)
    note, origin = joint.notes
    assert note.startswith("more than 300 uses of tensors: orders were searched")
    assert origin.startswith("nothing better found than ")


def test_the_time_limit_counts_the_start_of_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    take = apart._take

    def slowly(library: str) -> object:
        sleep(1.0)
        return take(library)

    problem = golden("random-34")
    assert _proved(problem, 20.0) > least_cycles(analyze(problem))
    monkeypatch.setattr(apart, "_take", slowly)
    assert _proved(problem, 1.0) == least_cycles(analyze(problem))


def _proved(problem: Problem, seconds: float) -> float:
    bound = need(schedule(problem, _in(seconds)).class_bound)
    return bound.value
