"""The replay: never later than the makespan, free of hazards, and it sees wrong contents."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from spmopt.assemble import assemble
from spmopt.core.problem import Problem
from spmopt.core.schedule import Command, Residency, ResidencyPlan, Schedule, Steps, Stores
from spmopt.core.timeline import Access
from spmopt.verifier import Replay, ScheduleArrays, replay, verify
from tests.banked import banked
from tests.strategies import random_problem
from tests.thorough import share, some
from tests.tiny import Op, tiny
from tests.verifier.builders import IN, LOAD, STORE, machine, operation, schedule, tensor
from tests.verifier.changes import with_cell, without
from tests.verifier.hand_made import all_cases, in_place, reuse, run_ahead, two_layers
from tests.verifier.random_plans import random_residency_plan, random_schedule

FEATURES: dict[str, Any] = {"max_operations": 7, "max_tensors": 5, "max_mappings": 2, "setup": True}


def run(problem: Problem, residency_plan: Schedule) -> Replay:
    """The replay alone, whatever the rules say."""
    return replay(ScheduleArrays.of(problem, residency_plan))


@pytest.mark.parametrize("duplex", [False, True])
def test_never_later_than_the_makespan(duplex: bool) -> None:
    """``verify`` reports it if it is; and on some the replay is indeed earlier."""
    earlier = 0
    for seed in some(range(1000)):
        problem, residency_plan = random_schedule(seed, free_order=seed % 3 == 0, **FEATURES)
        problem = replace(problem, machine=replace(problem.machine, duplex=duplex))
        report = verify(problem, residency_plan)
        assert report.legal, (seed, [str(v) for v in report.violations])
        assert report.totals is not None
        earlier += report.totals.replay_cycles < report.totals.makespan_cycles
    assert earlier > share(50)


@pytest.mark.parametrize("banks", [0, 2])
def test_memory_follows_what_is_used_and_not_the_scratchpad(banks: int) -> None:
    """A scratchpad of 100 TB in pages of a byte: no array of the program has an entry a page."""
    problem = banked(3, banks=banks, **FEATURES) if banks else random_problem(3, **FEATURES)
    size, page = 10**14, 1
    sizes = [size - (banks - 1), *[1] * (banks - 1)] if banks else []
    machine = replace(
        problem.machine,
        spm_bytes=size,
        page_bytes=page,
        banks=tuple(
            replace(bank, spm_bytes=own)
            for bank, own in zip(problem.machine.banks, sizes, strict=True)
        ),
    )
    large = replace(problem, machine=machine)
    residency_plan = assemble(large, random_residency_plan(large, np.random.default_rng(0), False))
    tracemalloc.start()
    report = verify(large, residency_plan)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert report.legal, [str(v) for v in report.violations]
    assert peak < 4 * 2**20


@pytest.mark.parametrize("duplex", [False, True])
def test_no_two_uses_clash(duplex: bool) -> None:
    """Every pair of uses, compared: quadratic on purpose."""
    for seed in some(range(300)):
        problem, residency_plan = random_schedule(seed, **FEATURES)
        problem = replace(problem, machine=replace(problem.machine, duplex=duplex))
        view = ScheduleArrays.of(problem, residency_plan)
        times = replay(view)
        _check_channels(view, times)
        _check_pages(view, times)
        _check_dram(view, times)


def _check_channels(view: ScheduleArrays, times: Replay) -> None:
    """Each channel serves its commands one after the other; operations run in order."""
    commands = view.schedule.commands
    outward = np.isin(commands.kind, (Command.STORE, Command.STREAM_OUT))
    outward &= view.problem.machine.duplex
    for channel in (outward, ~outward):
        assert (times.command_start[channel][1:] >= times.command_end[channel][:-1]).all()
    assert (times.operation_start[1:] >= times.operation_end[:-1]).all()


def _check_pages(view: ScheduleArrays, times: Replay) -> None:
    """Uses (step, page, writes, start, end): if one writes, those of two steps are in order."""
    uses = []
    rows, commands, line = view.schedule.placements, view.schedule.commands, view.timeline
    for row in range(len(rows)):
        tensor = int(rows.tensor[row])
        for k in range(int(rows.pages[row])):
            page, low = int(rows.spm_page[row]) + k, 4 * (int(rows.tensor_page[row]) + k)
            for step in range(int(rows.begin[row]), int(rows.end[row])):
                arrives = times.operation_start[step]
                for c in np.flatnonzero((commands.step == step) & (commands.tensor == tensor)):
                    inside = commands.begin[c] < low + 4 and low < commands.end[c]
                    if inside and commands.kind[c] in (Command.LOAD, Command.STORE):
                        loads = commands.kind[c] == Command.LOAD
                        span = times.command_start[c], times.command_end[c]
                        uses.append((step, page, loads, *span))
                        arrives = span[0] if loads else arrives
                touched = slice(line.first[step], line.first[step + 1])
                access = np.flatnonzero(line.tensor[touched] == tensor)
                if access.size or tensor < 0:
                    writes = tensor < 0 or line.kind[touched][access[0]] != Access.READ
                    # What is loaded in the same step is read as it arrives.
                    start = times.operation_start[step] if writes else arrives
                    uses.append((step, page, writes, start, times.operation_end[step]))
    for step, page, writes, _, end in uses:
        for later, other, also_writes, start, _ in uses:
            if later > step and other == page and (writes or also_writes):
                assert start >= end


def _check_dram(view: ScheduleArrays, times: Replay) -> None:
    """Commands on the same bytes, one of them outward: those of two steps are in order."""
    c = view.schedule.commands
    out = np.isin(c.kind, (Command.STORE, Command.STREAM_OUT))
    for a in range(len(c)):
        same = (c.tensor == c.tensor[a]) & (c.begin < c.end[a]) & (c.begin[a] < c.end)
        later = same & (c.step > c.step[a]) & (out | out[a])
        assert (times.command_start[later] >= times.command_end[a]).all()


def test_loads_run_ahead_but_not_into_pages_in_use() -> None:
    case = run_ahead()
    free = run(case.problem, case.schedule)
    assert free.command_start.tolist() == [0, 2]
    # With scratch in one of the pages during step 0, the load waits for its end.
    first, second = case.problem.operations
    busy = replace(first, mappings=(replace(first.mappings[0], scratch_bytes=1),))
    problem = replace(case.problem, operations=(busy, second))
    rows = case.schedule.placements
    scratch = {"tensor": -1, "tensor_page": 0, "pages": 1, "spm_page": 2, "begin": 0, "end": 1}
    table = replace(
        rows, **{name: np.append(getattr(rows, name), value) for name, value in scratch.items()}
    )
    waits = verify(problem, replace(case.schedule, placements=table))
    assert waits.legal
    assert waits.replay is not None
    assert waits.replay.command_start.tolist() == [0, 10]
    assert waits.replay.cycles == 20


def test_the_cases_have_right_contents() -> None:
    for case in all_cases().values():
        assert run(case.problem, case.schedule).violations == ()


@pytest.mark.parametrize(
    ("row", "step", "tensor"),
    [(0, 3, 0), (2, 3, 0), (4, 3, 0), (6, None, 2)],
    ids=["upper store", "lower store", "load", "last store"],
)
def test_a_missing_command_is_seen_where_its_bytes_are_used(
    row: int, step: int | None, tensor: int
) -> None:
    case = reuse()
    violations = run(case.problem, without(case.schedule, row)).violations
    assert [(v.step, v.tensor) for v in violations] == [(step, tensor)]


@pytest.mark.parametrize(("row", "step"), [(0, 0), (1, 0), (2, 1), (3, 1), (4, 1)])
def test_a_missing_command_in_place(row: int, step: int) -> None:
    """Without load or stream in, at once; without stream out or store, at the next read."""
    case = in_place()
    violations = run(case.problem, without(case.schedule, row)).violations
    assert (violations[0].step, violations[0].tensor) == (step, 0)


def test_swapped_addresses_are_seen() -> None:
    """The pages of w change places between the steps; and y lies where w is."""
    case = two_layers()
    rows = case.schedule.placements.take(np.array([0, 0, 0, 1]))
    swapped = replace(
        rows,
        begin=np.array([0, 1, 1, 0]),
        end=np.array([1, 2, 2, 2]),
        tensor_page=np.array([0, 0, 1, 0]),
        pages=np.array([2, 1, 1, 2]),
        spm_page=np.array([0, 1, 0, 2]),
    )
    seen = run(case.problem, replace(case.schedule, placements=swapped)).violations
    assert [(v.step, v.tensor) for v in seen] == [(1, 1)]
    over = with_cell(case.schedule, "placements", "spm_page", 1, 1)
    assert [(v.step, v.tensor) for v in run(case.problem, over).violations] == [(1, 1)]


def test_scratch_destroys_what_it_covers() -> None:
    case = reuse()
    over = with_cell(case.schedule, "placements", "spm_page", 2, 0)
    seen = run(case.problem, over).violations
    assert [(v.step, v.tensor) for v in seen] == [(3, 0)]


def test_an_address_outside_the_spm_is_refused() -> None:
    case = two_layers()
    for page in (-1, 3, 2**50):
        wrong = with_cell(case.schedule, "placements", "spm_page", 1, page)
        assert "outside the SPM" in run(case.problem, wrong).violations[0].message


def test_an_old_version_in_dram_is_seen() -> None:
    """The new lower half is not stored, and step 1 streams all of w from DRAM."""
    case = in_place()
    seen = run(case.problem, without(case.schedule, 3)).violations
    assert [(v.step, v.tensor) for v in seen] == [(1, 0), (None, 0)]
    assert "DRAM holds another version" in seen[0].message


@pytest.mark.parametrize("duplex", [False, True])
@pytest.mark.parametrize("kind", [LOAD, IN])
def test_a_store_is_over_before_its_bytes_are_read(duplex: bool, kind: Command) -> None:
    """y is stored for 8 cycles in step 0, which ends after 1; step 1 reads y from DRAM."""
    problem = Problem(
        name="order",
        machine=machine(4, duplex=duplex),
        tensors=(tensor("y", 8), tensor("x", 8)),
        operations=(
            operation("make", (), (0,), 1),
            operation("wait", (), (1,), 2),
            operation("use", (0,), (), 3),
        ),
    )
    rows, placed = [(0, 0, 1, 8)], [(0, 0, 2, 0, 0, 1)]
    if kind == LOAD:
        rows, placed = [*rows, (0, 2, 3, 8)], [*placed, (0, 0, 2, 2, 2, 3)]
    residency_plan = schedule(3, rows, [(0, STORE, 0, 0, 8, 1), (2, kind, 0, 0, 8, 1)], placed)
    report = verify(problem, residency_plan)
    assert report.legal
    assert report.replay is not None
    assert report.replay.command_start.tolist() == [0, 8]
    assert report.replay.operation_start.tolist() == [0, 1, 3]
    assert report.replay.operation_end.tolist() == [1, 3, 16]


def test_a_load_waits_until_what_wrote_its_bytes_has_ended() -> None:
    """Streamed out while 10 cycles are computed; its last row is there only then."""
    problem = tiny(
        {"a": (4, ""), "b": (4, "keep")},
        [Op(writes="a", cycles=10), Op(reads="a", writes="b", required_resident="a", cycles=1)],
        spm=8,
    )
    rows = Residency.of_rows([(0, 1, 2, 4)])
    steps = Steps.listed(np.zeros(2, np.int64))
    found = verify(
        problem,
        assemble(problem, ResidencyPlan(steps=steps, residency=rows, stores=Stores.empty())),
    )
    assert found.replay is not None
    load = found.replay.command_start[1]
    assert (found.replay.command_end[0], load) == (4, 10)
    assert found.replay.operation_start.tolist() == [0, 14]
