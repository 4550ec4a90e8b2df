"""The best of many cuts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from formulations.residency import fluid
from spmopt.core.instance import Instance
from spmopt.core.scheduler import Request
from spmopt.core.timeline import relaxed_timeline
from spmopt.search.cuts import Cut, fingerprint
from spmopt.search.proofs import CutPool, least_of
from tests.search.machines import elsewhere
from tests.strategies import random_instance


def solved(pool: CutPool, instance: Instance) -> Cut:
    certificate = fluid.schedule(instance, Request(threads=1)).certificate
    assert certificate is not None
    return pool.put(Cut.of(instance, certificate))


def test_it_is_the_best_of_all() -> None:
    generator = np.random.default_rng(3)
    instance = random_instance(5, max_operations=12, max_tensors=6)
    pool = CutPool()
    machines = [elsewhere(instance, generator) for _ in range(6)]
    cuts = [solved(pool, each) for each in machines[:4]]
    for each in machines:
        assert pool.alike(each) == cuts
        cycles = relaxed_timeline(each).compute_cycles
        every = [cut.least_cycles(cycles, each.machine) for cut in cuts]
        assert least_of(each, pool).cycles == max(least_of(each).cycles, *every)


def test_without_a_solve_it_knows_computing_and_compulsory_traffic() -> None:
    for seed in range(20):
        instance = random_instance(seed, duplex=True)
        found = least_of(instance, CutPool()).cycles
        assert found >= sum(min(m.compute_cycles for m in op.modes) for op in instance.operations)
        first: dict[int, bool] = {}
        for operation in instance.operations:
            for tensor in operation.tensors:
                first.setdefault(tensor, tensor in operation.reads)
        reads = sum(instance.tensors[t].size_bytes for t, read in first.items() if read)
        assert found * (1 + Fraction(1, 10**9)) >= reads / instance.machine.bytes_per_cycle


def test_prices_from_elsewhere_are_kept_once() -> None:
    instance, other = (random_instance(seed, max_operations=3) for seed in (2, 10))
    steps, mark = len(other.operations), fingerprint(other)
    assert len(instance.operations) == steps
    pool = CutPool()
    cut = solved(pool, instance)
    before = least_of(other, pool).cycles
    assert pool.unused(mark, steps) == [cut]
    assert pool.unused(mark, steps + 1) == []
    pool.put(cut.on(other))
    assert least_of(other, pool).cycles >= before
    assert pool.unused(mark, steps) == []
