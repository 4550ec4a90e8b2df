"""Addresses of pages whose banks are given."""

import pytest

from spmopt.assemble import assemble
from spmopt.assemble.banks import allocate_in_banks, moves_between
from spmopt.core.errors import ScheduleError
from spmopt.core.schedule import BankRows, ResidencyPlan, Stores
from spmopt.core.timeline import timeline_in_order
from spmopt.verifier import verify
from tests.banks_by_hand import A, B, moving, problem

Row = tuple[int, int, int, int, int, int]
MOVES: list[Row] = [(A, 0, 1, 0, 0, 1), (A, 0, 1, 1, 1, 4), (B, 0, 1, 0, 1, 3)]


def residency_plan(banks: BankRows) -> ResidencyPlan:
    facts = moving()
    return ResidencyPlan(
        steps=facts.steps,
        residency=facts.residency,
        stores=Stores.empty(),
        banks=banks,
    )


def test_pages_lie_in_their_banks_and_moves_follow() -> None:
    assert assemble(problem(), residency_plan(BankRows.of_rows(MOVES))) == moving()


def test_pages_that_follow_each_other_in_a_bank_move_too() -> None:
    case = problem()
    table = BankRows.of_rows([(A, 0, 1, 1, 0, 2), (A, 0, 1, 1, 2, 4)])
    told = moves_between(case.machine, timeline_in_order(case), table)
    assert (told.step.tolist(), told.tensor.tolist()) == ([2], [A])
    assert allocate_in_banks(case.machine, table).spm_page.tolist() == [1, 1]


def test_what_a_bank_has_no_room_for_lies_beyond_all_of_them() -> None:
    case = problem()
    table = BankRows.of_rows([(A, 0, 1, 0, 0, 4), (B, 0, 1, 0, 1, 3)])
    placed = allocate_in_banks(case.machine, table)
    assert placed.spm_page.tolist() == [0, 3]
    broken = verify(case, assemble(case, residency_plan(table))).violations
    assert "the SPM has pages 0 to 1" in broken[0].message


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ((2, 0, 1, 0, 0, 1), "no such tensor"),
        ((A, 0, 1, 2, 0, 1), "no such bank"),
        ((A, 0, 1, 0, 1, 1), "non-empty range"),
        ((A, 0, 1, 0, 0, 5), "non-empty range"),
        ((A, -1, 1, 0, 0, 1), "no such pages"),
        ((A, 0, 0, 0, 0, 1), "no such pages"),
    ],
)
def test_rows_that_say_nothing_are_refused(row: Row, what: str) -> None:
    with pytest.raises(ScheduleError, match=what):
        assemble(problem(), residency_plan(BankRows.of_rows([row])))
