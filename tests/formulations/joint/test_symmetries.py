"""Equal branches may be taken for each other: which pairs are found, and that nothing is lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pytest

from formulations.joint.schedule import JointSettings
from formulations.joint.symmetries import Interchange, interchanges, mirror
from results.shared.small import small_problem
from spmopt.assemble import assemble
from spmopt.core.operation import Operation
from spmopt.core.order import dependences, reorder
from spmopt.core.problem import Problem
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.policies.belady import belady
from tests.checked import need
from tests.formulations.joint.brute_force import least_replay
from tests.formulations.joint.solved import replayed, solved
from tests.strategies import random_problem
from tests.thorough import some
from tests.tiny import Op, tiny

BRANCHES = tiny(
    {"x": (8, "in"), **{f"y{k}": (4, "") for k in range(3)}, "z": (4, "keep")},
    [
        *(Op(reads="x", writes=f"y{k}", cycles=5 + (k == 1)) for k in range(3)),
        Op(reads="y0 y1 y2", writes="z", cycles=2),
    ],
    spm=16,
)


def _pairs(problem: Problem) -> list[tuple[int, int]]:
    return [(pair.first, pair.other) for pair in interchanges(problem)]


def test_equal_branches() -> None:
    assert _pairs(BRANCHES) == [(0, 2)]  # the other one takes longer
    lstm = small_problem("lstm-2", 1024, training=False)
    assert _pairs(lstm) == [(0, 2), (0, 4), (2, 4)]  # gates with sigmoids, in both cells alike
    assert [lstm.operations[other].name for other in (0, 2, 4)] == [
        "lstmgate_0",
        "lstmgate_2",
        "lstmgate_4",
    ]


def test_all_pairs_of_many_equal_branches() -> None:
    """Two are exchanged as soon as colors tell them from the others, which stay in place."""
    many = 20
    star = tiny(
        {"x": (8, "in"), **{f"y{k}": (4, "keep") for k in range(many)}},
        [Op(reads="x", writes=f"y{k}", cycles=5) for k in range(many)],
        spm=16,
    )
    assert _pairs(star) == [*combinations(range(many), 2)]


@pytest.mark.parametrize("seed", range(20))
def test_all_pairs_are_found(seed: int) -> None:
    problem = _twins(seed, operations=2)
    pairs = _pairs(problem)
    assert pairs == _pairs_by_trial(problem)
    assert pairs


def _pairs_by_trial(problem: Problem) -> list[tuple[int, int]]:
    """All permutations of operations and tensors that leave the problem what it is."""
    count, found = len(problem.operations), set()
    for tensor in permutations(range(len(problem.tensors))):
        kept = all(
            _flags(problem, one) == _flags(problem, other) for one, other in enumerate(tensor)
        )
        for operation in permutations(range(count)) if kept else ():
            if all(
                _renamed(problem.operations[one], tensor, operation)
                == _renamed(problem.operations[other], range(len(tensor)), range(count))
                for one, other in enumerate(operation)
            ):
                moved = next((one for one in range(count) if operation[one] != one), None)
                if moved is not None:
                    found.add((moved, operation[moved]))
    return sorted(found)


def _flags(problem: Problem, tensor: int) -> tuple[object, ...]:
    record = problem.tensors[tensor]
    return record.size_bytes, record.in_dram, record.keep


def _renamed(
    operation: Operation, tensor: Sequence[int], number: Sequence[int]
) -> tuple[object, ...]:
    """What an operation is, but for names and the order of its operands."""
    operands = sorted(
        (
            tensor[each],
            each in operation.reads,
            each in operation.writes,
            [
                (mapping.operands[place].fetches, mapping.operands[place].required_resident)
                for mapping in operation.mappings
            ],
        )
        for place, each in enumerate(operation.tensors)
    )
    mappings = [(mapping.compute_cycles, mapping.scratch_bytes) for mapping in operation.mappings]
    return operands, mappings, sorted(number[before] for before in operation.predecessors)


def _twins(seed: int, operations: int) -> Problem:
    """A problem twice over, with one weight in common."""
    one = random_problem(seed, max_operations=operations, max_tensors=2, max_tensor_pages=2)
    count, many = len(one.tensors), len(one.operations)
    written = {tensor for operation in one.operations for tensor in operation.writes}
    shared = {t for t, tensor in enumerate(one.tensors) if tensor.in_dram and t not in written}
    number = [t if t in shared else count + t for t in range(count)]
    copies = [
        replace(
            operation,
            name=f"{operation.name} again",
            reads=tuple(number[tensor] for tensor in operation.reads),
            writes=tuple(number[tensor] for tensor in operation.writes),
            predecessors=tuple(many + before for before in operation.predecessors),
        )
        for operation in one.operations
    ]
    others = [replace(tensor, name=f"{tensor.name} again") for tensor in one.tensors]
    return replace(one, tensors=(*one.tensors, *others), operations=(*one.operations, *copies))


@pytest.mark.parametrize("seed", some(range(12)))
def test_the_optimum_is_the_same(seed: int) -> None:
    problem = _twins(100 + seed, operations=2)
    every = JointSettings(threads=1, without=("interchanges", "relaxation"))
    best = solved(problem)
    assert best.cycles == best.bound == solved(problem, every).cycles
    if len(problem.operations) < 4:
        assert best.cycles == least_replay(problem)


@pytest.mark.parametrize("seed", range(4))
def test_the_image_of_a_plan_takes_as_long(seed: int) -> None:
    lstm = small_problem("lstm-1", 1024, training=False)
    order = _any_order(lstm, seed)
    listed = need(belady(reorder(lstm, order), Request()).residency_plan)
    residency_plan = replace(
        listed, steps=replace(listed.steps, operation=order[listed.steps.operation])
    )
    pairs = interchanges(lstm)
    image = mirror(residency_plan, pairs)
    place = np.argsort(image.steps.operation)
    assert all(place[pair.first] < place[pair.other] for pair in pairs)
    assert _cycles(lstm, image) == _cycles(lstm, residency_plan) is not None


def _any_order(problem: Problem, seed: int) -> Ints:
    rng, needed = np.random.default_rng(seed), dependences(problem)
    order: list[int] = []
    while len(order) < len(needed):
        ready = [i for i, before in enumerate(needed) if i not in order and before <= {*order}]
        order.append(int(rng.choice(ready)))
    return np.array(order, np.int64)


def _cycles(problem: Problem, residency_plan: ResidencyPlan) -> int | None:
    return replayed(problem, assemble(problem, residency_plan))


def test_a_start_in_any_order_is_found_again() -> None:
    residency_plan = need(belady(BRANCHES, Request()).residency_plan)
    swapped = replace(
        residency_plan, steps=replace(residency_plan.steps, operation=np.array([2, 1, 0, 3]))
    )
    pairs: tuple[Interchange, ...] = interchanges(BRANCHES)
    assert mirror(swapped, pairs).steps.operation.tolist() == [0, 1, 2, 3]
