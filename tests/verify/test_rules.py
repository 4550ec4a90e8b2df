"""Each rule is tripped by a schedule that breaks it, and by little else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from spmopt.core.instance import Instance, Mode, Operand
from spmopt.core.schedule import Command, Schedule
from spmopt.verify import verify
from tests.verify.hand_made import (
    IN,
    LOAD,
    OUT,
    STORE,
    in_place,
    machine,
    operation,
    passes,
    reuse,
    run_ahead,
    schedule,
    stationary,
    tensor,
    two_layers,
)


def broken(instance: Instance, plan: Schedule) -> set[str]:
    """Names of the rules broken."""
    return {violation.rule for violation in verify(instance, plan).violations}


def without(plan: Schedule, row: int) -> Schedule:
    """Less one command."""
    rest = np.arange(len(plan.commands)) != row
    return replace(plan, commands=plan.commands.take(rest))


def queue(plan: Schedule, *rows: int) -> Schedule:
    """The commands in another order."""
    return replace(plan, commands=plan.commands.take(np.array(rows)))


def with_cell(plan: Schedule, table: str, column: str, row: int, value: int) -> Schedule:
    """One number changed."""
    rows = getattr(plan, table)
    values = getattr(rows, column).copy()
    values[row] = value
    return replace(plan, **{table: replace(rows, **{column: values})})


def test_r1_capacity_counts_whole_pages_and_scratch() -> None:
    case = stationary()
    on = case.instance.machine
    assert broken(replace(case.instance, machine=replace(on, spm_bytes=19)), case.schedule) == set()
    small = replace(case.instance, machine=replace(on, spm_bytes=15))
    assert broken(small, case.schedule) == {"R1", "R8"}


@pytest.mark.parametrize(
    ("column", "value"), [("begin", 1), ("end", 7), ("step", 1), ("tensor", 2), ("kind", IN)]
)
def test_r2_loads_are_exactly_the_growth(column: str, value: int) -> None:
    case = two_layers()
    wrong = with_cell(case.schedule, "commands", column, 0, value)
    if column == "step":
        wrong = queue(wrong, 1, 0, 2)
    assert "R2" in broken(case.instance, wrong)


def test_r2_loads_need_valid_bytes() -> None:
    """y is dropped without having been stored; then only R2 and R5 can tell."""
    case = reuse()
    assert broken(case.instance, without(case.schedule, 0)) == {"R2", "R5"}


def test_r2_a_blind_write_is_not_loaded() -> None:
    case = stationary()
    rows = [
        (0, LOAD, 0, 0, 8, 1),
        (0, LOAD, 2, 0, 4, 1),
        (0, IN, 1, 0, 4, 1),
        (0, STORE, 2, 0, 4, 1),
    ]
    loaded = replace(case.schedule, commands=schedule(1, [], rows, []).commands)
    assert broken(case.instance, loaded) == {"R2"}


def test_r3_streams_are_exactly_what_is_not_resident() -> None:
    case = two_layers()
    assert broken(case.instance, without(case.schedule, 1)) == {"R3"}
    assert broken(case.instance, with_cell(case.schedule, "commands", "begin", 1, 4)) == {"R3"}
    twice = queue(case.schedule, 0, 1, 1, 2)
    assert broken(case.instance, twice) == {"R3"}


def test_r3_passes() -> None:
    case = passes()
    for wrong in (1, 3):
        cell = with_cell(case.schedule, "commands", "passes", 1, wrong)
        assert broken(case.instance, cell) == {"R3"}


def test_r3_stationary_operands_are_resident() -> None:
    case = stationary()
    plan = schedule(
        1,
        [(0, 0, 1, 4), (2, 0, 1, 4)],
        [(0, LOAD, 0, 0, 4, 1), (0, IN, 0, 4, 8, 1), (0, IN, 1, 0, 4, 1), (0, STORE, 2, 0, 4, 1)],
        [(0, 0, 1, 1, 0, 1), (2, 0, 1, 3, 0, 1), (-1, 0, 1, 0, 0, 1)],
    )
    assert broken(case.instance, plan) == {"R3"}


def test_r3_r4_in_place_crosses_each_way() -> None:
    case = in_place()
    assert broken(case.instance, without(case.schedule, 1)) == {"R3"}
    assert broken(case.instance, without(case.schedule, 2)) == {"R4"}


def test_r4_partial_sums() -> None:
    case = passes()
    assert broken(case.instance, without(case.schedule, 2)) == {"R4"}
    for row in (2, 3):
        passes_now = int(case.schedule.commands.passes[row])
        cell = with_cell(case.schedule, "commands", "passes", row, passes_now + 1)
        assert broken(case.instance, cell) == {"R4"}


def test_r4_dead_results_leave_no_trace() -> None:
    case = in_place()
    rows = case.schedule.commands
    for step, kind, dead, size in ((1, OUT, 1, 8), (1, IN, 1, 8), (2, OUT, 2, 4)):
        extra = [
            np.append(getattr(rows, name), value)
            for name, value in zip(
                ("step", "kind", "tensor", "begin", "end", "passes"),
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
        assert broken(case.instance, replace(case.schedule, commands=table)) == {"R4"}


def test_r4_stationary_results_are_resident() -> None:
    case = stationary()
    plan = schedule(
        1,
        [(0, 0, 1, 8)],
        [(0, LOAD, 0, 0, 8, 1), (0, IN, 1, 0, 4, 1), (0, OUT, 2, 0, 4, 1)],
        [(0, 0, 2, 1, 0, 1), (-1, 0, 1, 0, 0, 1)],
    )
    assert broken(case.instance, plan) == {"R4"}


def test_r5_lost_write() -> None:
    """The upper half of y leaves the SPM in step 1, stored or not."""
    case = reuse()
    assert "R5" in broken(case.instance, without(case.schedule, 0))
    # A store of the lower half first does not extend the suffix.
    swapped = with_cell(case.schedule, "commands", "begin", 0, 0)
    swapped = with_cell(swapped, "commands", "end", 0, 4)
    assert "R5" in broken(case.instance, swapped)


def test_r5_a_store_is_resident() -> None:
    """In step 0, y would be stored in full although half of it is streamed out."""
    tensors = (tensor("y", 8, "k"),)
    instance = Instance(
        name="i", machine=machine(2), tensors=tensors, operations=(operation("o", (), (0,), 1),)
    )
    rows = [(0, OUT, 0, 4, 8, 1), (0, STORE, 0, 0, 4, 1)]
    plan = schedule(1, [(0, 0, 1, 4)], rows, [(0, 0, 1, 0, 0, 1)])
    assert broken(instance, plan) == set()
    full = schedule(1, [(0, 0, 1, 4)], [rows[0], (0, STORE, 0, 0, 8, 1)], [(0, 0, 1, 0, 0, 1)])
    assert broken(instance, full) == {"R5", "R7"}
    absent = schedule(1, [], [(0, OUT, 0, 0, 8, 1), (0, STORE, 0, 0, 8, 1)], [])
    assert broken(instance, absent) == {"R5", "R7"}


def test_r5_one_store_per_step_and_tensor() -> None:
    case = two_layers()
    instance = replace(
        case.instance,
        tensors=(*case.instance.tensors[:2], tensor("y", 8, "k"), tensor("z", 8, "k")),
    )
    rows = [
        (0, LOAD, 1, 0, 8, 1),
        (0, IN, 0, 0, 8, 1),
        (0, STORE, 2, 4, 8, 1),
        (1, OUT, 3, 0, 8, 1),
        (1, STORE, 2, 0, 4, 1),
    ]
    apart = replace(case.schedule, commands=schedule(2, [], rows, []).commands)
    assert broken(instance, apart) == set()
    rows[4] = (0, STORE, 2, 0, 4, 1)
    together = schedule(2, [], [*rows[:3], rows[4], rows[3]], []).commands
    assert broken(instance, replace(case.schedule, commands=together)) == {"R5"}


@pytest.mark.parametrize(("held", "legal"), [(8, True), (4, False)])
def test_r5_a_dead_result_that_was_not_streamed_cannot_be_stored(held: int, legal: bool) -> None:
    """Storing dead contents is useless, but if resident in full it is what it says."""
    instance = Instance(
        name="i",
        machine=machine(2),
        tensors=(tensor("y", 8),),
        operations=(operation("o", (), (0,), 1),),
    )
    commands = [(0, STORE, 0, 0, held, 1)]
    plan = schedule(1, [(0, 0, 1, held)], commands, [(0, 0, held // 4, 0, 0, 1)])
    assert broken(instance, plan) == (set() if legal else {"R5"})


def test_r7_kept_tensors_are_in_dram_at_the_end() -> None:
    case = reuse()
    assert broken(case.instance, without(case.schedule, 6)) == {"R7"}


def test_r8_pages_have_one_address() -> None:
    case = two_layers()
    cell = with_cell(case.schedule, "placements", "pages", 1, 1)
    assert broken(case.instance, cell) == {"R8"}
    rest = replace(case.schedule, placements=case.schedule.placements.take(np.array([0])))
    assert broken(case.instance, rest) == {"R8"}
    double = replace(case.schedule, placements=case.schedule.placements.take(np.array([0, 1, 1])))
    assert broken(case.instance, double) == {"R8"}


def test_r8_pages_do_not_share_an_address() -> None:
    case = two_layers()
    assert broken(case.instance, with_cell(case.schedule, "placements", "spm_page", 1, 1)) == {"R8"}


def test_r8_addresses_are_inside_the_spm() -> None:
    case = two_layers()
    for page in (-1, 3, 2**40):
        cell = with_cell(case.schedule, "placements", "spm_page", 1, page)
        assert broken(case.instance, cell) == {"R8"}


@pytest.mark.parametrize("pages", [(0, 1), (1, 0), (2, 3)])
def test_r8_a_page_does_not_move_while_resident(pages: tuple[int, int]) -> None:
    """w in two rows, one per step, its two pages at ``pages`` in the second step."""
    case = two_layers()
    on = replace(case.instance.machine, spm_bytes=24)
    plan = schedule(
        2,
        [],
        [],
        [
            (1, 0, 2, 0, 0, 1),
            (1, 0, 1, pages[0], 1, 2),
            (1, 1, 1, pages[1], 1, 2),
            (2, 0, 2, 4, 0, 2),
        ],
    )
    moved = replace(case.schedule, placements=plan.placements)
    legal = pages == (0, 1)
    assert broken(replace(case.instance, machine=on), moved) == (set() if legal else {"R8"})


def test_r8_a_page_may_come_back_elsewhere() -> None:
    """y of ``reuse`` returns to other pages; that the case is legal is tested with its totals."""
    rows = reuse().schedule.placements
    assert rows.spm_page[rows.tensor == 0].tolist() == [0, 1, 2]


def test_r8_scratch_has_an_address() -> None:
    case = reuse()
    keep = case.schedule.placements.tensor != -1
    rest = replace(case.schedule, placements=case.schedule.placements.take(keep))
    assert broken(case.instance, rest) == {"R8"}


def test_r9_predecessors_run_first() -> None:
    case = reuse()
    order = np.array([0, 2, 1, 3])
    swapped = replace(case.schedule, steps=replace(case.schedule.steps, operation=order))
    assert "R9" not in broken(case.instance, swapped)
    late = replace(
        case.schedule, steps=replace(case.schedule.steps, operation=np.array([1, 2, 3, 0]))
    )
    assert "R9" in broken(case.instance, late)


def test_r10_queue_order() -> None:
    case = stationary()
    assert broken(case.instance, queue(case.schedule, 1, 0, 2)) == {"R10"}
    assert broken(case.instance, queue(case.schedule, 0, 2, 1)) == {"R10"}
    case = passes()
    assert broken(case.instance, queue(case.schedule, 4, 2, 3, 1, 0)) == set()


def test_modes_differ() -> None:
    """A second mode with two passes of x: its figures count, its streams are called for."""
    case = run_ahead()
    first, second = case.instance.operations
    mode = Mode(compute_cycles=3, operands=(Operand(passes=2),), macs=7)
    instance = replace(
        case.instance, operations=(replace(first, modes=(*first.modes, mode)), second)
    )
    other = with_cell(case.schedule, "steps", "mode", 0, 1)
    assert broken(instance, other) == {"R3"}
    totals = verify(instance, with_cell(other, "commands", "passes", 0, 2)).totals
    assert totals is not None
    assert (totals.makespan_cycles, totals.macs, totals.dram_in_bytes) == (4 + 10, 7 + 2, 14)


def test_empty_and_unknown_things_are_format_errors() -> None:
    case = two_layers()
    plan = case.schedule
    short = replace(plan, steps=plan.steps.take(np.array([0])))
    assert broken(case.instance, short) == {"R0"}
    for table, column, row, value in (
        ("steps", "operation", 0, 2),
        ("steps", "operation", 0, 1),
        ("steps", "mode", 1, 1),
        ("residency", "tensor", 0, 4),
        ("residency", "size_bytes", 0, 6),
        ("residency", "size_bytes", 0, 12),
        ("residency", "size_bytes", 0, 0),
        ("residency", "end", 0, 3),
        ("residency", "tensor", 0, 2),
        ("commands", "kind", 0, len(Command)),
        ("commands", "end", 0, 9),
        ("commands", "end", 0, 0),
        ("commands", "passes", 0, 2),
        ("commands", "passes", 1, 0),
        ("commands", "step", 0, 1),
        ("commands", "tensor", 0, -1),
        ("placements", "tensor", 0, -2),
        ("placements", "tensor", 0, 4),
        ("placements", "tensor", 0, -1),
        ("placements", "pages", 0, 0),
        ("placements", "pages", 0, 3),
        ("placements", "tensor_page", 0, 1),
        ("placements", "end", 0, 0),
    ):
        assert broken(case.instance, with_cell(plan, table, column, row, value)) == {"R0"}, column
