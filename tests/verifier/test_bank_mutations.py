"""Random legal schedules with banks, and changes of them, against a small checker of its own.

Each change must be refused by both, or be legal for both and cost the same in both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from spmopt.core.machine import Bank
from spmopt.core.problem import Problem
from spmopt.core.schedule import Moves, Schedule
from spmopt.io.files import encode_problem, encode_schedule
from spmopt.verifier import verify
from tests.checked import need
from tests.formulations.banks.cases import campaign_case
from tests.fuzz.schedule_checker import why_wrong
from tests.thorough import share, some
from tests.verifier.bank_figures import figures
from tests.verifier.random_banks import random_banked

Case = tuple[Problem, Schedule]
Change = Callable[[Problem, Schedule, np.random.Generator], Case | None]


def agree(problem: Problem, schedule: Schedule) -> bool:
    """Compare the verifier with the small checker; whether both take the schedule."""
    report = verify(problem, schedule)
    rules = {violation.rule for violation in report.violations}
    if "R0" not in rules:  # of tables that are not well formed the checker says nothing
        document = {"problem": encode_problem(problem), "schedule": encode_schedule(schedule)}
        why = why_wrong(document)
        assert report.legal == (why is None), (report.violations, why)
    if not report.legal:
        assert rules <= {"R0", "R1", "R8"}
        return False
    totals, own = report.totals, figures(problem, schedule)
    assert totals is not None
    assert totals.bank_read_bytes == own.read
    assert totals.bank_write_bytes == own.write
    assert totals.moved_bytes == own.moved_bytes
    assert tuple(need(report.step_cycles).tolist()) == own.cycles
    assert totals.makespan_cycles == sum(own.cycles)
    assert totals.replay_cycles <= totals.makespan_cycles
    return True


@pytest.mark.parametrize("seed", some(range(150)))
def test_random_schedules_are_legal_and_cost_the_same(seed: int) -> None:
    problem, _ = campaign_case(seed)
    assert agree(problem, random_banked(problem, np.random.default_rng(seed)))


def _some(rows: int, generator: np.random.Generator) -> int | None:
    return int(generator.integers(rows)) if rows else None


def move_unsaid(case: Problem, schedule: Schedule, generator: np.random.Generator) -> Case | None:
    """A move is left out."""
    row = _some(len(schedule.moves), generator)
    if row is None:
        return None
    kept = schedule.moves.take(np.arange(len(schedule.moves)) != row)
    return case, replace(schedule, moves=kept)


def move_invented(case: Problem, schedule: Schedule, generator: np.random.Generator) -> Case | None:
    """One more move, of any page in any step."""
    tensor = int(generator.integers(len(case.tensors)))
    size, page = case.tensors[tensor].size_bytes, case.machine.page_bytes
    begin = page * int(generator.integers(-(-size // page)))
    row = (int(generator.integers(len(case.operations))), tensor, begin, min(begin + page, size))
    rows = sorted({*schedule.moves.rows(), row})
    return None if len(rows) == len(schedule.moves) else (case, _with_moves(schedule, rows))


def move_changed(case: Problem, schedule: Schedule, generator: np.random.Generator) -> Case | None:
    """A figure of a move is one more or less."""
    at = _some(len(schedule.moves), generator)
    if at is None:
        return None
    rows = schedule.moves.rows()
    changed = list(rows[at])
    changed[int(generator.integers(4))] += int(generator.choice([-1, 1]))
    rows[at] = (changed[0], changed[1], changed[2], changed[3])
    return case, _with_moves(schedule, rows)


def _with_moves(schedule: Schedule, rows: list[tuple[int, ...]]) -> Schedule:
    return replace(schedule, moves=Moves.of_rows(rows))


def address_changed(
    case: Problem, schedule: Schedule, generator: np.random.Generator
) -> Case | None:
    """A run of pages lies elsewhere."""
    table = schedule.placements
    row = _some(len(table), generator)
    if row is None:
        return None
    pages = table.spm_page.copy()
    pages[row] = int(generator.integers(-1, case.machine.spm_pages + 1))
    if pages[row] == table.spm_page[row]:
        return None
    return case, replace(schedule, placements=replace(table, spm_page=pages))


def addresses_swapped(
    case: Problem, schedule: Schedule, generator: np.random.Generator
) -> Case | None:
    """All that ever lies at one address lies at another, and the other way round."""
    table = schedule.placements
    one, other = generator.choice(case.machine.spm_pages, 2).tolist()
    if one == other or not np.isin(table.spm_page, (one, other)).any():
        return None
    assert (table.pages == 1).all()
    swapped = table.spm_page.copy()
    swapped[table.spm_page == one], swapped[table.spm_page == other] = other, one
    return case, replace(schedule, placements=replace(table, spm_page=swapped))


def port_changed(case: Problem, schedule: Schedule, generator: np.random.Generator) -> Case | None:
    """A bank reads or writes at another rate, or at any."""
    bank = int(generator.integers(len(case.machine.banks)))
    rate = int(generator.integers(0, 6)) or None
    old = case.machine.banks[bank]
    if generator.integers(2):
        return _with_bank(case, bank, replace(old, read_bytes_per_s=rate)), schedule
    return _with_bank(case, bank, replace(old, write_bytes_per_s=rate)), schedule


def banks_grown(case: Problem, schedule: Schedule, generator: np.random.Generator) -> Case | None:
    """A boundary between two banks is a page further: both stay, other bytes lie in each."""
    banks, page = case.machine.banks, case.machine.page_bytes
    if len(banks) < 2:
        return None
    at = int(generator.integers(len(banks) - 1))
    less = banks[at + 1].spm_bytes // page - 1
    if less < 1:
        return None
    grown = _with_bank(case, at, replace(banks[at], spm_bytes=banks[at].spm_bytes + page))
    smaller = replace(banks[at + 1], spm_bytes=banks[at + 1].spm_bytes - page)
    return _with_bank(grown, at + 1, smaller), schedule


def bank_shrunk(case: Problem, schedule: Schedule, generator: np.random.Generator) -> Case | None:
    """A bank has a page less, so that all addresses behind it are of other pages."""
    banks, page = case.machine.banks, case.machine.page_bytes
    at = int(generator.integers(len(banks)))
    if banks[at].spm_bytes // page < 2:
        return None
    smaller = replace(banks[at], spm_bytes=banks[at].spm_bytes - page)
    return _with_bank(case, at, smaller), schedule


def _with_bank(case: Problem, at: int, bank: Bank) -> Problem:
    banks = tuple(bank if k == at else old for k, old in enumerate(case.machine.banks))
    size = sum(each.spm_bytes for each in banks)
    return replace(case, machine=replace(case.machine, banks=banks, spm_bytes=size))


CHANGES: tuple[tuple[Change, bool, bool], ...] = (
    (move_unsaid, True, False),
    (move_invented, True, False),
    (move_changed, True, False),
    (address_changed, True, True),
    (addresses_swapped, False, True),
    (port_changed, False, True),
    (banks_grown, False, True),
    (bank_shrunk, True, True),
)
"""Each change, and whether some of them must be refused, and some be legal."""


@pytest.mark.parametrize(
    ("change", "refused", "legal"), CHANGES, ids=lambda x: getattr(x, "__name__", "")
)
def test_changes_are_refused_or_cost_the_same_in_both(
    change: Change, refused: bool, legal: bool
) -> None:
    found: Counter[bool] = Counter()
    for seed in some(range(200), 4):
        problem, _ = campaign_case(seed)
        generator = np.random.default_rng(seed)
        changed = change(problem, random_banked(problem, generator), generator)
        if changed is not None:
            found[agree(*changed)] += 1
    assert sum(found.values()) >= share(15, 4)
    assert (found[False] > 0) == refused
    assert (found[True] > 0) == legal


def test_other_totals_of_banks_are_refused() -> None:
    for seed in some(range(10)):
        problem, _ = campaign_case(seed)
        schedule = random_banked(problem, np.random.default_rng(seed))
        totals = need(verify(problem, schedule).totals)
        assert verify(problem, schedule, totals).legal
        read, write = totals.bank_read_bytes, totals.bank_write_bytes
        for claimed in (
            replace(totals, bank_read_bytes=(read[0] + Fraction(1, 7), *read[1:])),
            replace(totals, bank_write_bytes=(*write[:-1], write[-1] + 1)),
            replace(totals, bank_write_bytes=write[:-1]),
            replace(totals, moved_bytes=totals.moved_bytes + 1),
        ):
            broken = verify(problem, schedule, claimed).violations
            assert [violation.rule for violation in broken] == ["R6"]
