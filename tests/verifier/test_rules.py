"""R1 to R7, each tripped by a schedule that breaks it, and by little else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from spmopt.core.problem import Problem
from spmopt.core.schedule import Command, Schedule
from spmopt.verifier import verify
from tests.verifier.builders import IN, LOAD, OUT, STORE, machine, operation, schedule, tensor
from tests.verifier.changes import broken, queue, with_cell, without
from tests.verifier.hand_made import Case, fetches, in_place, required_resident, reuse, two_layers

Change = Callable[[Schedule], Schedule]


def cell(table: str, column: str, row: int, value: int) -> Change:
    return lambda given: with_cell(given, table, column, row, value)


def less(row: int) -> Change:
    return lambda given: without(given, row)


def queued(*rows: int) -> Change:
    return lambda given: queue(given, *rows)


def taken(table: str, *rows: int) -> Change:
    return lambda given: replace(given, **{table: getattr(given, table).take(np.array(rows))})


BROKEN: list[tuple[Callable[[], Case], Change, set[str]]] = [
    (reuse, less(0), {"R2", "R5"}),  # y is dropped without having been stored
    (two_layers, less(1), {"R3"}),
    (two_layers, cell("commands", "begin", 1, 4), {"R3"}),
    (two_layers, queued(0, 1, 1, 2), {"R3"}),
    *((fetches, cell("commands", "fetches", 1, wrong), {"R3"}) for wrong in (1, 3)),
    (in_place, less(1), {"R3"}),
    (in_place, less(2), {"R4"}),
    (fetches, less(2), {"R4"}),
    (fetches, cell("commands", "fetches", 2, 3), {"R4"}),
    (fetches, cell("commands", "fetches", 3, 4), {"R4"}),
    (reuse, less(6), {"R7"}),
    (two_layers, cell("placements", "pages", 1, 1), {"R8"}),
    (two_layers, taken("placements", 0), {"R8"}),
    (two_layers, taken("placements", 0, 1, 1), {"R8"}),
    *((two_layers, cell("placements", "spm_page", 1, at), {"R8"}) for at in (1, -1, 3, 2**40)),
    (required_resident, queued(1, 0, 2), {"R10"}),
    (required_resident, queued(0, 2, 1), {"R10"}),
    (fetches, queued(4, 2, 3, 1, 0), set()),
    (two_layers, taken("steps", 0), {"R0"}),
    *(
        (two_layers, cell(*changed), {"R0"})
        for changed in (
            ("steps", "operation", 0, 2),
            ("steps", "operation", 0, 1),
            ("steps", "mapping", 1, 1),
            ("residency", "tensor", 0, 4),
            ("residency", "size_bytes", 0, 6),
            ("residency", "size_bytes", 0, 12),
            ("residency", "size_bytes", 0, 0),
            ("residency", "end", 0, 3),
            ("residency", "begin", 0, -1),
            ("placements", "begin", 0, -1),
            ("residency", "tensor", 0, 2),
            ("commands", "kind", 0, len(Command)),
            ("commands", "end", 0, 9),
            ("commands", "end", 0, 0),
            ("commands", "fetches", 0, 2),
            ("commands", "fetches", 1, 0),
            ("commands", "step", 0, 1),
            ("commands", "tensor", 0, -1),
            ("placements", "tensor", 0, -2),
            ("placements", "tensor", 0, 4),
            ("placements", "tensor", 0, -1),
            ("placements", "pages", 0, 0),
            ("placements", "pages", 0, 3),
            ("placements", "tensor_page", 0, 1),
            ("placements", "end", 0, 0),
        )
    ),
]
"""A legal schedule, a change of it, and all rules that it breaks."""


@pytest.mark.parametrize(("make", "change", "rules"), BROKEN)
def test_a_change_breaks_these_rules(
    make: Callable[[], Case], change: Change, rules: set[str]
) -> None:
    case = make()
    assert broken(case.problem, change(case.schedule)) == rules


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ((1, 0, 2), "a: a load of a required-resident operand must come first"),
        ((0, 2, 1), "b: a store of a required-resident result must come last"),
    ],
)
def test_r10_says_which_order_is_broken(rows: tuple[int, ...], said: str) -> None:
    case = required_resident()
    (found,) = verify(case.problem, queue(case.schedule, *rows)).violations
    assert found.message.endswith(f", of {said}")


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


def test_r3_required_resident_operands_are_resident() -> None:
    case = required_resident()
    residency_plan = schedule(
        1,
        [(0, 0, 1, 4), (2, 0, 1, 4)],
        [(0, LOAD, 0, 0, 4, 1), (0, IN, 0, 4, 8, 1), (0, IN, 1, 0, 4, 1), (0, STORE, 2, 0, 4, 1)],
        [(0, 0, 1, 1, 0, 1), (2, 0, 1, 3, 0, 1), (-1, 0, 1, 0, 0, 1)],
    )
    assert broken(case.problem, residency_plan) == {"R3"}


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
