"""What is said of bandwidth and ports: true at the amounts that are named, and at the limits."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from formulations.residency import fluid
from spmopt.analysis.explanation import Explanation
from spmopt.analysis.shadow_prices import ShadowPrices, little_bandwidth
from spmopt.analysis.stalls import Cause
from spmopt.core.machine import Bank
from spmopt.core.objective import Objective, objective_named
from spmopt.core.problem import Problem
from spmopt.core.scheduler import Request
from spmopt.core.units import LARGEST
from spmopt.reporting.explanation import duals_parts, explanation_record
from spmopt.reporting.tables import plain_text
from spmopt.solving import solve
from tests.banked import banked, with_these
from tests.tiny import Op, tiny

GB = 10**9
BITS = 40
BOTH = Objective(
    name="both",
    unit="pJ",
    cycle=Fraction(1),
    dram_in_byte=Fraction(1),
    dram_out_byte=Fraction(1),
)
PER_READ = Objective(
    name="reads",
    unit="pJ",
    cycle=Fraction(1),
    bank_read_byte=(Fraction(5),),
    bank_write_byte=(Fraction(0),),
)


def priced(problem: Problem, objective: Objective) -> ShadowPrices:
    request = Request(objective=objective, tolerance=1e-7, threads=1)
    certificate = fluid.schedule(problem, request).certificate
    assert certificate is not None
    return ShadowPrices.of(problem, certificate)


def read(*, steps: int = 1, cycles: int = 0, **bank: Any) -> Problem:
    """A tensor of 8 bytes that every step reads, on one bank of 4 bytes."""
    problem = tiny({"a": (8, "in")}, [Op(reads="a", cycles=cycles)] * steps, spm=4)
    machine = with_these(problem.machine, (Bank(spm_bytes=4, **bank),))
    mappings = [
        replace(operation.mappings[0], spm_read_bytes=8) for operation in problem.operations
    ]
    operations = zip(problem.operations, mappings, strict=True)
    return replace(
        problem,
        machine=machine,
        operations=tuple(
            replace(operation, mappings=(mapping,)) for operation, mapping in operations
        ),
    )


def at_rate(problem: Problem, rate: int, clock: int = 1) -> Problem:
    machine = replace(problem.machine, dram_bytes_per_s=rate, clock_hz=clock)
    return replace(problem, machine=machine)


def said(problem: Problem, worth: ShadowPrices) -> str:
    return " ".join(plain_text(duals_parts(problem.machine, worth)).split())


@pytest.mark.parametrize(
    ("rate", "more", "words"), [(1, 1, "1 B/s"), (150, 2, "2 B/s"), (616 * GB, GB, "1 GB/s")]
)
def test_no_schedule_beats_what_is_said_of_bandwidth(rate: int, more: int, words: str) -> None:
    clock = 10**6 * rate  # a byte takes a million cycles, so that few are lost to rounding
    problem = at_rate(tiny({"a": (8, "in")}, [Op(reads="a")], spm=4), rate, clock)
    worth = priced(problem, BOTH)
    assert little_bandwidth(problem.machine) == more
    # What is read once crosses once: its time, and a picojoule a byte.
    best = Fraction(8 * clock, rate + more) + 8
    line = worth.bound - more * worth.per_byte_per_s
    assert best * (1 - Fraction(1, 10**6)) <= line <= best
    assert f"{words} more lowers the bound by at most" in said(problem, worth)


def test_energy_in_banks_is_no_time_of_the_channel() -> None:
    # It computes for 100 cycles and moves for 8: more bandwidth gains nothing.
    worth = priced(read(cycles=100), PER_READ)
    assert float(worth.bound) == pytest.approx(100 + 8 * 5, rel=1e-6)
    assert float(worth.per_byte_per_s) == pytest.approx(0, abs=1e-6)


def test_rates_at_the_limit_are_judged_too() -> None:
    problem = read(read_bytes_per_s=LARGEST, write_bytes_per_s=LARGEST)
    for rate in (1, LARGEST - 1, LARGEST):
        fast = at_rate(problem, rate, clock=rate)
        worth = priced(fast, BOTH)
        assert worth.per_byte_per_s >= 0
    assert little_bandwidth(fast.machine) == 0


def test_records_add_up_with_ports() -> None:
    with_port = 0
    for seed in range(7):
        problem = banked(seed, ports=True, max_operations=6)
        request = Request(objective=objective_named("time", problem.machine))
        result = solve(problem, "belady", request)
        assert result.schedule is not None
        found = Explanation.of(problem, result.schedule)
        steps = range(len(problem.operations))
        record: Any = explanation_record(found, None, result, steps)
        assert sum(record["stall_cycles_by_obstacle"].values()) == record["stall_cycles"]
        for stall in record["stalls"]:
            waits = sum(transfer["stall_cycles"] for transfer in stall["transfers"])
            assert waits + stall["port_stall_cycles"] == stall["stall_cycles"]
        ports = sum(stall["port_stall_cycles"] for stall in record["stalls"])
        assert ports == record["stall_cycles_by_cause"][Cause.PORT.words]
        with_port += ports > 0
    assert with_port >= 2
