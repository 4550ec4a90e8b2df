"""R12 by hand, and against pages whose age is followed step by step."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import accumulate

import numpy as np
import pytest

from spmopt.assemble import assemble
from spmopt.core.errors import InputError
from spmopt.core.machine import Bank
from spmopt.core.problem import Problem
from spmopt.core.schedule import Command, Commands, Moves, Placements, Schedule
from spmopt.core.table import Bools
from spmopt.verifier import require_legal, verify
from tests.banked import banked, with_these
from tests.banks_by_hand import moving, problem
from tests.checked import need
from tests.thorough import share, some
from tests.verifier.builders import IN, LOAD, machine, operation, schedule, tensor
from tests.verifier.random_banks import shuffled
from tests.verifier.random_plans import random_residency_plan


def forgetting(case: Problem, *cycles: int | None) -> Problem:
    """The problem with banks that keep contents for so many cycles, and half of one."""
    clock_hz = case.machine.clock_hz
    banks = tuple(
        replace(bank, retention_ns=None if limit is None else (limit + 0.5) * 1e9 / clock_hz)
        for bank, limit in zip(case.machine.banks, cycles, strict=True)
    )
    return replace(case, machine=replace(case.machine, banks=banks))


@pytest.mark.parametrize(
    ("limits", "broken"),
    [
        ((None, None), []),
        ((8, 12), []),  # b is in bank 0 for 8 cycles, a moves to bank 1 and is there for 12
        ((7, 12), ["R12 step 2: page 0 of b is 8 cycles in bank 0, written in step 1"]),
        ((None, 11), ["R12 step 3: page 0 of a is 12 cycles in bank 1, written in step 1"]),
    ],
)
def test_by_hand(limits: tuple[int | None, int | None], broken: list[str]) -> None:
    report = verify(forgetting(problem(), *limits), moving())
    assert [str(each).partition(";")[0] for each in report.violations] == broken


def test_pages_that_come_at_different_steps_are_told_one_by_one() -> None:
    """The second page of ``a`` comes a step after the first; rows of both begin at the first."""
    case = Problem(
        name="pages",
        machine=with_these(machine(2), (Bank(spm_bytes=8),)),
        tensors=(tensor("a", 8, "d"),),
        operations=tuple(operation(f"op{step}", (0,), (), 8) for step in range(3)),
    )
    facts = schedule(
        3,
        residency=[(0, 0, 1, 4), (0, 1, 3, 8)],
        commands=[(0, LOAD, 0, 0, 4, 1), (0, IN, 0, 4, 8, 1), (1, LOAD, 0, 4, 8, 1)],
        placements=[(0, 0, 1, 0, 0, 1), (0, 0, 2, 0, 1, 3)],
    )
    assert [
        str(each).partition(";")[0] for each in verify(forgetting(case, 7), facts).violations
    ] == [
        "R12 step 2: page 0 of a is 24 cycles in bank 0, written in step 0",
        "R12 step 2: page 1 of a is 16 cycles in bank 0, written in step 1",
    ]


def oldest(case: Problem, schedule: Schedule, cycles: list[int]) -> list[int]:
    """The greatest age in each bank, by what happens to every page of the scratchpad in turn."""
    ends, page = [0, *accumulate(cycles)], case.machine.page_bytes
    edges = np.cumsum(case.machine.bank_pages)
    table, commands, moves = schedule.placements, schedule.commands, schedule.moves
    found = [0] * edges.size
    written: dict[int, int] = {}
    before: dict[tuple[int, int], int] = {}

    def covered(rows: Moves | Commands, chosen: Bools) -> set[tuple[int, int]]:
        return {
            (int(rows.tensor[k]), number)
            for k in np.flatnonzero(chosen).tolist()
            for number in range(int(rows.begin[k]) // page, -(-int(rows.end[k]) // page))
        }

    for step, index in enumerate(schedule.steps.operation.tolist()):
        operation = case.operations[index]
        updated = set(operation.reads) & set(operation.writes)
        here = np.flatnonzero((table.begin <= step) & (step < table.end)).tolist()
        now = {
            (int(table.tensor[row]), int(table.tensor_page[row]) + k): int(table.spm_page[row]) + k
            for row in here
            for k in range(int(table.pages[row]))
        }
        new = covered(moves, moves.step == step)
        new |= covered(commands, (commands.step == step) & (commands.kind == Command.LOAD))
        new |= {each for each in now if each[0] < 0 or each[0] in set(operation.writes) - updated}
        assert all(before[each] == now[each] for each in now.keys() - new)
        written = {at: ends[step] if each in new else written[at] for each, at in now.items()}
        for at, since in written.items():  # all of it may be read until the step ends
            bank = int(np.searchsorted(edges, at, "right"))
            found[bank] = max(found[bank], ends[step + 1] - since)
        written |= {at: ends[step] for each, at in now.items() if each[0] in updated}
        before = now
    return found


def fused(schedule: Schedule, generator: np.random.Generator) -> Schedule:
    """The same places, told in rows cut at random in time and in pages, in any order."""
    table, rows = schedule.placements, []
    names = [each.name for each in fields(table)]
    left = list(zip(*(getattr(table, name).tolist() for name in names), strict=True))
    while left:
        row = dict(zip(names, left.pop(), strict=True))
        steps, pages = row["end"] - row["begin"], row["pages"]
        cut = int(generator.integers(1, max(2, steps, pages)))
        if cut < steps and generator.random() < 0.5:
            middle = row["begin"] + cut
            left += [tuple((row | own).values()) for own in ({"end": middle}, {"begin": middle})]
        elif cut < pages and generator.random() < 0.5:
            rest = {key: row[key] + cut for key in ("tensor_page", "spm_page")}
            rest |= {"pages": pages - cut}
            left += [tuple((row | own).values()) for own in ({"pages": cut}, rest)]
        else:
            rows.append(tuple(row.values()))
    columns = np.array(rows, np.int64).reshape(-1, len(names))[generator.permutation(len(rows))].T
    return replace(schedule, placements=Placements(**dict(zip(names, columns, strict=True))))


def test_schedules_are_legal_for_as_long_as_their_oldest_page_lasts() -> None:
    broken = 0
    for seed in some(range(80)):
        plain = banked(seed, banks=3, ports=seed % 2 == 0, duplex=seed % 3 == 0, max_mappings=2)
        generator = np.random.default_rng(seed)
        schedule = assemble(plain, random_residency_plan(plain, generator, seed % 5 == 0))
        if seed % 4:
            schedule = fused(shuffled(plain, schedule, generator), generator)
        cycles = need(require_legal(plain, schedule).step_cycles)
        ages = oldest(plain, schedule, cycles.tolist())
        require_legal(forgetting(plain, *ages), schedule)
        for bank in np.flatnonzero(ages).tolist():
            others = ages if generator.random() < 0.5 else [None] * len(ages)
            limits = [*others[:bank], ages[bank] - 1, *others[bank + 1 :]]
            found = verify(forgetting(plain, *limits), schedule).violations
            assert {each.rule for each in found} == {"R12"}, seed
            broken += 1
    assert broken > share(100)


def test_cycles_are_whole_ones() -> None:
    case = problem()
    bank = Bank(spm_bytes=4, retention_ns=2.999e9)
    machine = replace(case.machine, banks=(bank, case.machine.banks[1]))
    assert machine.retention_cycles == (2, None)
    assert replace(machine, clock_hz=10**9).retention_cycles == (2_999_000_000, None)
    assert machine.features == {"banks", "retention"}
    assert case.machine.features == {"banks"}
    with pytest.raises(InputError, match="retention_ns must be finite and not negative"):
        Bank(spm_bytes=4, retention_ns=-1.0)
