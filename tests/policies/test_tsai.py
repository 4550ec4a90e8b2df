"""Tsai's policy on any problem: legal in every combination of its parts, and whole."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from spmopt.core.order import depth_first, other_order
from spmopt.core.problem import Problem
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.policies.tsai import next_layer, tsai
from spmopt.schedulers.registry import find
from tests.policies.owed import (
    is_whole,
    random_problems,
    residency_plan_of,
    totals,
)
from tests.thorough import THOROUGH, share

ORDERS, PREFETCHES, OFFLOADS = find("tsai").options.values()
PARTS = tuple(product(ORDERS, PREFETCHES, OFFLOADS))
each = pytest.mark.parametrize(("order", "prefetch", "offload"), PARTS)


def scheduled(problem: Problem, order: str, prefetch: str, offload: str) -> ResidencyPlan:
    return residency_plan_of(
        tsai(problem, Request(), order=order, prefetch=prefetch, offload=offload)
    )


@each
def test_parts_go_together(order: str, prefetch: str, offload: str) -> None:
    for problem in random_problems(share(24)):
        residency_plan = scheduled(problem, order, prefetch, offload)
        totals(problem, residency_plan)
        listed = np.arange(len(problem.operations))
        right = depth_first(problem) if order == "depth-first" else listed
        assert np.array_equal(residency_plan.steps.operation, right)
        assert is_whole(problem, residency_plan)


def test_prefetch_and_offload_move_the_same_bytes_at_other_times() -> None:
    faster = slower = 0
    for problem in random_problems(share(60)):
        for order in ORDERS:
            figures = [
                totals(problem, scheduled(problem, order, *parts))
                for parts in product(PREFETCHES, OFFLOADS)
            ]
            assert len({found.traffic_bytes for found in figures}) == 1
            faster += figures[0].makespan_cycles < figures[-1].makespan_cycles
            slower += figures[0].makespan_cycles > figures[-1].makespan_cycles
    # A greedy rule may lose; it mostly wins.
    assert faster > share(30)
    assert slower < faster / (8 if THOROUGH else 3)


def test_the_baseline_is_the_naive_choice_of_each_part() -> None:
    for problem in random_problems(10):
        naive = residency_plan_of(next_layer(problem, Request()))
        same = scheduled(problem, "listed", "next", "full")
        assert naive.residency == same.residency
        assert naive.stores == same.stores
        assert other_order(naive.steps.operation) is None
