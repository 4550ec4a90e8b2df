"""Banks of the scratchpad hold back operations, to the cycle."""

from dataclasses import replace
from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spmopt.core.machine import Machine
from spmopt.core.objective import MAKESPAN
from spmopt.core.scheduler import Request
from spmopt.frontends.networks import load_network
from spmopt.graph.cycles import access_cycles
from spmopt.graph.lower import lower
from spmopt.hardware.machines import load_machine
from spmopt.hardware.settings import Setting
from spmopt.solving import solve
from tests.graph.networks import mlp
from tests.hardware.toys import toy_memory
from tests.tiny import plain_machine

MACHINE = plain_machine(
    64 * 64, dram_bytes_per_s=10, clock_hz=10, operations_per_s=100, page_bytes=64
)


def banked(read: int, write: int, clock: int = 10) -> Machine:
    return replace(MACHINE, memory=toy_memory(MACHINE, read, write), clock_hz=clock)


def test_cycles_by_hand() -> None:
    # 10 cycles a second: 30 bytes at 4 a second and 10 at 3 take 7.5 + 3.33 seconds.
    assert access_cycles(banked(4, 3), 30, 10) == 109
    assert access_cycles(banked(4, 3), 4, 3) == 20
    assert access_cycles(banked(4, 3), 0, 0) == 0
    assert access_cycles(MACHINE, 30, 10) == 0


@given(*[st.integers(1, 2**60)] * 3, *[st.integers(0, 2**50)] * 2)
def test_cycles_are_exact(read: int, write: int, clock: int, reads: int, writes: int) -> None:
    exact = Fraction(reads * clock, read) + Fraction(writes * clock, write)
    assert access_cycles(banked(read, write, clock), reads, writes) == ceil(exact)


@pytest.mark.parametrize("mapper", ["ideal", "panel"])
def test_operations_wait_for_the_banks_where_these_are_slower(mapper: str) -> None:
    free = lower(mlp(), MACHINE, mapper=mapper)
    bound = 0
    machine = banked(240, 80)
    held = lower(mlp(), machine, mapper=mapper)
    for before, after in zip(free.operations, held.operations, strict=True):
        (was,), (mapping,) = before.mappings, after.mappings
        seconds = Fraction(was.spm_read_bytes, 240) + Fraction(was.spm_write_bytes, 80)
        assert mapping.compute_cycles == max(was.compute_cycles, ceil(10 * seconds))
        assert replace(mapping, compute_cycles=was.compute_cycles) == was
        bound += mapping.compute_cycles > was.compute_cycles
    assert 0 < bound < len(free.operations)


def test_banks_that_are_fast_enough_change_nothing() -> None:
    assert lower(mlp(), banked(10**9, 10**9)).operations == lower(mlp(), MACHINE).operations


def test_slow_writes_take_time_in_a_schedule() -> None:
    graph = load_network("bert-tiny", batch=1)
    makespans = []
    for banks in (1, 4, 10**6, None):
        settings: dict[str, Setting] = {} if banks is None else {"banks": banks}
        machine = load_machine("gtx1080ti", {"spm": "3MB", "technology": "deepnvm-stt", **settings})
        result = solve(lower(graph, machine), "belady", Request(objective=MAKESPAN))
        assert result.totals is not None
        makespans.append(result.totals.makespan_cycles)
    one, four, many, unlimited = makespans
    assert one > four > many == unlimited
