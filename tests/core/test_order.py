"""Orders: by hand, and as properties of random problems."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from spmopt.assemble import assemble
from spmopt.core.errors import InputError
from spmopt.core.order import depth_first, reorder
from spmopt.core.problem import Problem
from spmopt.core.schedule import ResidencyPlan, Steps
from spmopt.core.scheduler import Request
from spmopt.core.timeline import timeline
from spmopt.policies.static import nothing_kept, stream
from spmopt.verifier import verify
from tests.strategies import problems
from tests.thorough import share
from tests.tiny import Op, tiny


def diamond() -> Problem:
    """x splits into two branches of two operations, listed level by level, which join."""
    sizes = {name: (4, "in" if name == "x" else "") for name in "xabcdej"}
    return tiny(
        sizes,
        [
            Op(reads="x", writes="a"),
            Op(reads="x", writes="b"),
            Op(reads="a", writes="c"),
            Op(reads="b", writes="d"),
            Op(reads="c d", writes="j"),
            Op(reads="x j", writes="e"),
        ],
        spm=64,
    )


def test_branches_run_one_after_the_other_and_wait_at_the_join() -> None:
    assert depth_first(diamond()).tolist() == [0, 2, 1, 3, 4, 5]


def test_the_recursion_counts_a_join_when_it_comes_back() -> None:
    # Operation 0 leads to 1 and, directly, to the join 2; operation 1 leads to 2, then 3. The
    # walk comes to 2 from 1 first, in vain, and goes on to 3 before it comes back from 0.
    sizes = {"x": (4, "in"), "a": (4, ""), "b": (4, ""), "c": (4, ""), "d": (4, "")}
    problem = tiny(
        sizes,
        [
            Op(reads="x", writes="a"),
            Op(reads="a", writes="b"),
            Op(reads="a b", writes="c"),
            Op(reads="b", writes="d"),
        ],
        spm=64,
    )
    assert depth_first(problem).tolist() == [0, 1, 3, 2]


def test_an_overwriting_operation_waits_for_the_readers() -> None:
    sizes = {"x": (4, "in"), "a": (4, ""), "b": (4, "keep")}
    problem = tiny(
        sizes,
        [Op(reads="x", writes="a"), Op(reads="x", writes="b"), Op(reads="a b"), Op(writes="b")],
        spm=64,
    )
    assert depth_first(problem).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("order", "said"),
    [
        ([0, 1, 2, 3, 4, 4], "each of the 6 operations once"),
        ([0, 1, 2, 3, 4], "each of the 6 operations once"),
        ([2, 0, 1, 3, 4, 5], "reads a before anything wrote it"),
    ],
)
def test_bad_orders(order: list[int], said: str) -> None:
    with pytest.raises(InputError, match=said):
        reorder(diamond(), np.array(order))


@settings(max_examples=share(200), deadline=None)
@given(problems(max_operations=10, max_tensors=6, max_mappings=2))
def test_the_depth_first_order_keeps_every_dependence(problem: Problem) -> None:
    order = depth_first(problem)
    again = reorder(problem, order)
    # A schedule in that order is legal, and it is the one in the own order of the problem so
    # listed.
    residency_plan = stream(problem, Request()).residency_plan
    assert residency_plan is not None
    moved: ResidencyPlan = nothing_kept(timeline(problem, residency_plan.steps.take(order)))
    report = verify(problem, assemble(problem, moved))
    assert report.legal, report.violations
    assert report.totals is not None
    listed = replace(moved, steps=Steps.listed(moved.steps.mapping))
    itself = verify(again, assemble(again, listed))
    assert itself.totals == report.totals
