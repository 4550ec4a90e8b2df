"""Corrupting a legal schedule in any cell of any table makes it illegal, by the right rule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from spmopt.core.problem import Problem
from spmopt.core.schedule import Schedule
from spmopt.core.table import Table
from spmopt.verifier import ScheduleArrays, replay, verify
from spmopt.verifier.rules import rule_r0
from tests.thorough import share, some
from tests.verifier.hand_made import all_cases
from tests.verifier.random_plans import random_schedule

CASES = all_cases()

# What a wrong cell may break; every corruption must break one of these rules. Changes beyond
# a column's range are format errors, R0, and so may any be.
RULES = {
    ("steps", "operation"): {"R2", "R3", "R4", "R5", "R9"},
    ("steps", "mapping"): {"R3", "R4"},
    ("residency", "tensor"): {"R2", "R3", "R4", "R5", "R8"},
    ("residency", "begin"): {"R2", "R3", "R4", "R5", "R8"},
    ("residency", "end"): {"R2", "R3", "R4", "R5", "R8"},
    ("residency", "size_bytes"): {"R2", "R3", "R4", "R5", "R8"},
    ("commands", "step"): {"R2", "R3", "R4", "R5", "R7", "R10"},
    ("commands", "kind"): {"R2", "R3", "R4", "R5", "R7"},
    ("commands", "tensor"): {"R2", "R3", "R4", "R5", "R7"},
    ("commands", "begin"): {"R2", "R3", "R4", "R5", "R7"},
    ("commands", "end"): {"R2", "R3", "R4", "R5", "R7"},
    ("commands", "fetches"): {"R3", "R4"},
    ("placements", "tensor"): {"R8"},
    ("placements", "tensor_page"): {"R8"},
    ("placements", "pages"): {"R8"},
    ("placements", "spm_page"): {"R8"},
    ("placements", "begin"): {"R8"},
    ("placements", "end"): {"R8"},
}


def tables(schedule: Schedule) -> Iterator[tuple[str, Table]]:
    """The four tables by name."""
    for field in fields(schedule):
        yield field.name, getattr(schedule, field.name)


def with_table(schedule: Schedule, name: str, table: Table) -> Schedule:
    """The schedule with one table replaced."""
    changed: dict[str, Any] = {name: table}
    return replace(schedule, **changed)


def cell_changes(schedule: Schedule) -> Iterator[tuple[str, str, Schedule]]:
    """Every cell changed by 1, by a page and to a far value: (table, column, schedule)."""
    for name, table in tables(schedule):
        for column in (field.name for field in fields(table)):
            for row in range(len(table)):
                for change in (-1, 1, -4, 4, 2**40):
                    values = getattr(table, column).copy()
                    values[row] += change
                    changed = replace(table, **{column: values})
                    yield name, column, with_table(schedule, name, changed)


def row_changes(schedule: Schedule) -> Iterator[tuple[str, Schedule]]:
    """Every row dropped and every row doubled."""
    for name, table in tables(schedule):
        for row in range(len(table)):
            rest = np.delete(np.arange(len(table)), row)
            yield name, with_table(schedule, name, table.take(rest))
            both = np.insert(np.arange(len(table)), row, row)
            yield name, with_table(schedule, name, table.take(both))


@pytest.mark.parametrize("name", sorted(CASES))
def test_every_cell_counts(name: str) -> None:
    case = CASES[name]
    for table, column, corrupted in cell_changes(case.schedule):
        report = verify(case.problem, corrupted, case.totals)
        broken = {violation.rule for violation in report.violations}
        if column == "spm_page" and not broken:
            # Another free address is as good; only ``reuse`` has one.
            assert name == "reuse"
            continue
        assert broken & ({"R0"} | RULES[table, column]), (table, column, broken)
        assert report.totals is None


@pytest.mark.parametrize("name", sorted(CASES))
def test_every_row_counts(name: str) -> None:
    case = CASES[name]
    for table, corrupted in row_changes(case.schedule):
        broken = {violation.rule for violation in verify(case.problem, corrupted).violations}
        columns = {rule for key, rules in RULES.items() if key[0] == table for rule in rules}
        assert broken & ({"R0"} | columns), (table, broken)


def random_change(schedule: Schedule, generator: np.random.Generator) -> Schedule:
    """One cell takes a value near its own, or the one of another row."""
    name, table = list(tables(schedule))[int(generator.integers(4))]
    if not len(table):
        return schedule
    columns = [field.name for field in fields(table)]
    column = columns[int(generator.integers(len(columns)))]
    values = getattr(table, column).copy()
    row = int(generator.integers(values.size))
    if generator.random() < 0.5:
        values[row] += int(generator.choice([-4, -1, 1, 4]))
    else:
        values[row] = generator.choice(values)
    return with_table(schedule, name, replace(table, **{column: values}))


def contents_wrong(problem: Problem, schedule: Schedule) -> bool:
    """What the replay alone says."""
    return bool(replay(ScheduleArrays.of(problem, schedule)).violations)


def test_what_the_rules_accept_the_replay_accepts() -> None:
    """On 2,000 corruptions, or a third; ``verify`` runs the replay only where all rules hold."""
    accepted = refused = wrong = 0
    for seed in some(range(500)):
        problem, schedule = random_schedule(seed, max_operations=6, max_tensors=4, duplex=True)
        generator = np.random.default_rng(seed)
        for _ in range(4):
            corrupted = random_change(schedule, generator)
            if rule_r0(problem, corrupted):
                continue
            rules = {violation.rule for violation in verify(problem, corrupted).violations}
            assert "replay" not in rules
            accepted += not rules
            refused += bool(rules)
            wrong += bool(rules) and contents_wrong(problem, corrupted)
    # All three happen, or the test shows nothing.
    assert min(accepted, refused, wrong) > share(100)
