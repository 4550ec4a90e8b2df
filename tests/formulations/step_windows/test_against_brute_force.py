"""One window over all of a tiny problem against every plan; decisions against their replay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pytest

from spmopt.assemble import assemble
from spmopt.assemble.cost import residency_plan_cost, residency_plan_value
from spmopt.core.objective import MAKESPAN
from spmopt.core.operation import Operand, OpMapping
from spmopt.core.order import dependences
from spmopt.core.problem import Problem
from spmopt.core.schedule import Residency, ResidencyPlan, Steps, Stores
from spmopt.core.timeline import timeline
from spmopt.core.window import WindowDecision
from spmopt.solving.window_cut import WindowCutter, schedule_all
from spmopt.solving.windows import decide_residency
from spmopt.verifier import Report, require_legal
from tests.brute_force import optimum
from tests.checked import need
from tests.formulations.joint.brute_force import orders
from tests.strategies import random_problem
from tests.thorough import some
from tests.verifier.random_plans import random_residency_plan

Row = tuple[int, int, int, int]
Life = tuple[tuple[int, ...], tuple[int, ...], int]


def planned(
    problem: Problem,
    order: Sequence[int],
    rows: Sequence[Row],
    stores: Sequence[tuple[int, int, int]],
    mappings: Sequence[int] | None = None,
) -> ResidencyPlan:
    return ResidencyPlan(
        steps=Steps(
            operation=np.array(order, np.int64),
            mapping=np.array([0] * len(order) if mappings is None else mappings, np.int64),
        ),
        residency=Residency.of_rows(rows),
        stores=Stores.of_rows(stores),
    )


def decide(
    problem: Problem, residency_plan: ResidencyPlan, first: int = 0, steps: int = 99, tail: int = 9
) -> tuple[WindowDecision, Report]:
    """Decide a window, put the decision in, and replay."""
    start = schedule_all(problem, residency_plan)
    cutter = WindowCutter(problem, residency_plan, start, dependences(problem))
    cut = cutter.cut(first, steps, tail)
    decision = need(decide_residency(cut.window, 1.0))
    return decision, require_legal(problem, schedule_all(problem, cutter.apply(cut, decision)))


def cycles(report: Report) -> int:
    return need(report.totals).replay_cycles


# Every plan of whole pages, from rules R1 to R5 and R7; the queue and addresses follow from it.


def _lives(
    problem: Problem, order: Sequence[int], running: Sequence[OpMapping], tensor: int
) -> Iterator[Life]:
    """Pages resident, and pages stored, in each step; and pages moved in all."""
    record, last = problem.tensors[tensor], len(order)
    pages = record.size_bytes // problem.machine.page_bytes
    operations = [problem.operations[index] for index in order]

    def live(step: int) -> bool:
        for operation in operations[step:]:
            if tensor in operation.tensors:
                return tensor in operation.reads
        return record.keep

    def walk(step: int, held: int, valid: int, found: list[tuple[int, int, int]]) -> Iterator[Life]:
        if step == last:
            if valid == pages or not record.keep:
                columns = [*zip(*found, strict=True)]
                yield columns[0], columns[1], sum(columns[2])
            return
        operation = operations[step]
        read, written = tensor in operation.reads, tensor in operation.writes
        used = tensor in operation.tensors
        use = running[step].operands[operation.tensors.index(tensor)] if used else Operand()
        crossings = use.fetches * (read + written * live(step + 1))
        firm, useful = use.required_resident, used or live(step)
        for now in range(pages * firm, pages * useful + 1):
            loads = now > held and (read or not written)
            lost = live(step) and now + valid < pages
            if (loads and held + valid < pages) or lost:
                continue
            there = (pages - now) * live(step + 1) if written else valid
            most = pages - there if live(step + 1) and now + there >= pages else 0
            for stored in range(most + 1):
                moved = loads * (now - held) + stored + crossings * (pages - now)
                yield from walk(step + 1, now, there + stored, [*found, (now, stored, moved)])

    yield from walk(0, 0, pages * record.in_dram, [])


def residency_plans(problem: Problem, below: int) -> Iterator[ResidencyPlan]:
    """Yield plans that may replay in less, by what they compute and move."""
    machine = problem.machine
    page, room = machine.page_bytes, machine.spm_pages
    cost = page * machine.clock_hz // machine.dram_bytes_per_s
    most = below * (1 + machine.duplex)
    for order in orders(problem):
        for mappings in product(*(range(len(problem.operations[i].mappings)) for i in order)):
            running = [
                problem.operations[i].mappings[m] for i, m in zip(order, mappings, strict=True)
            ]
            if sum(mapping.compute_cycles for mapping in running) >= below:
                continue
            free = [room - mapping.scratch_bytes // page for mapping in running]
            lives = [[*_lives(problem, order, running, t)] for t in range(len(problem.tensors))]
            for chosen in product(*lives):
                held = zip(*(pages for pages, *_ in chosen), strict=True)
                full = any(sum(now) > room for now, room in zip(held, free, strict=True))
                if full or cost * sum(moved for *_, moved in chosen) >= most:
                    continue
                rows = [
                    (tensor, step, step + 1, page * pages)
                    for tensor, (held, *_) in enumerate(chosen)
                    for step, pages in enumerate(held)
                    if pages
                ]
                stores = [
                    (step, tensor, page * pages)
                    for tensor, (_, stored, _) in enumerate(chosen)
                    for step, pages in enumerate(stored)
                    if pages
                ]
                yield planned(problem, order, joined(rows), sorted(stores), mappings)


def joined(rows: Sequence[Row]) -> list[Row]:
    found = list[Row]()
    for row in rows:
        if found and (found[-1][0], found[-1][2], found[-1][3]) == (row[0], row[1], row[3]):
            found[-1] = (row[0], found[-1][1], row[2], row[3])
        else:
            found.append(row)
    return found


def small(seed: int) -> tuple[Problem, ResidencyPlan]:
    """Whole cycles and pages, so that nothing is rounded."""
    problem = random_problem(
        seed,
        max_operations=3,
        max_tensors=2,
        max_tensor_pages=2,
        max_mappings=1 + seed % 2,
        max_compute_cycles=6,
        page_bytes=1,
        aligned=True,
        whole_cycles=True,
        duplex=True,
        setup=seed % 3 == 0,
    )
    return problem, random_residency_plan(problem, np.random.default_rng(seed), free_order=False)


SMALL = (0, 2, 4, 5, 6, 8, 71)
"""In the last one a load is in another turn where another operation may run in its step."""


@pytest.mark.parametrize("seed", SMALL)
def test_no_plan_is_better(seed: int) -> None:
    """But for one that starts a load, for its own step, before the operation before has ended."""
    problem, residency_plan = small(seed)
    decision, report = decide(problem, residency_plan)
    assert cycles(report) == decision.cycles
    for other in residency_plans(problem, cycles(report)):
        assert cycles(require_legal(problem, schedule_all(problem, other))) >= decision.cycles


def larger(seed: int) -> tuple[Problem, ResidencyPlan, tuple[int, int, int]]:
    """A random window of a random residency plan."""
    generator = np.random.default_rng(seed)
    problem = random_problem(
        seed,
        max_operations=6,
        max_tensors=5,
        max_mappings=2,
        page_bytes=1,
        aligned=True,
        whole_cycles=True,
        duplex=True,
        setup=seed % 3 == 0,
    )
    residency_plan = random_residency_plan(problem, generator, free_order=True)
    count = len(residency_plan.steps)
    first = int(generator.integers(count))
    return problem, residency_plan, (first, int(generator.integers(1, count - first + 1)), 2)


@pytest.mark.parametrize("seed", [0, 4, 7, 70, 85, 87, 150, 162, 174, 640, 795])
def test_decisions_are_legal_and_never_late(seed: int) -> None:
    """All but the first were late once: what stores and loads of the window's start wait for."""
    problem, residency_plan, window = larger(seed)
    check(problem, residency_plan, window)


def check(problem: Problem, residency_plan: ResidencyPlan, window: tuple[int, int, int]) -> None:
    first, steps, tail = window
    decision, report = decide(problem, residency_plan, *window)
    last = min(len(residency_plan.steps), first + steps + tail)
    ends = need(report.replay).operation_end
    since = int(ends[first - 1]) if first else 0
    assert int(ends[last - 1]) - since <= decision.cycles
    if last == len(residency_plan.steps):
        assert cycles(report) - since <= decision.cycles


def decide_kept(
    problem: Problem,
    residency_plan: ResidencyPlan,
    window: tuple[int, int, int] = (0, 99, 9),
    *,
    whole: bool = False,
) -> tuple[WindowDecision, ResidencyPlan]:
    """Decide a window of steps that keep their order, with barriers between them."""
    cutter = WindowCutter(problem, residency_plan, assemble(problem, residency_plan), whole=whole)
    cut = cutter.cut(*window)
    decision = need(decide_residency(cut.window, 1.0))
    found = cutter.apply(cut, decision)
    assert np.array_equal(found.steps.operation, residency_plan.steps.operation)
    require_legal(problem, assemble(problem, found))
    return decision, found


@pytest.mark.parametrize("seed", range(24))
def test_no_plan_of_steps_is_better(seed: int) -> None:
    problem, residency_plan = small(seed)
    decision, found = decide_kept(problem, residency_plan)
    value = residency_plan_value(problem, found, MAKESPAN)
    assert value == decision.cycles
    best = need(optimum(problem, MAKESPAN, residency="page"))
    assert value == best.value


def test_hardly_a_plan_of_whole_tensors_is_better() -> None:
    """Only one in which a tensor comes in two steps, and is not used between them."""
    optimal, seeds = 0, some(range(24))
    for seed in seeds:
        problem, residency_plan = small(seed)
        decision, found = decide_kept(problem, residency_plan, whole=True)
        sizes = np.array([tensor.size_bytes for tensor in problem.tensors])
        assert (found.residency.size_bytes == sizes[found.residency.tensor]).all()
        best = need(optimum(problem, MAKESPAN, residency="whole"))
        assert best.value <= residency_plan_value(problem, found, MAKESPAN) == decision.cycles
        optimal += best.value == decision.cycles
    assert optimal >= len(seeds) - 1


@pytest.mark.parametrize("seed", range(24))
def test_steps_take_what_a_window_says(seed: int) -> None:
    problem, residency_plan, (first, steps, tail) = larger(seed)
    decision, found = decide_kept(problem, residency_plan, (first, steps, tail))
    now, then = (
        residency_plan_cost(problem.machine, timeline(problem, each.steps), each).step_time
        for each in (residency_plan, found)
    )
    inside = np.zeros(now.size, bool)
    inside[first : first + steps + tail] = True
    # Less where stores of the tail, or behind it, have less to do.
    assert int(then[inside].sum()) <= decision.cycles <= int(now[inside].sum())
    assert (then[~inside] <= now[~inside]).all()
