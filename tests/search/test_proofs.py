"""The best of many cuts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from formulations.residency import fluid
from spmopt.core.problem import Problem
from spmopt.core.scheduler import Request
from spmopt.core.timeline import relax_timeline
from spmopt.search.cuts import Cut
from spmopt.search.proofs import CutPool, least_of
from tests.search.machines import elsewhere
from tests.strategies import random_problem


def solved(pool: CutPool, problem: Problem) -> Cut:
    certificate = fluid.schedule(problem, Request(threads=1)).certificate
    assert certificate is not None
    cut = Cut.of(problem, certificate)
    pool.add(cut)
    return cut


def test_it_is_the_best_of_all() -> None:
    generator = np.random.default_rng(3)
    problem = random_problem(5, max_operations=12, max_tensors=6)
    pool = CutPool()
    machines = [elsewhere(problem, generator) for _ in range(6)]
    cuts = [solved(pool, each) for each in machines[:4]]
    for each in machines:
        assert pool.alike(each) == cuts
        cycles = relax_timeline(each).compute_cycles
        every = [cut.least_cycles(cycles, each.machine) for cut in cuts]
        assert least_of(each, pool).cycles == max(least_of(each).cycles, *every)


def test_without_a_solve_it_knows_computing_and_compulsory_traffic() -> None:
    for seed in range(20):
        problem = random_problem(seed, duplex=True)
        found = least_of(problem, CutPool()).cycles
        assert found >= sum(min(m.compute_cycles for m in op.mappings) for op in problem.operations)
        first: dict[int, bool] = {}
        for operation in problem.operations:
            for tensor in operation.tensors:
                first.setdefault(tensor, tensor in operation.reads)
        reads = sum(problem.tensors[t].size_bytes for t, read in first.items() if read)
        assert found * (1 + Fraction(1, 10**9)) >= reads / problem.machine.bytes_per_cycle
