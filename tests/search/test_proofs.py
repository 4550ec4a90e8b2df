"""The best of many cuts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from formulations.residency import fluid
from spmopt.core.instance import Instance
from spmopt.core.scheduler import Request
from spmopt.core.timeline import relaxed_timeline
from spmopt.search.proofs import CutPool
from tests.search.machines import elsewhere
from tests.strategies import random_instance


def solved(pool: CutPool, instance: Instance) -> None:
    certificate = fluid.schedule(instance, Request(threads=1)).certificate
    assert certificate is not None
    pool.add(instance, certificate)


def test_it_is_the_best_of_all() -> None:
    generator = np.random.default_rng(3)
    instance = random_instance(5, max_operations=12, max_tensors=6)
    pool = CutPool()
    machines = [elsewhere(instance, generator) for _ in range(6)]
    for each in machines[:4]:
        solved(pool, each)
    assert len(pool) == 4
    for each in machines:
        found = pool.best(each)
        cycles = relaxed_timeline(each).compute_cycles
        every = [cut.least_cycles(cycles, each.machine) for cut in pool.alike(each)]
        assert found.cycles == max(every)
        assert found.cut.least_cycles(cycles, each.machine) == found.cycles


def test_without_a_solve_it_knows_computing_and_compulsory_traffic() -> None:
    for seed in range(20):
        instance = random_instance(seed, duplex=True)
        found = CutPool().best(instance).cycles
        assert found >= sum(min(m.compute_cycles for m in op.modes) for op in instance.operations)
        first: dict[int, bool] = {}
        for operation in instance.operations:
            for tensor in operation.tensors:
                first.setdefault(tensor, tensor in operation.reads)
        reads = sum(instance.tensors[t].size_bytes for t, read in first.items() if read)
        assert found * (1 + Fraction(1, 10**9)) >= reads / instance.machine.bytes_per_cycle


def test_prices_from_elsewhere_are_kept_once() -> None:
    instance, other = (random_instance(seed, max_operations=3) for seed in (2, 10))
    assert len(instance.operations) == len(other.operations)
    pool = CutPool()
    solved(pool, instance)
    before = pool.best(other).cycles
    size = len(pool)
    after = pool.best(other, elsewhere=5).cycles
    assert after >= before
    assert len(pool) == size + 1
    pool.best(other, elsewhere=5)
    assert len(pool) == size + 1
