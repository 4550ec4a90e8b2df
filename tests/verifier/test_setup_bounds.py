"""What set-ups add to bounds: never too much, at any size of tensors, dual values and set-ups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from formulations.residency import fluid
from spmopt.assemble import assemble
from spmopt.core.bypass import without_bypass
from spmopt.core.errors import InputError
from spmopt.core.objective import MAKESPAN, REPLAY, Objective
from spmopt.core.order import reorder
from spmopt.core.problem import Problem
from spmopt.core.result import WHOLE_TENSORS, Certificate
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.verifier import bound, verify
from tests.checked import need
from tests.strategies import random_problem
from tests.thorough import some
from tests.verifier.builders import operation, tensor
from tests.verifier.naive_bound import naive_bound
from tests.verifier.naive_replay_bound import naive_replay_bound
from tests.verifier.random_plans import random_residency_plan, scatter
from tests.verifier.test_bound import chain, duals, leave_pages_out, objectives, random_duals
from tests.verifier.test_replay_bound import MIXED, bypassed, random_certificate

SETUPS = (1, 3, 17, 300, 10**6, 10**9)


def drawn(seed: int, generator: np.random.Generator) -> Problem:
    """Up to tensors of 2**40 bytes, and set-ups from next to nothing to nearly all of the time."""

    def some_of(*values: int) -> int:
        return int(generator.choice(values))

    problem = random_problem(
        seed,
        max_operations=some_of(2, 5, 8),
        max_tensors=some_of(1, 3, 5),
        max_mappings=some_of(1, 3),
        duplex=True,
        page_bytes=some_of(1, 4, 4096, 2**38),
        max_tensor_pages=some_of(1, 3),
        max_compute_cycles=some_of(0, 12, 1000),
        compression=seed % 5 == 4,
    )
    machine = replace(problem.machine, dma_setup_cycles=some_of(*SETUPS))
    if seed % 3 == 0:
        rate, clock = some_of(1, 7, 10**6), some_of(1, 3, 10**5)
        machine = replace(machine, dram_bytes_per_s=rate, clock_hz=clock)
    return replace(problem, machine=machine)


def priced(
    problem: Problem, objective: Objective, generator: np.random.Generator, order: Ints | None
) -> Certificate:
    """Legal dual values for an order."""
    there = problem if order is None else reorder(problem, order)
    if objective.replayed:
        return replace(random_certificate(there, generator, objective), order=order)
    bits = (0, 7, 20, 44)[int(generator.integers(4))]
    return replace(random_duals(there, objective, generator, bits), order=order)


def test_no_legal_schedule_costs_less() -> None:
    """Makespan, traffic, energy, mixtures and replay; in other orders; beside what bypasses."""
    checked = 0
    for seed in some(range(240)):
        generator = np.random.default_rng(seed)
        problem = drawn(seed, generator)
        problem = bypassed(problem, generator) if seed % 4 == 3 else problem
        free = seed % 2 == 1
        residency_plan = random_residency_plan(
            without_bypass(problem).problem, generator, free_order=free
        )
        order = residency_plan.steps.operation if free else None
        schedule = assemble(problem, residency_plan)
        totals = verify(problem, scatter(problem, schedule, generator)).totals
        if totals is None and problem.bypassing:
            continue  # what bypasses was kept by chance
        for objective in (*objectives(problem), REPLAY, MIXED):
            try:
                certificate = priced(problem, objective, generator, order)
                proved = bound(problem, certificate)
            except (InputError, OverflowError):
                continue  # dual values beyond 64 bits
            checked += 1
            assert proved <= need(totals).value(objective), (seed, objective.name)
    assert checked > len(some(range(240))) * 4


def test_equal_to_the_bounds_from_the_rules_until_64_bits_are_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And below them from there on: set-ups are cut off, nothing overflows."""
    leave_pages_out(monkeypatch)
    equal = less = 0
    small = list[bool]()
    for seed in some(range(240)):
        generator = np.random.default_rng(seed)
        problem = drawn(seed, generator)
        for objective in (*objectives(problem), REPLAY, MIXED):
            try:
                certificate = priced(problem, objective, generator, None)
                proved = bound(problem, certificate)
            except (InputError, OverflowError):
                continue
            naive = naive_replay_bound if objective.replayed else naive_bound
            expected = naive(problem, certificate)
            equal += proved == expected
            less += proved < expected
            assert proved <= expected, (seed, objective.name)
            if problem.machine.dma_setup_cycles <= 300 and certificate.bits <= 20:
                small.append(proved == expected)
    assert equal > 20 * less > 0
    # In a stretch of steps the least move by bytes and the least set-up may be in two steps.
    assert sum(small) >= 0.99 * len(small)


@pytest.mark.parametrize("setup", [10**9, 10**12, 10**15])
def test_a_set_up_beyond_64_bits_is_cut_off(monkeypatch: pytest.MonkeyPatch, setup: int) -> None:
    """One byte, read twice: set-ups beyond what a path may cost prove as much as that."""
    leave_pages_out(monkeypatch)
    problem = chain(
        (tensor("x", 1, "d"),), operation("a", (0,), (), 0), operation("b", (0,), (), 0)
    )
    problem = replace(problem, machine=replace(problem.machine, dma_setup_cycles=setup))
    bits = 44
    one = 2**bits
    proved = bound(problem, duals(MAKESPAN, [0, 0], [one, one], bits=bits))
    most = (2**59 - 4 * one) // 12  # of each of four moves at two uses, and four more
    assert most * (1 - 2**-16) <= (proved - 1) * one <= most  # and its last digits


def test_bounds_of_classes_hold_for_their_schedules() -> None:
    """That of whole tensors has set-ups."""
    for seed in some(range(90)):
        generator = np.random.default_rng(seed)
        problem = drawn(seed, generator)
        plain = replace(problem, machine=replace(problem.machine, dma_setup_cycles=0))
        certificate = random_duals(problem, MAKESPAN, generator, bits=7)
        of_class = replace(certificate, holds_for=WHOLE_TENSORS)
        proved, without = (bound(each, of_class, WHOLE_TENSORS) for each in (problem, plain))
        assert proved >= without


@pytest.mark.parametrize("setup", [3, 10**6])
def test_duals_found_prove_no_less_for_set_ups(setup: int) -> None:
    """What is searched with set-ups proves as much as what is searched without, and more of it."""
    more = 0
    for seed in some(range(15)):
        problem = random_problem(seed, max_operations=4, max_tensors=4, duplex=True)
        machine = replace(problem.machine, dma_setup_cycles=setup)
        found = []
        for each in (problem, replace(problem, machine=machine)):
            certificate = need(fluid.schedule(each, Request(threads=1)).certificate)
            found.append(bound(each, certificate))
        assert found[1] >= found[0] * (1 - 2**-30)
        more += found[1] > found[0]
    assert more >= len(some(range(15))) * 3 // 4
