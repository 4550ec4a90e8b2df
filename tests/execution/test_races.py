"""Waits suffice whatever engines are how fast, and hardly any of them could be left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from spmopt.core.schedule import Schedule
from spmopt.execution.commands import Kind, Program, Releases, machine_program
from spmopt.execution.waits import NONE, Waits, waits
from tests.banked import banked
from tests.execution.executed import executed
from tests.execution.planted import reordered
from tests.execution.races import before, conflicts, races
from tests.thorough import share
from tests.verifier.random_banks import random_banked
from tests.verifier.random_plans import rich_schedule


def programs(count: int) -> Iterator[tuple[int, Program, Schedule]]:
    """Random ones, every fourth with banks and moves."""
    for seed in range(count):
        if seed % 4:
            problem, schedule = rich_schedule(seed, max_operations=12)
        else:
            problem = banked(seed, max_operations=8, max_tensors=6)
            schedule = random_banked(problem, np.random.default_rng(seed))
        yield seed, machine_program(problem, schedule), schedule


def without(rows: Waits, row: int) -> Waits:
    return rows.take(np.arange(len(rows)) != row)


def test_what_conflicts_is_in_order() -> None:
    pairs = 0
    for seed, program, _ in programs(share(150, 3)):
        assert not races(program, waits(program)), seed
        pairs += sum(1 for _ in conflicts(program))
    assert pairs > share(2_000, 3)


def test_a_wait_that_is_left_out_is_a_race() -> None:
    """Or it is one of those few that only share a page with what they wait for."""
    rows_in_all, spare = 0, 0
    for _, program, _ in programs(share(80, 3)):
        rows = waits(program)
        for row in range(len(rows)):
            rows_in_all += 1
            spare += not races(program, without(rows, row))
    assert rows_in_all > share(500, 3)
    assert spare <= rows_in_all // 20, (spare, rows_in_all)


def test_no_wait_follows_from_the_others() -> None:
    for seed, program, _ in programs(share(80, 3)):
        rows = waits(program)
        for row, (command, on) in enumerate(rows.rows()):
            assert not before(program, without(rows, row))[on, command], (seed, command, on)


def overtaken(program: Program, one: int, other: int, order: np.ndarray) -> list[int]:
    """The order in which ``other``, and what must come before it, is as early as it can be.

    So it is done before ``one``, which nothing then makes it wait for.
    """
    ahead = np.flatnonzero(order[:, other]).tolist()
    assert one not in ahead
    first = [*ahead, other]
    return first + [k for k in range(len(program.commands)) if k not in set(first)]


def test_races_change_results() -> None:
    """Of a wait that is left out some legal order shows it, where what races is of use."""
    shown, tried = 0, 0
    for _, program, schedule in programs(share(60, 3)):
        free = replace(program, releases=Releases.empty())
        rows = waits(free)
        for row in range(len(rows)):
            less = without(rows, row)
            found = races(free, less)
            if not found:
                continue
            tried += 1
            one, other = found[0]
            moved = reordered(free, overtaken(free, one, other, before(free, less)))
            shown += not executed(moved, schedule.steps.operation).same
    assert tried > share(300, 3)
    assert shown > tried // 3, (shown, tried)


def test_dma_never_waits_for_the_future() -> None:
    """Whoever waits does so for something earlier in the list, so that there is no deadlock."""
    for _, program, _ in programs(40):
        rows = waits(program)
        assert np.all(rows.on < rows.command)
        assert np.all(rows.on > NONE)
        kinds = program.commands.kind
        assert not np.any((kinds[rows.command] == Kind.LAY) & (kinds[rows.on] == Kind.LIFT))
