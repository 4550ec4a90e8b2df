"""R8 to R10, mappings and the format, each tripped by a schedule that breaks it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from spmopt.core.operation import Operand, OpMapping
from spmopt.core.schedule import Command
from spmopt.verifier import verify
from tests.verifier.builders import schedule
from tests.verifier.changes import broken, queue, with_cell
from tests.verifier.hand_made import fetches, required_resident, reuse, run_ahead, two_layers


def test_r8_pages_have_one_address() -> None:
    case = two_layers()
    cell = with_cell(case.schedule, "placements", "pages", 1, 1)
    assert broken(case.problem, cell) == {"R8"}
    rest = replace(case.schedule, placements=case.schedule.placements.take(np.array([0])))
    assert broken(case.problem, rest) == {"R8"}
    double = replace(case.schedule, placements=case.schedule.placements.take(np.array([0, 1, 1])))
    assert broken(case.problem, double) == {"R8"}


def test_r8_pages_do_not_share_an_address() -> None:
    case = two_layers()
    assert broken(case.problem, with_cell(case.schedule, "placements", "spm_page", 1, 1)) == {"R8"}


def test_r8_addresses_are_inside_the_spm() -> None:
    case = two_layers()
    for page in (-1, 3, 2**40):
        cell = with_cell(case.schedule, "placements", "spm_page", 1, page)
        assert broken(case.problem, cell) == {"R8"}


@pytest.mark.filterwarnings("error")
def test_r8_names_the_last_page_of_addresses_beyond_all_numbers() -> None:
    case = two_layers()
    cell = with_cell(case.schedule, "placements", "spm_page", 1, 2**63 - 1)
    messages = [violation.message for violation in verify(case.problem, cell).violations]
    pages = int(case.schedule.placements.pages[1])
    assert any(f"to {2**63 - 2 + pages};" in message for message in messages)


@pytest.mark.parametrize("pages", [(0, 1), (1, 0), (2, 3)])
def test_r8_a_page_does_not_move_while_resident(pages: tuple[int, int]) -> None:
    """w in two rows, one per step, its two pages at ``pages`` in the second step."""
    case = two_layers()
    on = replace(case.problem.machine, spm_bytes=24)
    residency_plan = schedule(
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
    moved = replace(case.schedule, placements=residency_plan.placements)
    legal = pages == (0, 1)
    assert broken(replace(case.problem, machine=on), moved) == (set() if legal else {"R8"})


def test_r8_a_page_may_come_back_elsewhere() -> None:
    """y of ``reuse`` returns to other pages; that the case is legal is tested with its totals."""
    rows = reuse().schedule.placements
    assert rows.spm_page[rows.tensor == 0].tolist() == [0, 1, 2]


def test_r8_scratch_has_an_address() -> None:
    case = reuse()
    keep = case.schedule.placements.tensor != -1
    rest = replace(case.schedule, placements=case.schedule.placements.take(keep))
    assert broken(case.problem, rest) == {"R8"}
    messages = [violation.message for violation in verify(case.problem, rest).violations]
    assert messages == ["page 0 of scratch has no address"]


def test_r8_names_the_tensor() -> None:
    case = reuse()
    keep = case.schedule.placements.tensor != 0
    rest = replace(case.schedule, placements=case.schedule.placements.take(keep))
    messages = {violation.message for violation in verify(case.problem, rest).violations}
    assert {message.split(" of ")[1] for message in messages} == {"y has no address"}


def test_r9_predecessors_run_first() -> None:
    case = reuse()
    order = np.array([0, 2, 1, 3])
    swapped = replace(case.schedule, steps=replace(case.schedule.steps, operation=order))
    assert "R9" not in broken(case.problem, swapped)
    late = replace(
        case.schedule, steps=replace(case.schedule.steps, operation=np.array([1, 2, 3, 0]))
    )
    assert "R9" in broken(case.problem, late)


def test_r10_queue_order() -> None:
    case = required_resident()
    assert broken(case.problem, queue(case.schedule, 1, 0, 2)) == {"R10"}
    assert broken(case.problem, queue(case.schedule, 0, 2, 1)) == {"R10"}
    case = fetches()
    assert broken(case.problem, queue(case.schedule, 4, 2, 3, 1, 0)) == set()


def test_modes_differ() -> None:
    """A second mapping with two fetches of x: its figures count, its streams are called for."""
    case = run_ahead()
    first, second = case.problem.operations
    mapping = OpMapping(compute_cycles=3, operands=(Operand(fetches=2),), macs=7)
    problem = replace(
        case.problem, operations=(replace(first, mappings=(*first.mappings, mapping)), second)
    )
    other = with_cell(case.schedule, "steps", "mapping", 0, 1)
    assert broken(problem, other) == {"R3"}
    totals = verify(problem, with_cell(other, "commands", "fetches", 0, 2)).totals
    assert totals is not None
    assert (totals.makespan_cycles, totals.macs, totals.dram_in_bytes) == (4 + 10, 7 + 2, 14)


def test_empty_and_unknown_things_are_format_errors() -> None:
    case = two_layers()
    residency_plan = case.schedule
    short = replace(residency_plan, steps=residency_plan.steps.take(np.array([0])))
    assert broken(case.problem, short) == {"R0"}
    for table, column, row, value in (
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
    ):
        assert broken(case.problem, with_cell(residency_plan, table, column, row, value)) == {
            "R0"
        }, column
