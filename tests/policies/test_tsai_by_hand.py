"""Tsai's policy on small examples worked out by hand, those of Figures 4.1 and 4.2 first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spmopt.assemble import derive_commands
from spmopt.core.problem import Problem
from spmopt.core.schedule import Command, ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.timeline import timeline
from spmopt.policies.tsai import tsai
from tests.assemble.small import make_problem, rows_of, stores_of
from tests.policies.owed import residency_plan_of, totals
from tests.tiny import Op

Moves = list[tuple[int, str, int]]


def scheduled(
    problem: Problem,
    prefetch: str = "latency",
    offload: str = "ahead",
    order: str = "listed",
) -> ResidencyPlan:
    return residency_plan_of(
        tsai(problem, Request(), order=order, prefetch=prefetch, offload=offload)
    )


def loads_of(problem: Problem, residency_plan: ResidencyPlan) -> Moves:
    """Step, tensor and bytes of every load."""
    commands = derive_commands(timeline(problem, residency_plan.steps), residency_plan)
    loads = commands.take(commands.kind == Command.LOAD)
    return sorted(
        (step, problem.tensors[tensor].name, size)
        for step, tensor, size in zip(
            loads.step.tolist(),
            loads.tensor.tolist(),
            (loads.end - loads.begin).tolist(),
            strict=True,
        )
    )


def makespan(problem: Problem, residency_plan: ResidencyPlan) -> int:
    return totals(problem, residency_plan).makespan_cycles


def five_layers() -> Problem:
    """Figure 4.1: the weights of layer 5 take longer to load than layer 4 computes."""
    weights = {"w1": (2, "in"), "w2": (2, "in"), "w3": (3, "in"), "w4": (4, "in"), "w5": (8, "in")}
    cycles = (4, 4, 10, 2, 3)
    return make_problem(
        weights, [Op(reads=w, cycles=c) for w, c in zip(weights, cycles, strict=True)]
    )


@pytest.mark.parametrize(
    ("prefetch", "last", "taken"),
    [
        # Asked for in layer 3, behind w4; layer 3 has time for six bytes of w5, layer 4 for two.
        ("latency", [(2, "w4", 4), (2, "w5", 6), (3, "w5", 2)], 4 + 4 + 10 + 2 + 3),
        # Asked for in layer 4, which has time for two bytes; layer 5 waits for six.
        ("next", [(2, "w4", 4), (3, "w5", 2), (4, "w5", 6)], 4 + 4 + 10 + 2 + 6),
        ("none", [(3, "w4", 4), (4, "w5", 8)], 4 + 4 + 10 + 4 + 8),
    ],
)
@pytest.mark.parametrize("order", ["listed", "depth-first"])
@pytest.mark.parametrize("offload", ["ahead", "full"])
def test_figure_4_1(prefetch: str, last: Moves, taken: int, order: str, offload: str) -> None:
    problem = five_layers()
    residency_plan = scheduled(problem, prefetch, offload, order)
    early = [(1, "w2", 2), (2, "w3", 3)] if prefetch == "none" else [(0, "w2", 2), (1, "w3", 3)]
    assert loads_of(problem, residency_plan) == [(0, "w1", 2), *early, *last]
    assert makespan(problem, residency_plan) == taken


def four_layers() -> Problem:
    """Figure 4.2 with a layer more: when layer 4 makes its output, x1 has to go.

    A victim leaves in the step before its room is needed, so the third layer stalls where in the
    figure it is the one that needs the room.
    """
    tensors = dict.fromkeys(("x1", "x2", "x3", "x4"), (6, ""))
    cycles = (2, 8, 2, 2)
    forward = [Op(writes=x, cycles=c) for x, c in zip(tensors, cycles, strict=True)]
    backward = [Op(reads=x, cycles=c) for x, c in zip(tensors, cycles, strict=True)]
    problem = make_problem(tensors, [*forward, *backward[::-1]], spm=18)
    chain = [replace(op, predecessors=(k - 1,)) for k, op in enumerate(problem.operations) if k]
    return replace(problem, operations=(problem.operations[0], *chain))


@pytest.mark.parametrize(
    ("prefetch", "offload", "store", "load", "taken"),
    [
        # Stored under layer 2, which takes eight cycles, and loaded under its gradient.
        ("latency", "ahead", 1, 6, 28),
        ("next", "ahead", 1, 6, 28),
        ("none", "ahead", 1, 7, 28 + 4),
        # Stored under layer 3, which takes two.
        ("latency", "full", 2, 6, 28 + 4),
        ("next", "full", 2, 6, 28 + 4),
        ("none", "full", 2, 7, 28 + 4 + 4),
    ],
)
def test_figure_4_2(prefetch: str, offload: str, store: int, load: int, taken: int) -> None:
    problem = four_layers()
    for order in ("listed", "depth-first"):
        residency_plan = scheduled(problem, prefetch, offload, order)
        assert stores_of(problem, residency_plan.stores) == [(store, "x1", 6)]
        assert loads_of(problem, residency_plan) == [(load, "x1", 6)]
        assert makespan(problem, residency_plan) == taken


def test_a_prefetch_is_put_off_until_it_can_stay() -> None:
    # w is on the list of step 1, where a still takes the room; step 2 has time for five bytes.
    problem = make_problem(
        {"a": (8, "in"), "w": (6, "in")},
        [Op(reads="a", cycles=6), Op(reads="a", cycles=2), Op(cycles=5), Op(reads="w")],
        spm=12,
    )
    residency_plan = scheduled(problem)
    assert loads_of(problem, residency_plan) == [(0, "a", 8), (2, "w", 5), (3, "w", 1)]
    assert makespan(problem, residency_plan) == 8 + 2 + 5 + 1


def test_a_prefetch_takes_room_for_the_whole_tensor() -> None:
    # In step 0 there would be room for six bytes of w, but not for eight until step 2.
    problem = make_problem(
        {"a": (6, "in"), "w": (8, "in")},
        [Op(reads="a", cycles=20), Op(cycles=1), Op(reads="a"), Op(reads="w")],
        spm=12,
    )
    assert loads_of(problem, scheduled(problem)) == [(0, "a", 6), (3, "w", 8)]


def test_a_store_that_finds_no_room_is_not_put_off() -> None:
    problem = make_problem(
        {"y": (6, "keep"), "a": (10, "in")},
        [Op(writes="y", cycles=1), Op(reads="a", cycles=9), Op(cycles=20)],
        spm=12,
    )
    residency_plan = scheduled(problem)
    # Two bytes find room beside a, but no time before step 2.
    assert stores_of(problem, residency_plan.stores) == [(0, "y", 4), (2, "y", 2)]
    assert rows_of(problem, residency_plan.residency) == [
        ("y", 0, 1, 6),
        ("y", 1, 3, 2),
        ("a", 1, 2, 10),
    ]
    assert makespan(problem, residency_plan) == 4 + 10 + 20
    assert makespan(problem, scheduled(problem, offload="full")) == 6 + 10 + 20


def test_first_come_is_first_served() -> None:
    # The store of y is asked for at the end of step 0, w in step 1: y goes first.
    problem = make_problem(
        {"y": (5, "keep"), "w": (5, "in")},
        [Op(writes="y"), Op(cycles=6), Op(reads="w")],
    )
    residency_plan = scheduled(problem)
    assert stores_of(problem, residency_plan.stores) == [(1, "y", 5)]
    assert loads_of(problem, residency_plan) == [(1, "w", 1), (2, "w", 4)]


def test_what_a_step_uses_is_brought_in_whatever_its_next_use() -> None:
    # x is used again sooner than w, and still makes room for it.
    problem = make_problem(
        {"x": (6, "in"), "w": (6, "in")},
        [Op(reads="x"), Op(reads="w"), Op(reads="x"), Op(reads="w")],
        spm=8,
    )
    assert loads_of(problem, scheduled(problem)) == [
        (0, "x", 6),
        (1, "w", 6),
        (2, "x", 6),
        (3, "w", 6),
    ]


def test_depth_first_keeps_a_branch_on_chip() -> None:
    problem = make_problem(
        {"a": (8, ""), "b": (8, ""), "c": (4, "keep"), "d": (4, "keep")},
        [
            Op(writes="a"),
            Op(writes="b"),
            Op(reads="a", writes="c"),
            Op(reads="b", writes="d"),
        ],
        spm=12,
    )
    deep, listed = (scheduled(problem, order=order) for order in ("depth-first", "listed"))
    assert deep.steps.operation.tolist() == [0, 2, 1, 3]
    assert totals(problem, deep).traffic_bytes == 4 + 4
    assert totals(problem, listed).traffic_bytes == 4 + 4 + 2 * (8 + 8)


def both_ways(duplex: bool) -> Problem:
    return make_problem(
        {"y": (6, "keep"), "w": (6, "in")},
        [Op(writes="y", cycles=1), Op(cycles=6), Op(reads="w", cycles=1)],
        duplex=duplex,
    )


def test_two_channels_do_not_wait_for_each_other() -> None:
    duplex, single = both_ways(True), both_ways(False)
    residency_plan = scheduled(duplex)
    assert stores_of(duplex, residency_plan.stores) == [(1, "y", 6)]
    assert loads_of(duplex, residency_plan) == [(1, "w", 6)]
    assert makespan(duplex, residency_plan) == 1 + 6 + 1
    residency_plan = scheduled(single)
    assert stores_of(single, residency_plan.stores) == [(1, "y", 6)]
    assert loads_of(single, residency_plan) == [(2, "w", 6)]
    assert makespan(single, residency_plan) == 1 + 6 + 6


def test_required_resident_operands_take_time_of_their_own() -> None:
    # The load on demand of a required-resident operand comes before the computation, which then has
    # all its time for what waits.
    problem = make_problem(
        {"v": (4, "in"), "w": (6, "in")},
        [Op(reads="v", required_resident="v", cycles=6), Op(reads="w", cycles=1)],
    )
    residency_plan = scheduled(problem)
    assert loads_of(problem, residency_plan) == [(0, "v", 4), (0, "w", 6)]
    assert makespan(problem, residency_plan) == (4 + 6) + 1
