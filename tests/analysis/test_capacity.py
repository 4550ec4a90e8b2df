"""Capacity per scope: by hand, and as the smallest scratchpad of a legal schedule."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from spmopt.analysis import Analysis, Scope
from spmopt.analysis.capacity import exact_bytes
from spmopt.analysis.reuse import over_ranges
from spmopt.assemble import assemble
from spmopt.core.problem import Problem
from spmopt.core.schedule import Residency, ResidencyPlan, Schedule, Stores
from spmopt.core.timeline import Access
from spmopt.verifier import ScheduleArrays, verify
from spmopt.verifier.rules import rule_r1
from tests.analysis.small import streamed, training_step
from tests.strategies import random_problem
from tests.thorough import share, some


def test_capacities_of_a_training_step() -> None:
    found = {
        scope.scope: (scope.formula_bytes, scope.alone_bytes, scope.with_shorter_bytes)
        for scope in streamed(training_step()).scopes()
    }
    assert found == {
        Scope.INTRA_LAYER: (None, 8, 8),  # g1
        # The backward layer conv touches g1, x, gw, w, gx; y1 with y2, g3 with g1 are open.
        Scope.ADJACENT_LAYER: (32, 16, 16),
        # relu touches y1 and y2 while x stays; add touches as much.
        Scope.BLOCK: (24, 8, 24),
        Scope.RECURRENT_WEIGHT: (0, 0, 24),
        # y1, y2, y3, w; at loss x, w, y2, y3 are open, and of the adjacent scope g3.
        Scope.FORWARD_BACKWARD: (28, 28, 36),
    }


def test_most_gaps_need_less_than_the_largest() -> None:
    adjacent = streamed(training_step()).scopes()[Scope.ADJACENT_LAYER]
    assert adjacent.formula_most_bytes == 32  # one of four is not a tenth
    block = streamed(training_step()).scopes()[Scope.BLOCK]
    assert block.formula_most_bytes == 24


def test_exact_is_the_smallest_scratchpad_of_a_legal_schedule() -> None:
    tried = 0
    for seed in some(range(90)):
        problem = random_problem(seed, max_operations=8, max_tensors=6, max_operands=4)
        for wanted in ((Scope.ADJACENT_LAYER,), (Scope.INTRA_LAYER, Scope.BLOCK), tuple(Scope)):
            analysis = streamed(problem)
            need = exact_bytes(analysis.steps.view, analysis.reuse, wanted)
            page = problem.machine.page_bytes
            if need < 2 * page:
                continue
            tried += 1
            roomy = _with_spm(problem, need)
            schedule = _capturing(roomy, analysis, wanted)
            report = verify(roomy, schedule)
            assert report.legal, report.violations
            again = Analysis.of(roomy, schedule)
            for scope in wanted:
                figures = again.scopes()[scope]
                assert figures.captured_bytes == figures.reusable_bytes
            assert rule_r1(ScheduleArrays.of(roomy, schedule)) == []
            assert rule_r1(ScheduleArrays.of(_with_spm(problem, need - page), schedule))
    assert tried > share(120)


def test_largest_of_ranges_is_that_of_a_loop() -> None:
    generator = np.random.default_rng(0)
    for size in (1, 2, 3, 7, 8, 33):
        values = generator.integers(0, 100, size)
        begin = generator.integers(0, size, 50)
        end = np.maximum(begin, generator.integers(0, size, 50))
        expected = [values[b : e + 1].max() for b, e in zip(begin, end, strict=True)]
        np.testing.assert_array_equal(over_ranges(np.maximum, values, begin, end), expected)


def _with_spm(problem: Problem, spm: int) -> Problem:
    return replace(problem, machine=replace(problem.machine, spm_bytes=spm))


def _capturing(problem: Problem, analysis: Analysis, wanted: Collection[Scope]) -> Schedule:
    """Hold the tensors of all gaps of these scopes, store results at once, stream the rest."""
    line, found = analysis.steps.view.timeline, analysis.reuse
    held = np.zeros((line.size_bytes.size, line.steps), bool)
    for a in range(line.step.size):
        tensor, step = line.tensor[a], line.step[a]
        if found.scope[a] in wanted:
            held[tensor, step : line.step[line.next[a]] + 1] = True
        repeated = Scope.INTRA_LAYER in wanted and found.repeated_bytes[a] > 0
        if line.required_resident[a] or repeated:
            held[tensor, step] = True
    rows = [
        (tensor, step, step + 1, int(line.size_bytes[tensor]))
        for tensor, step in zip(*(ids.tolist() for ids in np.nonzero(held)), strict=True)
    ]
    written = held[line.tensor, line.step] & (line.kind != Access.READ) & line.live_after
    stored = line.tensor[written]
    order = np.lexsort((stored, line.step[written]))
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    residency_plan = ResidencyPlan(
        steps=line.chosen,
        residency=Residency(
            tensor=columns[0], begin=columns[1], end=columns[2], size_bytes=columns[3]
        ),
        stores=Stores(
            step=line.step[written][order],
            tensor=stored[order],
            size_bytes=line.size_bytes[stored][order],
        ),
    )
    return assemble(problem, residency_plan)
