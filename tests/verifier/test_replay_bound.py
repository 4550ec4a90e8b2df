"""Dual values of the replay: never above what a legal schedule takes without barriers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.residency import fluid
from spmopt.assemble import assemble
from spmopt.core.bypass import without_bypass
from spmopt.core.errors import InputError
from spmopt.core.objective import MAKESPAN, REPLAY
from spmopt.core.order import reorder
from spmopt.core.problem import Problem, TensorKind
from spmopt.core.result import Certificate
from spmopt.core.schedule import Command, Schedule
from spmopt.core.scheduler import Request
from spmopt.verifier import Replay, bound, verify
from tests.checked import need
from tests.strategies import random_problem
from tests.thorough import share, some
from tests.tiny import Op, tiny
from tests.verifier.naive_replay_bound import naive_replay_bound
from tests.verifier.random_plans import random_residency_plan, random_schedule, scatter
from tests.verifier.test_bound import random_duals

MIXED = replace(REPLAY, name="mixed", dram_in_byte=Fraction(1, 3), dram_out_byte=Fraction(2, 7))


def random_certificate(
    problem: Problem, generator: np.random.Generator, objective: object = REPLAY
) -> Certificate:
    """Legal dual values, of starts too."""
    weighed = MIXED if objective is MIXED else REPLAY
    of_steps = random_duals(problem, weighed, generator)
    share = generator.random(of_steps.spm.size) * generator.integers(0, 2, of_steps.spm.size)
    at_start = (of_steps.spm * share).astype(np.int64)
    moved = of_steps.spm - at_start if generator.random() < 0.5 else of_steps.spm
    return replace(of_steps, spm=moved, spm_at_start=at_start)


@settings(max_examples=share(600), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), duplex=st.booleans(), mixed=st.booleans())
def test_no_legal_schedule_replays_in_less(seed: int, duplex: bool, mixed: bool) -> None:
    problem, schedule = random_schedule(
        seed, max_operations=7, max_mappings=2, duplex=duplex, setup=seed % 3 == 0
    )
    totals = need(verify(problem, schedule).totals)
    generator = np.random.default_rng(seed)
    objective = MIXED if mixed else REPLAY
    for _ in range(4):
        certificate = random_certificate(problem, generator, objective)
        assert bound(problem, certificate) <= totals.value(objective)


def bypassed(problem: Problem, generator: np.random.Generator) -> Problem:
    """Some tensors that need not be resident bypass the scratchpad, on one channel."""
    if problem.machine.duplex:
        return problem
    fixed = {
        tensor
        for operation in problem.operations
        for mapping in operation.mappings
        for tensor, operand in zip(operation.tensors, mapping.operands, strict=True)
        if operand.required_resident
    }
    tensors = tuple(
        replace(tensor, kind=TensorKind.STATE)
        if index not in fixed and generator.random() < 0.3
        else tensor
        for index, tensor in enumerate(problem.tensors)
    )
    machine = replace(problem.machine, bypass=(TensorKind.STATE,))
    return replace(problem, tensors=tensors, machine=machine)


@settings(max_examples=share(200), deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    bypass=st.booleans(),
    mixed=st.booleans(),
    compression=st.booleans(),
)
def test_equals_the_naive_bound(seed: int, bypass: bool, mixed: bool, compression: bool) -> None:
    features = {"max_operations": 6, "max_mappings": 2, "duplex": True, "setup": True}
    features |= {"compression": compression}
    generator = np.random.default_rng(seed)
    problem = random_problem(seed, **features)
    problem = bypassed(problem, generator) if bypass else problem
    order = random_residency_plan(
        random_problem(seed, **features), generator, free_order=True
    ).steps
    # A certificate is one of the problem without the tensors that bypass the scratchpad.
    left = without_bypass(reorder(problem, order.operation)).problem
    certificate = random_certificate(left, generator, MIXED if mixed else REPLAY)
    if seed % 2:
        certificate = replace(certificate, order=order.operation)
    for each in (certificate, replace(certificate, spm_at_start=None)):
        assert bound(problem, each) == naive_replay_bound(problem, each)


def test_the_best_duals_prove_what_good_schedules_take() -> None:
    """Pages of a byte and nothing to round: so the best of some random schedules is often exact."""
    exact = 0
    features = {"page_bytes": 1, "max_tensor_pages": 4, "whole_cycles": True, "duplex": True}
    features |= {"max_mappings": 2}
    for seed in some(range(12), 2):
        problem = random_problem(seed, max_tensors=3, **features)
        generator, request = np.random.default_rng(seed), Request(objective=REPLAY, threads=1)
        certificate = need(fluid.schedule(problem, request).certificate)
        proved, best = bound(problem, certificate), 10**9
        for _ in range(16):
            residency_plan = assemble(
                problem, random_residency_plan(problem, generator, free_order=False)
            )
            totals = need(verify(problem, scatter(problem, residency_plan, generator)).totals)
            best = min(best, totals.replay_cycles)
        assert proved <= best
        exact += float(best - proved) <= 1e-6 * best
    assert exact >= share(4, 2)


@settings(max_examples=share(150), deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_page_is_of_one_tensor_at_a_time(seed: int) -> None:
    """From when a load begins to fill it, or who overwrites it starts, to the last use or store."""
    problem, schedule = random_schedule(
        seed,
        max_operations=8,
        max_tensors=6,
        max_mappings=2,
        duplex=True,
        setup=seed % 3 == 0,
        page_bytes=1 + 3 * (seed % 2),
    )
    run = need(verify(problem, schedule).replay)
    owned = dict[int, list[tuple[int, int, int]]]()
    for address, *times in owners(problem, schedule, run):
        owned.setdefault(address, []).append((times[0], times[1], times[2]))
    for spans in owned.values():
        until = 0
        for _, start, stop in sorted(spans):
            assert start >= until
            until = max(until, stop)


def owners(problem: Problem, schedule: Schedule, run: Replay) -> list[tuple[int, int, int, int]]:
    """Address, first step, and the cycles from and until which one tensor or scratch owns it."""
    table, commands, found = schedule.placements, schedule.commands, []
    moves = np.isin(commands.kind, (Command.LOAD, Command.STORE))
    page = problem.machine.page_bytes
    for row in range(len(table)):
        tensor, first = int(table.tensor[row]), int(table.begin[row])
        last = int(table.end[row])
        used = [
            step
            for step in range(first, last)
            if tensor < 0
            or tensor in problem.operations[int(schedule.steps.operation[step])].tensors
        ]
        mine = moves & (commands.tensor == tensor) & (first <= commands.step)
        mine &= commands.step < last
        for offset in range(int(table.pages[row])):
            begin = page * (int(table.tensor_page[row]) + offset)
            here = mine & (commands.begin < begin + page) & (commands.end > begin)
            loaded = run.command_start[here & (commands.kind == Command.LOAD)]
            start = int(loaded.min()) if loaded.size else int(run.operation_start[first])
            stop = max([0, *run.command_end[here].tolist(), *run.operation_end[used].tolist()])
            found.append((int(table.spm_page[row]) + offset, first, start, stop))
    return found


def swap(spm: int = 8) -> Problem:
    """A dirty tensor of the whole scratchpad leaves while an operation computes, another comes."""
    return tiny(
        {"a": (4, "keep"), "b": (4, "in"), "c": (4, "in")},
        [Op(writes="a", cycles=0), Op(reads="c", cycles=8), Op(reads="b", cycles=0)],
        spm=spm,
    )


def duals_of(problem: Problem, start: list[int], end: list[int], move: list[int]) -> Certificate:
    """Dual values in halves of a cycle."""
    columns = (np.array(each, np.int64) for each in (end, move, move))
    spm, dram_in, dram_out = columns
    return Certificate(
        objective=REPLAY,
        bits=1,
        spm=spm,
        dram_in=dram_in,
        dram_out=dram_out,
        spm_at_start=np.array(start, np.int64),
    )


def test_by_hand() -> None:
    """8 cycles of computing; 12 bytes move at a byte a cycle, 8 of them while it computes.

    At half a cycle for a byte that moves in the second step, and one at all other times, bytes
    move for 4 x 1/2 each, while computing costs 8 x 1/2: 10 in all. At one cycle a byte
    everywhere: 12.
    """
    problem = swap()
    assert bound(problem, duals_of(problem, [0] * 3, [0] * 3, [2, 1, 2])) == 10
    assert bound(problem, duals_of(problem, [0] * 3, [0] * 3, [2, 2, 2])) == 12
    # A byte held when the second operation starts pays 1, and the room costs 8: less.
    held = bound(problem, duals_of(problem, [0, 2, 0], [0] * 3, [2, 2, 2]))
    assert held == 12 - 8


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"objective": MAKESPAN}, "nothing but for the replay"),
        ({"spm_at_start": np.array([1, 2], np.int64)}, "needs 3 dual values"),
        ({"spm_at_start": np.array([1, -2, 0], np.int64)}, "none negative"),
        (
            {"dram_in": np.array([3, 0, 0]), "dram_out": np.array([3, 0, 0])},
            "exceed the dual value",
        ),
        ({"spm_at_start": np.array([2**60, 0, 0], np.int64)}, "too large"),
    ],
)
def test_refused(change: dict[str, object], said: str) -> None:
    problem = swap()
    legal = duals_of(problem, [0] * 3, [0] * 3, [1, 1, 1])
    with pytest.raises(InputError, match=said):
        bound(problem, replace(legal, **change))  # type: ignore[arg-type]
