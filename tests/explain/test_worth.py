"""Slopes of the certified bound: exact lines, that no better bound crosses, and that it follows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from formulations.residency import fluid
from spmopt.analysis.shadow_prices import ShadowPrices, little_bandwidth
from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective, energy_objective
from spmopt.core.order import reorder
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.scheduler import Request
from spmopt.reporting.explanation import duals_parts, duals_record
from spmopt.reporting.tables import plain_text
from spmopt.verifier import bound
from tests.hardware.toys import toy_memory
from tests.instances import golden
from tests.strategies import random_problem
from tests.tiny import Op, tiny
from tests.verifier.test_bound import leave_pages_out

ROUNDING = 1e-6
"""Of dual values to multiples of ``2**-bits``, relative."""


def priced(problem: Problem, objective: Objective = MAKESPAN) -> Certificate:
    """The dual values of the relaxation, as good as they get."""
    request = Request(objective=objective, tolerance=1e-7, threads=1)
    certificate = fluid.schedule(problem, request).certificate
    assert certificate is not None
    return certificate


def best(problem: Problem, objective: Objective = MAKESPAN) -> Fraction:
    """The best bound, solved anew."""
    return bound(problem, priced(problem, objective))


def with_pages(problem: Problem, pages: int) -> Problem:
    machine = problem.machine
    return replace(
        problem,
        machine=replace(machine, spm_bytes=machine.spm_bytes + pages * machine.page_bytes),
    )


def with_rate(problem: Problem, factor: Fraction) -> Problem:
    """More bytes a cycle; the clock is scaled, too, so that both are whole numbers."""
    machine = problem.machine
    return replace(
        problem,
        machine=replace(
            machine,
            clock_hz=machine.clock_hz * factor.denominator,
            dram_bytes_per_s=machine.dram_bytes_per_s * factor.numerator,
        ),
    )


@cache
def priced_cases() -> list[tuple[Problem, ShadowPrices]]:
    """With what their best dual values for time say."""
    return [(problem, ShadowPrices.of(problem, priced(problem))) for problem in cases()]


def cases() -> list[Problem]:
    """Three of networks, and random ones of which half have two channels."""
    return [
        *(golden.problem(name) for name in ("residual", "lstm", "mlp")),
        *(
            random_problem(
                seed, max_operations=12, max_tensors=8, required_resident=False, duplex=True
            )
            for seed in range(2)
        ),
    ]


def test_by_hand() -> None:
    # a, 8 bytes, is read twice, 8 cycles each time unless it stays; 4 bytes can, which spares 4 of
    # the cycles: 12. Each byte more spares another; the channel's time is all there is.
    problem = tiny({"a": (8, "in")}, [Op(reads="a"), Op(reads="a")], spm=4)
    worth = ShadowPrices.of(problem, priced(problem))
    assert float(worth.bound) == pytest.approx(12, rel=ROUNDING)
    assert float(worth.spm.per_byte) == pytest.approx(1, rel=ROUNDING)
    # 12 bytes at b bytes a cycle take 12 / b: the slope at 1 is 12.
    assert float(worth.per_byte_per_s) == pytest.approx(12, rel=ROUNDING)
    assert worth.spm.dual.sum() == pytest.approx(1, rel=ROUNDING)
    assert worth.channel_dual == pytest.approx([1, 1], rel=ROUNDING)


def test_no_bandwidth_shortens_set_ups() -> None:
    """Of a command of 8 bytes and 108 cycles, 1 % more bandwidth saves 8 / 101 cycles."""
    problem = tiny({"a": (8, "in")}, [Op(reads="a"), Op(reads="a")], spm=4)
    machine = replace(problem.machine, dram_bytes_per_s=100, clock_hz=100)
    problem = replace(problem, machine=replace(machine, dma_setup_cycles=100))
    duals = Certificate(
        objective=MAKESPAN,
        bits=20,
        spm=np.array([0, 2**20]),
        dram_in=np.array([2**20, 2**20]),
        dram_out=np.array([2**20, 2**20]),
    )
    worth = ShadowPrices.of(problem, duals)
    plain = replace(problem, machine=replace(problem.machine, dma_setup_cycles=0))
    assert worth.bound >= bound(plain, duals) + 100
    # Of 8 bytes moved, which take 8 / 1.01 cycles then; what is held costs what it did.
    assert float(worth.per_byte_per_s) == pytest.approx(8 / 101, rel=1e-3)


@pytest.mark.parametrize(("rate", "held"), [(1, True), (2, False), (None, False)])
def test_banks_that_hold_the_channel_back(rate: int | None, held: bool) -> None:
    problem = tiny({"a": (8, "in")}, [Op(reads="a"), Op(reads="a")], spm=4)
    memory = toy_memory(
        problem.machine, rate and 5, rate, banks=rate and 1, dram_bytes_per_s=3 if held else 1
    )
    machine = replace(problem.machine, dram_bytes_per_s=1, clock_hz=1, memory=memory)
    worth = ShadowPrices.of(replace(problem, machine=machine), priced(problem))
    assert float(worth.bound) == pytest.approx(12, rel=ROUNDING)
    assert float(worth.per_byte_per_s) == pytest.approx(0 if held else 12, rel=ROUNDING)
    text = plain_text(duals_parts(machine, worth))
    assert ("more saves nothing: the SPM banks limit the channel" in text) == held
    assert "energy and leakage of the SPM stay as they are" in text.splitlines()[-1]


def test_what_computes_all_the_time_gains_nothing() -> None:
    problem = tiny({"a": (8, "in")}, [Op(reads="a", cycles=20), Op(reads="a", cycles=20)], spm=4)
    worth = ShadowPrices.of(problem, priced(problem))
    assert float(worth.bound) == pytest.approx(40, rel=ROUNDING)
    slopes = float(worth.spm.per_byte), float(worth.per_byte_per_s)
    assert slopes == pytest.approx((0, 0), abs=1e-5)
    assert worth.channel_dual == pytest.approx([0, 0], abs=1e-6)


def test_the_line_along_the_capacity_is_what_the_duals_prove() -> None:
    traffic = [(i, ShadowPrices.of(i, priced(i, TRAFFIC))) for i in cases()[2:5]]
    for problem, worth in priced_cases() + traffic:
        assert worth.bound == bound(problem, worth.certificate)
        for pages in (1, 7):
            line = worth.bound - pages * problem.machine.page_bytes * worth.spm.per_byte
            assert bound(with_pages(problem, pages), worth.certificate) == line


def test_duals_at_starts_count_on_the_line_along_the_capacity() -> None:
    """Of the replay, which prices a byte held at the start of an operation and at its end."""
    at_starts = False
    for problem, worth in priced_cases():
        proof, steps = worth.certificate, replace(worth.certificate.objective, replayed=True)
        half = proof.spm // 2
        both = replace(proof, objective=steps, spm=proof.spm - half, spm_at_start=half)
        found = ShadowPrices.of(problem, both)
        assert found.bound == bound(problem, both)
        line = found.bound - problem.machine.page_bytes * found.spm.per_byte
        assert bound(with_pages(problem, 1), both) == line
        assert found.spm.dual == pytest.approx(worth.spm.dual)
        at_starts = at_starts or bool(half.any())
    assert at_starts


def test_no_better_bound_is_below_the_line_and_next_to_it_is_the_best() -> None:
    steep = 0
    for problem, worth in priced_cases():
        page = problem.machine.page_bytes
        slack = float(worth.bound) * 1e-5 + 1e-9
        before = None
        for pages in (1, 3):
            new = best(with_pages(problem, pages))
            assert float(new) >= float(worth.bound - pages * page * worth.spm.per_byte) - slack
            gain = float(worth.bound - new) / (pages * page)
            # Convex in the capacity: what a page gains on average falls with their number.
            assert before is None or gain <= before + slack
            before = gain
        steep += float(worth.spm.per_byte) * page > slack
    assert steep >= 3


def test_bandwidth_by_a_little_more_and_less() -> None:
    """Bounds solved anew are above the line, and differ from it by less than they move."""
    moved = 0
    for problem, worth in priced_cases():
        rate = problem.machine.dram_bytes_per_s
        fixed = worth.bound - rate * worth.per_byte_per_s
        for factor in (Fraction(1001, 1000), Fraction(999, 1000)):
            new = best(with_rate(problem, factor))
            line = fixed + (worth.bound - fixed) / factor
            slack = float(worth.bound) * 1e-5 + 1e-9
            assert float(new) >= float(line) - slack
            change = abs(float(line - worth.bound))
            assert float(new) <= float(line) + slack + change
            moved += change > slack
    assert moved >= 6


def test_energy_with_leakage_is_bounded_at_more_bandwidth(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    leave_pages_out(monkeypatch)  # the search for the best duals knows bytes alone
    compared = 0
    for problem in cases()[1:5]:
        machine = replace(problem.machine, dram_bytes_per_s=256, clock_hz=256)
        machine = replace(
            machine,
            energy=replace(machine.energy, leakage_w=1e-9, dram_pj_per_byte=0.25),
        )
        leaking = replace(problem, machine=machine)
        objective = energy_objective(machine)
        worth = ShadowPrices.of(leaking, priced(leaking, objective))
        more = little_bandwidth(machine)
        faster = replace(leaking, machine=replace(machine, dram_bytes_per_s=256 + more))
        new = best(faster, objective)
        slack = float(worth.bound) * 1e-5
        assert float(new) >= float(worth.bound - more * worth.per_byte_per_s) - slack
        compared += worth.per_byte_per_s > 0
    assert compared >= 3


def test_another_order() -> None:
    problem = tiny(
        {"a": (8, "in"), "b": (8, "in")},
        [Op(reads="a", cycles=2), Op(reads="b", cycles=30), Op(reads="a", cycles=4)],
        spm=4,
    )
    order = np.array([0, 2, 1])
    other = reorder(problem, order)
    certificate = priced(other)
    own = ShadowPrices.of(other, certificate)
    same = ShadowPrices.of(problem, replace(certificate, order=order))
    assert (own.bound, own.per_byte_per_s) == (same.bound, same.per_byte_per_s)
    assert own.per_byte_per_s > 0


def test_no_bandwidth_beats_the_bound_where_computing_waits_for_it() -> None:
    """A tile of one buffer is moved in 99 of 100 cycles in 1 % more bandwidth, rounded up."""
    several = [Op(reads="x", cycles=900), Op(reads="x", cycles=950, fetches={"x": 2})]
    rates = {"dram_bytes_per_s": 1000, "clock_hz": 1000}
    problem = tiny({"x": (400, "in")}, [several, several], spm=64, **rates)
    waits, slow = problem.operations[0].mappings
    own = (replace(waits, waiting_bytes=800), slow)
    operations = tuple(replace(each, mappings=own) for each in problem.operations)
    problem = replace(problem, operations=operations)
    worth = ShadowPrices.of(problem, priced(problem))
    more = little_bandwidth(problem.machine)
    assert worth.bound == pytest.approx(1800, rel=1e-3)
    # 800 bytes take 793 cycles at 1,010 bytes in 1,000 cycles.
    assert float(worth.per_byte_per_s * more) == pytest.approx(2 * (800 - 793), abs=1.5)


def test_a_page_more_may_let_the_best_mapping_fit() -> None:
    own = [Op(reads="x", cycles=100), Op(reads="x", cycles=1, scratch=8)]
    problem = tiny({"x": (1, "in")}, [own], spm=4)
    worth = ShadowPrices.of(problem, priced(problem))
    assert not worth.is_line
    assert worth.bound - 4 * worth.spm.per_byte <= 1 < worth.bound
    text = plain_text(duals_parts(problem.machine, worth))
    assert "a mapping fits that does not fit now" in text
    assert "With d extra bytes" not in text


def test_of_two_pages_more_nothing_is_said() -> None:
    """The best mapping fits with two pages more, and the bound was evaluated with one."""
    own = [Op(reads="x", cycles=100), Op(reads="x", cycles=1, scratch=12)]
    problem = tiny({"x": (1, "in")}, [own], spm=4)
    worth = ShadowPrices.of(problem, priced(problem))
    assert not worth.is_line
    assert worth.spm.per_byte == 0
    text = plain_text(duals_parts(problem.machine, worth))
    assert "an extra 4 B does not lower the bound; of more nothing is known" in text
    assert duals_record(problem.machine, worth)["spm_more_bytes"] == 4
