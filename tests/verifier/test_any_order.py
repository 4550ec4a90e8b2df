"""What any order costs at least: by hand, and never above a legal schedule of some order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

from spmopt.assemble import assemble
from spmopt.core.objective import MAKESPAN, REPLAY, TRAFFIC
from spmopt.core.order import dependences
from spmopt.core.problem import Problem
from spmopt.verifier import verify
from spmopt.verifier.any_order import _loose, any_order_bound
from tests.brute_force import optimum
from tests.checked import need
from tests.strategies import random_problem
from tests.thorough import share
from tests.tiny import Op, tiny
from tests.verifier.random_plans import random_residency_plan, random_schedule
from tests.verifier.test_bound import objectives


def complete(problem: Problem) -> Problem:
    """The problem with all that its accesses must wait for as predecessors."""
    before = dependences(problem)
    operations = tuple(
        replace(operation, predecessors=tuple(sorted(each)))
        for operation, each in zip(problem.operations, before, strict=True)
    )
    return replace(problem, operations=operations)


@settings(max_examples=share(400), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), whole=st.booleans(), duplex=st.booleans())
def test_no_legal_schedule_of_any_order_costs_less(seed: int, whole: bool, duplex: bool) -> None:
    features = {"max_operations": 7, "max_mappings": 2, "duplex": duplex, "setup": True}
    features |= {"compression": seed % 2 == 1}
    problem, schedule = random_schedule(seed, free_order=True, **features)
    report = verify(problem, schedule)
    if whole and verify(complete(problem), schedule).totals is None:
        return  # its order is none of the complete problem
    on = complete(problem) if whole else problem
    for objective in (*objectives(problem), REPLAY):
        assert any_order_bound(on, objective) <= need(report.totals).value(objective)


@settings(max_examples=share(200), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), left=st.floats(0.0, 0.9), duplex=st.booleans())
def test_without_some_predecessors(seed: int, left: float, duplex: bool) -> None:
    """Then accesses may come before what they would have to wait for."""
    generator = np.random.default_rng(seed)
    listed = random_problem(seed, max_operations=7, max_mappings=2, duplex=duplex, setup=True)
    problem = replace(
        listed,
        operations=tuple(
            replace(
                each,
                predecessors=tuple(p for p in each.predecessors if generator.random() < left),
            )
            for each in listed.operations
        ),
    )
    try:
        schedule = assemble(problem, random_residency_plan(problem, generator, free_order=True))
    except ValueError:  # an operation reads what nothing has written
        reject()
    totals = verify(problem, schedule).totals
    assume(totals is not None)
    for objective in (*objectives(problem), REPLAY):
        assert any_order_bound(problem, objective) <= need(totals).value(objective)


@settings(max_examples=share(300), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), left=st.floats(0.0, 0.9))
def test_loose_tensors_are_those_that_a_walk_over_operations_finds(seed: int, left: float) -> None:
    generator = np.random.default_rng(seed)
    listed = random_problem(seed, max_operations=12, max_mappings=2)
    operations = tuple(
        replace(each, predecessors=tuple(p for p in each.predecessors if generator.random() < left))
        for each in listed.operations
    )
    loose, last_write, readers = set[int](), dict[int, int](), dict[int, set[int]]()
    for index, operation in enumerate(operations):
        before = {index, *operation.predecessors}
        for tensor in (*operation.reads, *operation.writes):
            if last_write.get(tensor, index) not in before:
                loose.add(tensor)
        for tensor in operation.writes:
            if not readers.pop(tensor, set()) <= before:
                loose.add(tensor)
        for tensor in set(operation.reads).difference(operation.writes):
            readers.setdefault(tensor, set()).add(index)
        last_write.update(dict.fromkeys(operation.writes, index))
    assert {*np.flatnonzero(_loose(replace(listed, operations=operations))).tolist()} == loose


@pytest.mark.parametrize("seed", range(40))
def test_at_most_the_optimum(seed: int) -> None:
    problem = complete(random_problem(seed, max_operations=3, max_tensors=3, max_tensor_pages=2))
    for objective in (MAKESPAN, TRAFFIC):
        best = need(optimum(problem, objective))
        assert any_order_bound(problem, objective) <= best.value


SIZES = {"w": (4, "in"), "x": (12, "in"), "y": (6, "keep"), "z": (2, "")}


def test_by_hand() -> None:
    """8 bytes of scratchpad, a byte a cycle: w and x enter, y leaves; z is dropped."""
    last = Op(reads="z w", writes="y", cycles=30)
    problem = complete(tiny(SIZES, [Op(reads="w x", writes="z", cycles=3), last], spm=8))
    assert any_order_bound(problem, TRAFFIC) == 4 + 12 + 6
    # Of 4 + 12 + 2 bytes 10 cannot be resident in the first step, of 2 + 4 + 6 in the second 4.
    assert any_order_bound(problem, MAKESPAN) == 10 + 30
    # They cross while the operations run, so that the replay takes no less.
    assert any_order_bound(problem, REPLAY) == 10 + 30
    # Of x each byte crosses three times if it is not resident; so it stays, before all others.
    fetches = Op(reads="w x", writes="z", cycles=3, fetches={"x": 3})
    repeated = complete(tiny(SIZES, [fetches, last], spm=8))
    assert any_order_bound(repeated, MAKESPAN) == (4 * 3 + 4 + 2) + 30
    # If w is required-resident there is room for 4 of x.
    held = Op(reads="w x", writes="z", cycles=3, fetches={"x": 3}, required_resident="w")
    fixed = complete(tiny(SIZES, [held, last], spm=8))
    assert any_order_bound(fixed, MAKESPAN) == (8 * 3 + 2) + 30


def test_a_loose_tensor_may_be_overwritten_first() -> None:
    """As nothing says that the reader waits, nothing says that it reads what is in DRAM."""
    tensors = {"t": (8, "in"), "y": (4, "keep")}
    operations = [Op(reads="t", writes="y"), Op(writes="t")]
    fixed = complete(tiny(tensors, operations, spm=16))
    assert any_order_bound(fixed, TRAFFIC) == 8 + 4
    free = replace(
        fixed, operations=tuple(replace(each, predecessors=()) for each in fixed.operations)
    )
    assert any_order_bound(free, TRAFFIC) == 4


@pytest.mark.parametrize(("duplex", "least"), [(False, 4 + 8 + 2 * 5), (True, 8 + 5)])
def test_what_enters_and_leaves_needs_a_command_each(duplex: bool, least: int) -> None:
    problem = tiny(
        {"x": (4, "in"), "y": (8, "keep")},
        [Op(reads="x", writes="y", cycles=1)],
        spm=16,
        dma_setup_cycles=5,
        duplex=duplex,
    )
    assert any_order_bound(problem, MAKESPAN) == least


def test_what_does_not_fit_needs_a_command_in_each_step() -> None:
    """Of x 4 bytes cross twice: 9 cycles each, with their set-up; computing takes 1."""
    problem = tiny(
        {"x": (12, "in")},
        [Op(reads="x", cycles=1), Op(reads="x", cycles=1)],
        spm=8,
        dma_setup_cycles=5,
    )
    assert any_order_bound(problem, MAKESPAN) == max(2 * (4 + 5), 12 + 5)
