"""Cuts hold on every other machine, and are tight on their own."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.residency import fluid
from spmopt.core.errors import InputError
from spmopt.core.instance import Instance
from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective, energy_objective
from spmopt.core.operation import STATIONARY, STREAMED, Operand
from spmopt.core.result import Certificate
from spmopt.core.scheduler import Request
from spmopt.core.timeline import relaxed_timeline
from spmopt.search.cuts import Cut, fingerprint, free_prices
from spmopt.verifier import bound
from tests.formulations.plain.model import solve_plain
from tests.formulations.small import SMALL, small_optimum
from tests.search.machines import elsewhere
from tests.strategies import instances, random_instance
from tests.tiny import Op, tiny
from tests.verifier.test_bound import random_prices

SLACK = 1e-6
"""Of the linear program that cuts are compared with."""


def optimal_cut(instance: Instance) -> Cut:
    request = Request(tolerance=1e-6, threads=1)
    certificate = fluid.schedule(instance, request).certificate
    assert certificate is not None
    return Cut.of(instance, certificate)


def least(cut: Cut, instance: Instance) -> Fraction:
    return cut.least_cycles(relaxed_timeline(instance).compute_cycles, instance.machine)


def fluid_cycles(instance: Instance, objective: Objective = MAKESPAN) -> float:
    value = solve_plain(instance, objective).value
    assert value is not None
    return float(value)


def without_setups(instance: Instance) -> Instance:
    """What cuts are of."""
    return replace(instance, machine=replace(instance.machine, dma_setup_cycles=0))


def large(seed: int) -> Instance:
    return random_instance(
        seed, max_operations=16, max_tensors=7, max_modes=2, duplex=True, setup=True
    )


def test_a_cut_worked_out_by_hand() -> None:
    """x y x y with room for one: at half a price each, on any machine.

    A byte of channel for each byte moved, and one for a byte of SPM in steps 1 and 2: keeping x
    over step 1 saves a move and costs one. Lives: 16 bytes each twice, 32; room is worth 2 C.
    """
    instance = tiny(
        {"x": (8, "in"), "y": (8, "in")},
        [Op(reads="x", cycles=3), Op(reads="y"), Op(reads="x"), Op(reads="y", cycles=5)],
        spm=8,
    )
    one = np.array([0, 1, 0, 0], np.int64)
    dram = np.array([1, 1, 1, 1], np.int64)
    prices = Certificate(objective=MAKESPAN, bits=0, spm=one, dram_in=dram, dram_out=dram)
    cut = Cut.of(instance, prices)
    assert cut.life == 32
    assert cut.least_bytes(instance.machine) == 24
    for capacity, rate, cycles in ((8, 1, 24), (12, 1, 20), (8, 2, 12), (15, 4, 5)):
        machine = replace(instance.machine, spm_bytes=capacity, dram_bytes_per_s=rate)
        assert least(cut, replace(instance, machine=machine)) == cycles
    computing, channel = (Cut.of(instance, free) for free in free_prices(instance))
    assert least(computing, instance) == 8
    assert least(channel, instance) == 16


def test_set_ups_of_the_solved_machine_are_no_part_of_a_cut() -> None:
    """A byte moved is priced by its time; neither slower channels nor other set-ups see them."""
    for seed in range(12):
        instance = large(seed)
        slow = replace(instance, machine=replace(instance.machine, dma_setup_cycles=1000))
        plain = without_setups(instance)
        prices = random_prices(instance, MAKESPAN, np.random.default_rng(seed))
        for proved in (None, bound(slow, prices)):
            cut, without = Cut.of(slow, prices, proved), Cut.of(plain, prices)
            assert cut.life == without.life
            assert least(cut, plain) == bound(plain, prices)
            assert least(cut, slow) == least(without, slow) <= bound(slow, prices)


def test_cuts_are_below_the_relaxation_of_other_machines() -> None:
    for seed in range(20):
        generator = np.random.default_rng(seed)
        instance = large(seed)
        cut = optimal_cut(without_setups(instance))
        own = fluid_cycles(instance)
        assert float(least(cut, instance)) == pytest.approx(own, rel=1e-5, abs=1e-6), seed
        for _ in range(2):
            other = elsewhere(instance, generator)
            value = fluid_cycles(other)
            assert float(least(cut, other)) <= value + SLACK * max(1.0, value), seed


@settings(max_examples=10, deadline=None)
@given(instances(**SMALL), st.integers(0, 2**32))
def test_any_prices_are_below_the_optimum_of_another_machine(instance: Instance, seed: int) -> None:
    generator = np.random.default_rng(seed)
    other = elsewhere(instance, generator)
    optimum = small_optimum(other, MAKESPAN).value
    found = [optimal_cut(instance)]
    for _ in range(5):
        found.append(Cut.of(instance, random_prices(instance, MAKESPAN, generator)))
    assert all(cut.fingerprint == fingerprint(other) for cut in found)
    assert max(least(cut, other) for cut in found) <= optimum


@settings(max_examples=8, deadline=None)
@given(instances(**SMALL), st.integers(0, 2**32))
def test_bytes_of_a_cut_are_below_the_least_traffic(instance: Instance, seed: int) -> None:
    generator = np.random.default_rng(seed)
    other = elsewhere(instance, generator)
    optimum = small_optimum(other, TRAFFIC).value
    cuts = [optimal_cut(instance)]
    if not instance.machine.duplex:
        certificate = fluid.schedule(instance, Request(objective=TRAFFIC)).certificate
        assert certificate is not None
        cuts.append(Cut.of(instance, certificate))
        own = Fraction(str(fluid_cycles(instance, TRAFFIC)))
        assert cuts[1].least_bytes(instance.machine) == pytest.approx(own, rel=1e-4, abs=1e-4)
        cycles = small_optimum(other, MAKESPAN).value
        assert least(cuts[1], other) <= cycles
    assert max(cut.least_bytes(other.machine) for cut in cuts) <= optimum


def test_prices_of_operations_lowered_otherwise() -> None:
    """Those of one instance prove a bound on another with as many steps, whatever it is."""
    pairs = 0
    for seed in range(60):
        instance, other = random_instance(seed), random_instance(seed + 1000)
        if len(instance.operations) != len(other.operations):
            continue
        pairs += 1
        cut = optimal_cut(instance).on(other)
        assert float(least(cut, other)) <= fluid_cycles(other) + SLACK
    assert pairs > 8


def test_prices_return_to_their_machine() -> None:
    """There and back: the same bound but for the rounding, never above the exact one."""
    for seed in range(40):
        instance = without_setups(large(seed))
        generator = np.random.default_rng(seed)
        certificate = random_prices(instance, MAKESPAN, generator, bits=40)
        cut = Cut.of(instance, certificate)
        proved = float(bound(instance, certificate))
        assert float(least(cut, instance)) == pytest.approx(proved, rel=1e-9, abs=1e-6)
        back = cut.prices(instance.machine)
        assert float(bound(instance, back)) == pytest.approx(proved, rel=1e-9, abs=1e-6)
        other = without_setups(elsewhere(instance, generator))
        there = cut.prices(other.machine)
        proved = float(least(cut, other))
        assert float(bound(other, there)) == pytest.approx(proved, rel=1e-9, abs=1e-6)


def test_many_machines_at_once_are_rounded_down_and_little() -> None:
    for seed in range(20):
        instance = large(seed)
        generator = np.random.default_rng(seed)
        machine = instance.machine
        scale = int(10 ** generator.uniform(0, 12))
        capacity = generator.integers(machine.page_bytes, scale + 4 * machine.spm_bytes, (6, 1))
        rates = generator.integers(1, scale + 3, (1, 7))
        certificate = random_prices(instance, MAKESPAN, generator)
        cut = Cut.of(instance, certificate)
        cycles = relaxed_timeline(instance).compute_cycles
        found = cut.least_cycles_of(cycles, machine, capacity, rates)
        assert found.shape == (6, 7)
        for (i, j), value in np.ndenumerate(found):
            size, rate = int(capacity[i, 0]), int(rates[0, j])
            other = replace(machine, spm_bytes=size, dram_bytes_per_s=rate)
            exact = cut.least_cycles(cycles, other)
            prices = int(certificate.spm.sum())
            spread = float(cut.beta * (abs(cut.life) + prices * size)) / 2**certificate.bits
            assert Fraction(float(value)) <= exact
            assert exact - Fraction(float(value)) <= 1e-14 * (
                float(cycles.sum()) + spread * machine.clock_hz / rate
            )


def test_the_relaxation_is_monotone_and_convex() -> None:
    """T falls with capacity and bandwidth; convex in C, and beta T in both jointly."""
    for seed in range(12):
        instance = without_setups(large(seed))
        page, base = instance.machine.page_bytes, instance.machine.spm_pages
        clock = instance.machine.clock_hz

        def at(
            pages: int,
            rate: int,
            instance: Instance = instance,
            page: int = page,
            clock: int = clock,
        ) -> float:
            machine = replace(
                instance.machine, spm_bytes=pages * page, dram_bytes_per_s=rate * clock
            )
            return fluid_cycles(replace(instance, machine=machine))

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
    instance = tiny(
        {"x": (8, "in"), "y": (4, "keep")}, [Op(reads="x", writes="y", cycles=3)], spm=16
    )
    operation = instance.operations[0]

    def changed(**fields: Any) -> Instance:
        mode = replace(operation.modes[0], **fields)
        return replace(instance, operations=(replace(operation, modes=(mode,)),))

    machine = instance.machine
    alike = [
        replace(instance, name="z", machine=replace(machine, spm_bytes=20, dram_bytes_per_s=7)),
        changed(compute_cycles=9),
        changed(macs=4),
    ]
    assert {fingerprint(other) for other in alike} == {fingerprint(instance)}
    unlike = [
        changed(scratch_bytes=1),
        changed(operands=(STATIONARY, STREAMED)),
        changed(operands=(Operand(passes=2), STREAMED)),
        replace(instance, machine=replace(machine, duplex=True)),
        replace(
            instance, tensors=(replace(instance.tensors[0], size_bytes=9), instance.tensors[1])
        ),
        replace(instance, tensors=(instance.tensors[0], replace(instance.tensors[1], keep=False))),
    ]
    marks = {fingerprint(other) for other in (instance, *unlike)}
    assert len(marks) == 1 + len(unlike)


def test_prices_that_make_no_cut() -> None:
    instance = replace(large(1), machine=replace(large(1).machine, duplex=True))
    none = free_prices(instance)[0]
    with pytest.raises(InputError, match="on two channels traffic bounds no time"):
        Cut.of(instance, replace(none, objective=TRAFFIC))
    with pytest.raises(InputError, match="prices of energy are for one machine"):
        Cut.of(instance, replace(none, objective=energy_objective(instance.machine)))
    with pytest.raises(InputError, match="needs prices of the listed order"):
        Cut.of(instance, replace(none, order=np.arange(len(instance.operations))))
    with pytest.raises(InputError, match="one price for each of"):
        Cut.of(instance, free_prices(tiny({"x": (8, "in")}, [Op(reads="x")] * 99, spm=16))[0])
