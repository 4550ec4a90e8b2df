"""Tsai's policy on any instance: legal in every combination of its parts, and whole."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

from spmopt.core.instance import Instance
from spmopt.core.order import depth_first, other_order
from spmopt.core.schedule import Plan
from spmopt.core.scheduler import Request
from spmopt.policies.tsai import next_layer, tsai
from spmopt.schedulers.registry import find
from tests.policies.owed import beats_no_optimum, is_whole, plan_of, random_instances, totals
from tests.strategies import instances

ORDERS, PREFETCHES, OFFLOADS = find("tsai").options.values()
PARTS = tuple(product(ORDERS, PREFETCHES, OFFLOADS))
each = pytest.mark.parametrize(("order", "prefetch", "offload"), PARTS)


def scheduled(instance: Instance, order: str, prefetch: str, offload: str) -> Plan:
    return plan_of(tsai(instance, Request(), order=order, prefetch=prefetch, offload=offload))


@each
def test_schedules_are_legal_and_whole(order: str, prefetch: str, offload: str) -> None:
    for instance in random_instances(40):
        plan = scheduled(instance, order, prefetch, offload)
        figures = totals(instance, plan)
        assert figures.replay_cycles <= figures.makespan_cycles
        listed = np.arange(len(instance.operations))
        right = depth_first(instance) if order == "depth-first" else listed
        assert np.array_equal(plan.steps.operation, right)
        assert is_whole(instance, plan)


@settings(max_examples=60, deadline=None)
@given(instance=instances(max_operations=8, max_tensors=6, max_modes=2, duplex=True, setup=True))
def test_schedules_of_shrinking_instances_are_legal(instance: Instance) -> None:
    for parts in (PARTS[0], ("listed", "latency", "full")):
        totals(instance, scheduled(instance, *parts))


def test_prefetch_and_offload_move_the_same_bytes_at_other_times() -> None:
    faster = slower = 0
    for instance in random_instances(60):
        for order in ORDERS:
            figures = [
                totals(instance, scheduled(instance, order, *parts))
                for parts in product(PREFETCHES, OFFLOADS)
            ]
            assert len({found.traffic_bytes for found in figures}) == 1
            faster += figures[0].makespan_cycles < figures[-1].makespan_cycles
            slower += figures[0].makespan_cycles > figures[-1].makespan_cycles
    # A greedy rule may lose; it mostly wins.
    assert faster > 30
    assert slower < faster / 8


def test_no_order_beats_its_own_optimum() -> None:
    beats_no_optimum(tsai, 30)


def test_the_baseline_is_the_naive_choice_of_each_part() -> None:
    for instance in random_instances(10):
        naive = plan_of(next_layer(instance, Request()))
        same = scheduled(instance, "listed", "next", "full")
        assert naive.residency == same.residency
        assert naive.stores == same.stores
        assert other_order(naive.steps.operation) is None
