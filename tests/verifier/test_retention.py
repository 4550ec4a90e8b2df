"""R12 by hand, and against pages whose age is followed step by step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from spmopt.assemble import assemble
from spmopt.core.errors import InputError
from spmopt.core.instance import Instance
from spmopt.core.machine import Bank
from spmopt.core.schedule import Schedule
from spmopt.core.timeline import Access, timeline
from spmopt.verifier import require_legal, verify
from tests.banked import banked
from tests.banks_by_hand import instance, moving
from tests.verifier.random_banks import shuffled
from tests.verifier.random_plans import random_plan

SECOND_NS = 1e9
"""A cycle of these instances."""


def forgetting(case: Instance, *cycles: int | None) -> Instance:
    """The instance with banks that keep contents for so many cycles."""
    banks = tuple(
        replace(bank, retention_ns=None if limit is None else limit * SECOND_NS)
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
    report = verify(forgetting(instance(), *limits), moving())
    assert [str(each).partition(";")[0] for each in report.violations] == broken


def ages_hold(case: Instance, schedule: Schedule, cycles: list[int]) -> bool:
    """Whether no page is ever older than its bank keeps it, followed step by step."""
    line, machine = timeline(case, schedule.steps), case.machine
    edges = np.cumsum(machine.bank_pages)
    accesses = zip(line.step.tolist(), line.tensor.tolist(), line.kind.tolist(), strict=True)
    kinds = {(step, tensor): kind for step, tensor, kind in accesses}
    table = schedule.placements
    rows = list(zip(*(column.tolist() for column in (
        table.tensor, table.tensor_page, table.pages, table.spm_page, table.begin, table.end
    )), strict=True))  # fmt: skip
    age: dict[tuple[int, int], int] = {}
    before: dict[tuple[int, int], int] = {}
    for step, cycle in enumerate(cycles):
        now = {
            (tensor, first + k): address + k
            for tensor, first, pages, address, begin, end in rows
            if begin <= step < end
            for k in range(pages)
        }
        for page, address in now.items():
            kind = kinds.get((step, page[0]))
            stays = before.get(page) == address and page[0] >= 0
            limit = machine.retention_cycles[int(np.searchsorted(edges, address, "right"))]
            old = (age[page] if stays and kind != Access.WRITE else 0) + cycle
            if limit is not None and old > limit:
                return False
            age[page] = cycle if kind in (Access.WRITE, Access.UPDATE) else old
        before = now
    return True


def test_random_schedules() -> None:
    kept = broken = 0
    for seed in range(120):
        plain = banked(seed, banks=3, ports=seed % 2 == 0)
        generator = np.random.default_rng(seed)
        plan = random_plan(plain, generator, False)
        schedule = shuffled(plain, assemble(plain, plan), generator)
        cycles = require_legal(plain, schedule).step_cycles
        assert cycles is not None
        longest = int(cycles.sum()) + 1
        limits = [
            None if generator.integers(0, 4) == 0 else int(generator.integers(1, longest + 1))
            for _ in plain.machine.banks
        ]
        case = forgetting(plain, *limits)
        rules = {violation.rule for violation in verify(case, schedule).violations}
        holds = ages_hold(case, schedule, cycles.tolist())
        assert rules == (set() if holds else {"R12"}), seed
        kept, broken = kept + holds, broken + (not holds)
    assert min(kept, broken) > 20


def test_cycles_are_whole_ones() -> None:
    case = instance()
    bank = Bank(spm_bytes=4, retention_ns=2.999e9)
    machine = replace(case.machine, banks=(bank, case.machine.banks[1]))
    assert machine.retention_cycles == (2, None)
    assert replace(machine, clock_hz=10**9).retention_cycles == (2_999_000_000, None)
    assert machine.features == {"banks", "retention"}
    assert case.machine.features == {"banks"}
    with pytest.raises(InputError, match="retention_ns must be finite and not negative"):
        Bank(spm_bytes=4, retention_ns=-1.0)
