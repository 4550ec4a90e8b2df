"""Cuts hold on every other machine, and are tight on their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.residency import fluid
from formulations.residency.plain.search import relax
from results.shared.front_bounds import least_cycles_of
from spmopt.core.errors import InputError
from spmopt.core.machine import Machine
from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective, energy_objective
from spmopt.core.operation import REQUIRED_RESIDENT, STREAMED, Operand
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.scheduler import Request
from spmopt.core.timeline import fitting_timeline, relax_timeline
from spmopt.search.cuts import Cut, fingerprint, free_duals
from spmopt.verifier import bound as bound_with_pages
from tests.formulations.plain.values import plain_value
from tests.formulations.small import SMALL, small_optimum
from tests.search.machines import elsewhere
from tests.strategies import problems, random_problem
from tests.thorough import share, some
from tests.tiny import Op, tiny
from tests.verifier.test_bound import random_duals

SLACK = 1e-6
"""Of the linear program that cuts are compared with."""


def bound(problem: Problem, certificate: Certificate) -> Fraction:
    """Prove as much as cuts do: pages of other machines are of any size."""
    return bound_with_pages(problem, certificate, pages=False)


def optimal_cut(problem: Problem) -> Cut:
    request = Request(tolerance=1e-6, threads=1)
    certificate = fluid.schedule(problem, request).certificate
    assert certificate is not None
    return Cut.of(problem, certificate)


def least(cut: Cut, problem: Problem) -> Fraction:
    return cut.least_cycles(relax_timeline(problem).compute_cycles, problem.machine)


def fluid_cycles(problem: Problem, objective: Objective = MAKESPAN) -> float:
    return plain_value(problem, objective)


def without_setups(problem: Problem) -> Problem:
    """What cuts are of."""
    return replace(problem, machine=replace(problem.machine, dma_setup_cycles=0))


def large(seed: int) -> Problem:
    return random_problem(
        seed, max_operations=16, max_tensors=7, max_mappings=2, duplex=True, setup=True
    )


def test_a_cut_worked_out_by_hand() -> None:
    """x y x y with room for one: at half a dual value each, on any machine.

    A byte of channel for each byte moved, and one for a byte of SPM in steps 1 and 2: keeping x
    over step 1 saves a move and costs one. Lives: 16 bytes each twice, 32; room is worth 2 C.
    """
    problem = tiny(
        {"x": (8, "in"), "y": (8, "in")},
        [Op(reads="x", cycles=3), Op(reads="y"), Op(reads="x"), Op(reads="y", cycles=5)],
        spm=8,
    )
    one = np.array([0, 1, 0, 0], np.int64)
    dram = np.array([1, 1, 1, 1], np.int64)
    duals = Certificate(objective=MAKESPAN, bits=0, spm=one, dram_in=dram, dram_out=dram)
    cut = Cut.of(problem, duals)
    assert cut.life == 32
    assert cut.least_bytes(problem.machine) == 24
    for capacity, rate, cycles in ((8, 1, 24), (12, 1, 20), (8, 2, 12), (15, 4, 5)):
        machine = replace(problem.machine, spm_bytes=capacity, dram_bytes_per_s=rate)
        assert least(cut, replace(problem, machine=machine)) == cycles
    computing, channel = (Cut.of(problem, free) for free in free_duals(problem))
    assert least(computing, problem) == 8
    assert least(channel, problem) == 16


def known(problem: Problem, duals: Certificate) -> Fraction:
    """Return a bound: random duals of mappings may lower it, and of these a cut knows nothing."""
    return max(bound(problem, duals), bound(problem, replace(duals, uses=None, rooms=None)))


def test_set_ups_of_the_solved_machine_are_no_part_of_a_cut() -> None:
    """A byte moved is priced by its time; neither slower channels nor other set-ups see them."""
    for seed in range(share(12)):
        problem = large(seed)
        slow = replace(problem, machine=replace(problem.machine, dma_setup_cycles=1000))
        plain = without_setups(problem)
        duals = random_duals(problem, MAKESPAN, np.random.default_rng(seed))
        for proved in (None, bound(slow, duals)):
            cut, without = Cut.of(slow, duals, proved), Cut.of(plain, duals)
            assert cut.life == without.life
            assert least(cut, plain) <= known(plain, duals)
            assert plain.several_mappings or least(cut, plain) == bound(plain, duals)
            assert least(cut, slow) == least(without, slow) <= known(slow, duals)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: replace(m, spm_bytes=m.spm_bytes + 4),
        lambda m: replace(m, clock_hz=2 * m.clock_hz),
    ],
    ids=["larger", "faster clock"],
)
def test_cuts_are_below_the_optimum_over_mappings_elsewhere(
    change: Callable[[Machine], Machine],
) -> None:
    """Duals of mappings and of their rooms prove nothing there: 14 of 271 such cuts were false."""
    compared = 0
    for seed in some(range(120), 3):
        problem = random_problem(
            seed, max_operations=4, max_tensors=3, page_bytes=2, max_mappings=3, scratch=True
        )
        found = relax(problem, Request(), fitting_timeline(problem))
        if found is None or not problem.several_mappings:
            continue
        cut = Cut.of(problem, found.certificate)
        other = replace(problem, machine=change(problem.machine))
        assert least(cut, other) <= small_optimum(other, MAKESPAN).value, seed
        compared += 1
    assert compared > 9


def test_cuts_are_below_the_relaxation_of_other_machines() -> None:
    for seed in range(share(20)):
        generator = np.random.default_rng(seed)
        problem = large(seed)
        cut = optimal_cut(without_setups(problem))
        own = fluid_cycles(problem)
        if not problem.several_mappings:  # of duals of mappings a cut knows nothing
            assert float(least(cut, problem)) == pytest.approx(own, rel=1e-5, abs=1e-6), seed
        for _ in range(2):
            other = elsewhere(problem, generator)
            value = fluid_cycles(other)
            assert float(least(cut, other)) <= value + SLACK * max(1.0, value), seed


@settings(max_examples=10, deadline=None)
@given(problems(**SMALL), st.integers(0, 2**32))
def test_any_duals_are_below_the_optimum_of_another_machine(problem: Problem, seed: int) -> None:
    generator = np.random.default_rng(seed)
    other = elsewhere(problem, generator)
    optimum = small_optimum(other, MAKESPAN).value
    found = [optimal_cut(problem)]
    for _ in range(5):
        found.append(Cut.of(problem, random_duals(problem, MAKESPAN, generator)))
    assert all(cut.fingerprint == fingerprint(other) for cut in found)
    assert max(least(cut, other) for cut in found) <= optimum


@settings(max_examples=8, deadline=None)
@given(problems(**SMALL), st.integers(0, 2**32))
def test_bytes_of_a_cut_are_below_the_least_traffic(problem: Problem, seed: int) -> None:
    generator = np.random.default_rng(seed)
    other = elsewhere(problem, generator)
    optimum = small_optimum(other, TRAFFIC).value
    cuts = [optimal_cut(problem)]
    if not problem.machine.duplex:
        certificate = fluid.schedule(problem, Request(objective=TRAFFIC)).certificate
        assert certificate is not None
        cuts.append(Cut.of(problem, certificate))
        own = Fraction(str(fluid_cycles(problem, TRAFFIC)))
        if not problem.several_mappings:
            found = cuts[1].least_bytes(problem.machine)
            assert found == pytest.approx(own, rel=1e-4, abs=1e-4)
        cycles = small_optimum(other, MAKESPAN).value
        assert least(cuts[1], other) <= cycles
    assert max(cut.least_bytes(other.machine) for cut in cuts) <= optimum


def test_many_machines_at_once_are_rounded_down_and_little() -> None:
    for seed in range(share(20)):
        problem = large(seed)
        generator = np.random.default_rng(seed)
        machine = problem.machine
        scale = int(10 ** generator.uniform(0, 12))
        capacity = generator.integers(machine.page_bytes, scale + 4 * machine.spm_bytes, (6, 1))
        rates = generator.integers(1, scale + 3, (1, 7))
        certificate = random_duals(problem, MAKESPAN, generator)
        cut = Cut.of(problem, certificate)
        cycles = relax_timeline(problem).compute_cycles
        found = least_cycles_of(cut, cycles, machine, capacity, rates)
        assert found.shape == (6, 7)
        for (i, j), value in np.ndenumerate(found):
            size, rate = int(capacity[i, 0]), int(rates[0, j])
            other = replace(machine, spm_bytes=size, dram_bytes_per_s=rate)
            exact = cut.least_cycles(cycles, other)
            duals = int(certificate.spm.sum())
            spread = float(cut.beta * (abs(cut.life) + duals * size)) / 2**certificate.bits
            assert Fraction(float(value)) <= exact
            assert exact - Fraction(float(value)) <= 1e-14 * (
                float(cycles.sum()) + spread * machine.clock_hz / rate
            )


def test_the_relaxation_is_monotone_and_convex() -> None:
    """T falls with capacity and bandwidth; convex in C, and beta T in both jointly."""
    for seed in range(share(12)):
        problem = without_setups(large(seed))
        page, base = problem.machine.page_bytes, problem.machine.spm_pages
        clock = problem.machine.clock_hz

        def at(
            pages: int,
            rate: int,
            problem: Problem = problem,
            page: int = page,
            clock: int = clock,
        ) -> float:
            machine = replace(
                problem.machine, spm_bytes=pages * page, dram_bytes_per_s=rate * clock
            )
            return fluid_cycles(replace(problem, machine=machine))

        value = {(c, r): at(base + c, r) for c in (0, 1, 2) for r in (1, 2, 3)}
        slack = SLACK * (1 + value[0, 1])
        for (c, r), cycles in value.items():
            assert cycles <= value.get((c - 1, r), np.inf) + slack
            assert cycles <= value.get((c, r - 1), np.inf) + slack
        for r in (1, 2, 3):
            assert 2 * value[1, r] <= value[0, r] + value[2, r] + slack
        for one, other in (((0, 1), (2, 3)), ((0, 3), (2, 1)), ((1, 1), (1, 3))):
            ends = one[1] * value[one] + other[1] * value[other]
            assert 2 * 2 * value[1, 2] <= ends + 4 * slack


def test_what_fingerprints_tell_apart() -> None:
    problem = tiny(
        {"x": (8, "in"), "y": (4, "keep")}, [Op(reads="x", writes="y", cycles=3)], spm=16
    )
    operation = problem.operations[0]

    def changed(**fields: Any) -> Problem:
        mapping = replace(operation.mappings[0], **fields)
        return replace(problem, operations=(replace(operation, mappings=(mapping,)),))

    machine = problem.machine
    alike = [
        replace(problem, name="z", machine=replace(machine, spm_bytes=20, dram_bytes_per_s=7)),
        changed(compute_cycles=9),
        changed(macs=4),
    ]
    assert {fingerprint(other) for other in alike} == {fingerprint(problem)}
    unlike = [
        changed(scratch_bytes=1),
        changed(operands=(REQUIRED_RESIDENT, STREAMED)),
        changed(operands=(Operand(fetches=2), STREAMED)),
        replace(problem, machine=replace(machine, duplex=True)),
        replace(problem, tensors=(replace(problem.tensors[0], size_bytes=9), problem.tensors[1])),
        replace(problem, tensors=(problem.tensors[0], replace(problem.tensors[1], keep=False))),
    ]
    marks = {fingerprint(other) for other in (problem, *unlike)}
    assert len(marks) == 1 + len(unlike)


def test_duals_that_make_no_cut() -> None:
    problem = replace(large(1), machine=replace(large(1).machine, duplex=True))
    none = free_duals(problem)[0]
    with pytest.raises(InputError, match="on two channels traffic bounds no time"):
        Cut.of(problem, replace(none, objective=TRAFFIC))
    with pytest.raises(InputError, match="dual values of energy are for one machine"):
        Cut.of(problem, replace(none, objective=energy_objective(problem.machine)))
    with pytest.raises(InputError, match="needs dual values of the listed order"):
        Cut.of(problem, replace(none, order=np.arange(len(problem.operations))))
    with pytest.raises(InputError, match="one dual value for each of"):
        Cut.of(problem, free_duals(tiny({"x": (8, "in")}, [Op(reads="x")] * 99, spm=16))[0])
