"""Moves of operations: legal ones only, judged as the verifier would, and worth what they say."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from formulations.solver import apart
from spmopt.core.errors import ScheduleError, SpmoptError
from spmopt.core.objective import MAKESPAN
from spmopt.core.order import dependences, reorder
from spmopt.core.params import OrderParams, SolveParams
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.scheduler import Request
from spmopt.solving import run_parallel
from spmopt.solving.order_moves import Move, OrderMoves, _carry, _Judge
from spmopt.solving.orders import search_orders
from spmopt.solving.run_parallel import Case, schedule_all
from spmopt.verifier import bound
from tests.checked import need
from tests.instances import golden
from tests.solving.test_orders import branches
from tests.strategies import random_problem
from tests.thorough import share, some
from tests.verifier.test_bound import leave_pages_out, random_duals

APART = SolveParams(orders=OrderParams(parallel_operations=0))
"""Orders are scheduled in processes of their own, however small."""


def value(run: Result) -> Fraction | None:
    return run.value


def page(cases: Sequence[Case]) -> list[Result | None]:
    return schedule_all("residency", cases, threads=1)


def moves_of(problem: Problem, work: float = 1e6) -> OrderMoves:
    return OrderMoves(problem, page, Request(threads=1), work=work, value=value)


def is_legal(problem: Problem, order: list[int]) -> bool:
    place = {operation: step for step, operation in enumerate(order)}
    return all(
        place[before] < place[index]
        for index, each in enumerate(dependences(problem))
        for before in each
    )


def test_moves_keep_dependences_and_reach_every_order() -> None:
    for seed in some(range(30), 2):
        problem = random_problem(seed, max_operations=5, max_tensors=5)
        count = len(problem.operations)
        search, start = moves_of(problem), tuple(range(count))
        known, waiting = {start}, [start]
        while waiting:
            order = np.array(waiting.pop(), np.int64)
            for move in search.moves(order):
                after = search.apply(order, move)
                if after is None:
                    continue
                assert is_legal(problem, after.tolist())
                if tuple(after.tolist()) not in known:
                    known.add(tuple(after.tolist()))
                    waiting.append(tuple(after.tolist()))
        legal = {each for each in permutations(range(count)) if is_legal(problem, list(each))}
        assert known <= legal
        # Places without a tensor in common need no move: orders that differ in them cost the same.
        assert len(known) > 1 or len(legal) == 1 or count < 3


def test_what_is_no_run_or_may_not_go_there_is_refused() -> None:
    search, listed = moves_of(branches()), np.arange(4)
    assert search.apply(listed, Move(run=(0, 2), before=-1)) is None
    assert search.apply(listed, Move(run=(0,), before=-1)) is None  # 2 waits for 0
    assert search.apply(listed, Move(run=(2,), before=1)).tolist() == [0, 2, 1, 3]  # type: ignore[union-attr]


def test_judged_by_the_bound_of_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all tensors are concerned, what is saved is what the bound of bytes falls by."""
    leave_pages_out(monkeypatch)
    compared = sum(compared_with_bounds(seed) for seed in some(range(150)))
    assert compared > share(100)


def compared_with_bounds(seed: int) -> int:
    """Compare moves that concern all tensors with bounds; how many there are."""
    problem = random_problem(seed, max_operations=7, max_tensors=4)
    generator = np.random.default_rng(seed)
    used = [{*each.reads, *each.writes} for each in problem.operations]
    certificate = random_duals(problem, MAKESPAN, generator)
    judge, search = _Judge(problem, certificate), moves_of(problem)
    listed = np.arange(len(problem.operations))
    compared = 0
    for move in search.moves(listed):
        order = search.apply(listed, move)
        if order is None:
            continue
        concerned = set[int]().union(*(used[i] for i in np.flatnonzero(order != listed)))
        if concerned == set[int]().union(*used):
            compared += 1
            moved = bound(reorder(problem, order), _carry(certificate, order))
            saved = bound(problem, certificate) - moved
            assert judge.save(order) == pytest.approx(float(saved), abs=1e-6)
    return compared


def test_the_better_branch_first() -> None:
    found = need(search_orders(branches(), Request(time_limit_s=10), work=100.0))
    assert found.order.tolist() in ([0, 2, 1, 3], [1, 3, 0, 2])
    search = moves_of(branches())
    (start,) = search.try_all([np.arange(4)])
    assert start is not None
    best = search.improve(start)
    assert best.value < start.value
    assert best.order.tolist() in ([0, 2, 1, 3], [1, 3, 0, 2])
    assert moves_of(branches(), work=0.0).improve(start) is start


def test_moves_are_judged_where_a_certificate_prices_mappings() -> None:
    judged = 0
    for seed in some(range(40), 10):
        problem = random_problem(seed, max_operations=4, max_tensors=3, max_mappings=3)
        search = moves_of(problem)
        (start,) = search.try_all([np.arange(len(problem.operations))])
        if start is not None and start.certificate.uses is not None:
            assert search.improve(start).value <= start.value
            judged += 1
    assert judged > 0


def test_orders_do_not_depend_on_the_number_of_processes() -> None:
    problem = golden.problem("residual")
    found = [
        search_orders(problem, Request(time_limit_s=600, threads=threads, params=APART), work=200.0)
        for threads in (1, 2)
    ]
    assert all(each is not None and each.run.verified for each in found)
    one, two = ([*each.order.tolist(), each.value] for each in found if each is not None)
    assert one == two


def test_a_process_that_dies_leaves_out_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(function: str, name: str, problem: Problem, *rest: object, **given: object) -> Result:
        if problem.operations[0].name != branches().operations[0].name:
            raise SpmoptError("the process ended by itself")
        return run_parallel.schedule_parallel(name, problem, Request(time_limit_s=5))

    asked = Request(time_limit_s=10, threads=2, params=APART)
    monkeypatch.setattr(apart, "call", dies)
    found = need(search_orders(branches(), asked, work=100.0))
    assert found.order.tolist()[0] == 0
    monkeypatch.setattr(apart, "call", illegal)
    with pytest.raises(ScheduleError, match="not legal"):
        search_orders(branches(), asked, work=100.0)


def illegal(*_: object, **given: object) -> Result:
    raise ScheduleError("scheduler residency: not legal: R1")
