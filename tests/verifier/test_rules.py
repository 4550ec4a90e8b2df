"""R1 to R7, each tripped by a schedule that breaks it, and by little else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from spmopt.core.problem import Problem
from tests.verifier.builders import IN, LOAD, OUT, STORE, machine, operation, schedule, tensor
from tests.verifier.changes import broken, queue, with_cell, without
from tests.verifier.hand_made import fetches, in_place, required_resident, reuse, two_layers


def test_r1_capacity_counts_whole_pages_and_scratch() -> None:
    case = required_resident()
    on = case.problem.machine
    assert broken(replace(case.problem, machine=replace(on, spm_bytes=19)), case.schedule) == set()
    small = replace(case.problem, machine=replace(on, spm_bytes=15))
    assert broken(small, case.schedule) == {"R1", "R8"}


@pytest.mark.parametrize(
    ("column", "value"), [("begin", 1), ("end", 7), ("step", 1), ("tensor", 2), ("kind", IN)]
)
def test_r2_loads_are_exactly_the_growth(column: str, value: int) -> None:
    case = two_layers()
    wrong = with_cell(case.schedule, "commands", column, 0, value)
    if column == "step":
        wrong = queue(wrong, 1, 0, 2)
    assert "R2" in broken(case.problem, wrong)


def test_r2_loads_need_valid_bytes() -> None:
    """y is dropped without having been stored; then only R2 and R5 can tell."""
    case = reuse()
    assert broken(case.problem, without(case.schedule, 0)) == {"R2", "R5"}


def test_r2_a_blind_write_is_not_loaded() -> None:
    case = required_resident()
    rows = [
        (0, LOAD, 0, 0, 8, 1),
        (0, LOAD, 2, 0, 4, 1),
        (0, IN, 1, 0, 4, 1),
        (0, STORE, 2, 0, 4, 1),
    ]
    loaded = replace(case.schedule, commands=schedule(1, [], rows, []).commands)
    assert broken(case.problem, loaded) == {"R2"}


def test_r3_streams_are_exactly_what_is_not_resident() -> None:
    case = two_layers()
    assert broken(case.problem, without(case.schedule, 1)) == {"R3"}
    assert broken(case.problem, with_cell(case.schedule, "commands", "begin", 1, 4)) == {"R3"}
    twice = queue(case.schedule, 0, 1, 1, 2)
    assert broken(case.problem, twice) == {"R3"}


def test_r3_passes() -> None:
    case = fetches()
    for wrong in (1, 3):
        cell = with_cell(case.schedule, "commands", "fetches", 1, wrong)
        assert broken(case.problem, cell) == {"R3"}


def test_r3_required_resident_operands_are_resident() -> None:
    case = required_resident()
    residency_plan = schedule(
        1,
        [(0, 0, 1, 4), (2, 0, 1, 4)],
        [(0, LOAD, 0, 0, 4, 1), (0, IN, 0, 4, 8, 1), (0, IN, 1, 0, 4, 1), (0, STORE, 2, 0, 4, 1)],
        [(0, 0, 1, 1, 0, 1), (2, 0, 1, 3, 0, 1), (-1, 0, 1, 0, 0, 1)],
    )
    assert broken(case.problem, residency_plan) == {"R3"}


def test_r3_r4_in_place_crosses_each_way() -> None:
    case = in_place()
    assert broken(case.problem, without(case.schedule, 1)) == {"R3"}
    assert broken(case.problem, without(case.schedule, 2)) == {"R4"}


def test_r4_partial_sums() -> None:
    case = fetches()
    assert broken(case.problem, without(case.schedule, 2)) == {"R4"}
    for row in (2, 3):
        fetches_now = int(case.schedule.commands.fetches[row])
        cell = with_cell(case.schedule, "commands", "fetches", row, fetches_now + 1)
        assert broken(case.problem, cell) == {"R4"}


def test_r4_dead_results_leave_no_trace() -> None:
    case = in_place()
    rows = case.schedule.commands
    for step, kind, dead, size in ((1, OUT, 1, 8), (1, IN, 1, 8), (2, OUT, 2, 4)):
        extra = [
            np.append(getattr(rows, name), value)
            for name, value in zip(
                ("step", "kind", "tensor", "begin", "end", "fetches"),
                (step, kind, dead, 0, size, 1),
                strict=True,
            )
        ]
        order = np.argsort(extra[0], kind="stable")
        table = type(rows)(
            **{
                name: column[order]
                for name, column in zip(rows.__dataclass_fields__, extra, strict=True)
            }
        )
        assert broken(case.problem, replace(case.schedule, commands=table)) == {"R4"}


def test_r4_required_resident_results_are_resident() -> None:
    case = required_resident()
    residency_plan = schedule(
        1,
        [(0, 0, 1, 8)],
        [(0, LOAD, 0, 0, 8, 1), (0, IN, 1, 0, 4, 1), (0, OUT, 2, 0, 4, 1)],
        [(0, 0, 2, 1, 0, 1), (-1, 0, 1, 0, 0, 1)],
    )
    assert broken(case.problem, residency_plan) == {"R4"}


def test_r5_lost_write() -> None:
    """The upper half of y leaves the SPM in step 1, stored or not."""
    case = reuse()
    assert "R5" in broken(case.problem, without(case.schedule, 0))
    # A store of the lower half first does not extend the suffix.
    swapped = with_cell(case.schedule, "commands", "begin", 0, 0)
    swapped = with_cell(swapped, "commands", "end", 0, 4)
    assert "R5" in broken(case.problem, swapped)


def test_r5_a_store_is_resident() -> None:
    """In step 0, y would be stored in full although half of it is streamed out."""
    tensors = (tensor("y", 8, "k"),)
    problem = Problem(
        name="i", machine=machine(2), tensors=tensors, operations=(operation("o", (), (0,), 1),)
    )
    rows = [(0, OUT, 0, 4, 8, 1), (0, STORE, 0, 0, 4, 1)]
    residency_plan = schedule(1, [(0, 0, 1, 4)], rows, [(0, 0, 1, 0, 0, 1)])
    assert broken(problem, residency_plan) == set()
    full = schedule(1, [(0, 0, 1, 4)], [rows[0], (0, STORE, 0, 0, 8, 1)], [(0, 0, 1, 0, 0, 1)])
    assert broken(problem, full) == {"R5", "R7"}
    absent = schedule(1, [], [(0, OUT, 0, 0, 8, 1), (0, STORE, 0, 0, 8, 1)], [])
    assert broken(problem, absent) == {"R5", "R7"}


def test_r5_one_store_per_step_and_tensor() -> None:
    case = two_layers()
    problem = replace(
        case.problem,
        tensors=(*case.problem.tensors[:2], tensor("y", 8, "k"), tensor("z", 8, "k")),
    )
    rows = [
        (0, LOAD, 1, 0, 8, 1),
        (0, IN, 0, 0, 8, 1),
        (0, STORE, 2, 4, 8, 1),
        (1, OUT, 3, 0, 8, 1),
        (1, STORE, 2, 0, 4, 1),
    ]
    apart = replace(case.schedule, commands=schedule(2, [], rows, []).commands)
    assert broken(problem, apart) == set()
    rows[4] = (0, STORE, 2, 0, 4, 1)
    together = schedule(2, [], [*rows[:3], rows[4], rows[3]], []).commands
    assert broken(problem, replace(case.schedule, commands=together)) == {"R5"}


@pytest.mark.parametrize(("held", "legal"), [(8, True), (4, False)])
def test_r5_a_dead_result_that_was_not_streamed_cannot_be_stored(held: int, legal: bool) -> None:
    """Storing dead contents is useless, but if resident in full it is what it says."""
    problem = Problem(
        name="i",
        machine=machine(2),
        tensors=(tensor("y", 8),),
        operations=(operation("o", (), (0,), 1),),
    )
    commands = [(0, STORE, 0, 0, held, 1)]
    residency_plan = schedule(1, [(0, 0, 1, held)], commands, [(0, 0, held // 4, 0, 0, 1)])
    assert broken(problem, residency_plan) == (set() if legal else {"R5"})


def test_r7_kept_tensors_are_in_dram_at_the_end() -> None:
    case = reuse()
    assert broken(case.problem, without(case.schedule, 6)) == {"R7"}
