"""Hand-made schedules that came near to what duals of the replay prove, and what they rest on."""

from __future__ import annotations

import numpy as np
import pytest

from formulations.residency import fluid
from spmopt.assemble import assemble
from spmopt.core.instants import by_instants, bytes_held_early
from spmopt.core.objective import REPLAY
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.schedule import Residency, ResidencyPlan, Steps, Stores
from spmopt.core.scheduler import Request
from spmopt.core.timeline import timeline
from spmopt.verifier import bound, require_legal
from tests.strategies import random_problem
from tests.thorough import some
from tests.tiny import Op, tiny
from tests.verifier.random_plans import random_residency_plan, scatter

DUALS = ((0, 1, 2), (0, 2), (0, 1, 2))
"""In halves of a cycle: of a byte that moves, one held at a start, and one held at an end."""


def returning(duplex: bool) -> Problem:
    """What the first operation streams out while it computes, the second needs on chip."""
    return tiny(
        {"a": (8, "")},
        [Op(writes="a", cycles=20), Op(reads="a", cycles=3, required_resident="a")],
        spm=8,
        duplex=duplex,
    )


def overwriting(duplex: bool) -> Problem:
    """A result takes the pages of an operand, another comes while it is written."""
    return tiny(
        {"a": (8, "in"), "b": (8, "keep"), "c": (4, "in")},
        [Op(reads="a", cycles=4, required_resident="a"), Op(writes="b", cycles=4), Op(reads="c b")],
        spm=12,
        duplex=duplex,
    )


def random_duals(problem: Problem, generator: np.random.Generator) -> Certificate:
    count = len(problem.operations)
    move, start, end = (generator.choice(values, count) for values in DUALS)
    if problem.machine.duplex:
        into = np.minimum(move, generator.choice((0, 1, 2), count))
        return duals(start, end, into, np.minimum(move, 2 - into))
    return duals(start, end, move, move)


def duals(*columns: np.ndarray) -> Certificate:
    start, end, into, out = (column.astype(np.int64) for column in columns)
    return Certificate(
        objective=REPLAY, bits=1, spm=end, dram_in=into, dram_out=out, spm_at_start=start
    )


def replayed(problem: Problem, residency_plan: ResidencyPlan) -> int:
    totals = require_legal(problem, assemble(problem, residency_plan)).totals
    assert totals is not None
    return totals.replay_cycles


@pytest.mark.parametrize("duplex", [False, True])
@pytest.mark.parametrize("made", [returning, overwriting])
def test_all_kinds_of_duals_below_many_schedules(made: object, duplex: bool) -> None:
    assert callable(made)
    problem: Problem = made(duplex)
    generator = np.random.default_rng(1)
    least = min(
        replayed(problem, random_residency_plan(problem, generator, free_order=False))
        for _ in range(60)
    )
    for _ in range(300):
        assert bound(problem, random_duals(problem, generator)) <= least


def giving_way() -> Problem:
    """A result leaves for DRAM while another is written that the next operation needs on chip."""
    return tiny(
        {"b": (8, "keep"), "a": (8, "")},
        [
            Op(writes="b", required_resident="b"),
            Op(writes="a", cycles=20),
            Op(reads="a", required_resident="a"),
        ],
        spm=8,
    )


def test_bytes_streamed_out_come_back_when_their_writer_has_ended() -> None:
    """20 cycles of computing, and 8 bytes that either way nothing hides: exact, to the cycle.

    b is on chip when the second operation starts, or has left before; a takes its pages then, or is
    streamed out and loaded afterwards.
    """
    problem = giving_way()
    stays, returns = [(0, 0, 1, 8), (1, 1, 3, 8)], [(0, 0, 2, 8), (1, 2, 3, 8)]
    for rows, store in ((stays, (0, 0, 8)), (returns, (1, 0, 8))):
        residency_plan = ResidencyPlan(
            steps=Steps.listed(np.zeros(3, np.int64)),
            residency=Residency.of_rows(rows),
            stores=Stores.of_rows([store]),
        )
        assert replayed(problem, residency_plan) == 28
    move = np.array([0, 0, 2])
    certificate = duals(np.array([0, 2, 0]), np.zeros(3), move, move)
    assert bound(problem, certificate) == 28


def test_what_is_written_blindly_is_held_when_its_operation_starts() -> None:
    """Two parts of its step, and all other accesses one; all accesses are at the end."""
    problem = overwriting(duplex=False)
    line = timeline(problem, Steps.listed(np.zeros(3, np.int64)))
    assert bytes_held_early(line).tolist() == [False, True, False, False]
    assert by_instants(line).step.tolist() == [2, 5, 8, 8]


@pytest.mark.parametrize("seed", some(range(60)))
def test_the_best_duals_below_scattered_schedules(seed: int) -> None:
    """All features at a time, with pages of a byte so that little is lost to rounding."""
    problem = random_problem(
        seed,
        max_operations=6,
        max_tensors=5,
        max_mappings=1 + seed % 2,
        page_bytes=1,
        aligned=True,
        whole_cycles=True,
        duplex=True,
        max_compute_cycles=6 * (seed % 3),
    )
    generator = np.random.default_rng(seed)
    request = Request(objective=REPLAY, threads=1)
    certificate = fluid.schedule(problem, request).certificate
    assert certificate is not None
    proved = bound(problem, certificate)
    for _ in range(20):
        residency_plan = assemble(
            problem, random_residency_plan(problem, generator, free_order=False)
        )
        totals = require_legal(problem, scatter(problem, residency_plan, generator)).totals
        assert totals is not None
        assert proved <= totals.replay_cycles
