"""The plain model: each family where it binds, and against the brute force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.solver.program import SolverStatus
from spmopt.core.errors import InputError
from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective, objective_named
from spmopt.core.problem import Problem
from spmopt.core.timeline import timeline_in_order
from tests.formulations.plain.cells import plain_cells
from tests.formulations.plain.model import SETTINGS, plain_model, solve_plain
from tests.formulations.small import small_optimum
from tests.strategies import problems, random_problem
from tests.thorough import share
from tests.tiny import Op, tiny

READ = Op(reads="x", cycles=5)
OBJECTIVES = ("traffic", "time", "energy")
SMALL = {"max_operations": 5, "max_tensors": 3, "page_bytes": 2, "duplex": True}


def fluid(problem: Problem, objective: Objective = TRAFFIC) -> float:
    answer = solve_plain(problem, objective)
    assert answer.answer.status is SolverStatus.OPTIMAL
    assert answer.value is not None
    return answer.value


def scale_of(value: float, objective: Objective) -> float:
    """What a relative tolerance refers to; energies here are picojoules."""
    return max(abs(value), 1e-12 if objective.unit == "joules" else 1.0)


def brute(problem: Problem, objective: Objective, residency: str = "page") -> float:
    return float(small_optimum(problem, objective, residency).value)


def test_cells_are_where_contents_are_needed() -> None:
    operations = [Op(reads="w"), Op(writes="y"), Op(reads="w"), Op(reads="y"), Op(writes="y"), Op()]
    problem = tiny({"w": (4, "in keep"), "y": (4, "keep")}, operations, spm=4)
    cells = plain_cells(timeline_in_order(problem))
    # w is unchanged after its last use; the first y is dead before step 4, the second is kept.
    assert list(zip(cells.tensor.tolist(), cells.step.tolist(), strict=True)) == [
        *[(0, step) for step in (0, 1, 2)],
        *[(1, step) for step in (1, 2, 3, 4, 5)],
    ]
    assert cells.previous.tolist() == [-1, 0, 1, -1, 3, 4, -1, 6]
    assert cells.loads.tolist() == [True, True, True, False, True, True, False, False]
    assert cells.dirty.tolist() == [False] * 3 + [True, True, False, True, True]
    assert cells.blind.tolist() == [False] * 3 + [True, False, False, True, False]
    assert cells.last.tolist() == [False] * 7 + [True]


def test_an_problem_without_anything_to_decide() -> None:
    problem = tiny({"x": (4, "in keep")}, [Op(cycles=3), Op(cycles=4)], spm=4)
    assert fluid(problem, MAKESPAN) == pytest.approx(7)
    assert fluid(problem) == 0


@pytest.mark.parametrize(("spm", "traffic"), [(4, 12), (8, 8), (12, 8)])
def test_growth_and_capacity(spm: int, traffic: float) -> None:
    # (P1) a load is paid once, (P4) for what fits.
    assert fluid(tiny({"x": (8, "in")}, [READ, READ], spm=spm)) == pytest.approx(traffic)


def test_scratch_leaves_less_room() -> None:
    problem = tiny({"x": (8, "in")}, [replace(READ, scratch=1), READ], spm=8)
    assert fluid(problem) == pytest.approx(12)


def test_dirty_bytes_stay_or_are_stored() -> None:
    # (P2, P3) y stays where there is room, else it goes out and comes back.
    operations = [Op(writes="y"), Op(reads="x", required_resident="x"), Op(reads="y")]
    tensors = {"x": (8, "in"), "y": (8, "")}
    assert fluid(tiny(tensors, operations, spm=16)) == pytest.approx(8)
    assert fluid(tiny(tensors, operations, spm=12)) == pytest.approx(8 + 4 + 4)
    assert fluid(tiny(tensors, operations, spm=8)) == pytest.approx(8 + 8 + 8)


def test_the_end_needs_what_is_kept() -> None:
    operations = [Op(writes="y"), Op(reads="y"), Op(cycles=1)]
    assert fluid(tiny({"y": (8, "keep")}, operations, spm=8)) == pytest.approx(8)
    assert fluid(tiny({"y": (8, "")}, operations, spm=8)) == pytest.approx(0)


def test_one_channel_and_two() -> None:
    # (P5) both ways share a channel, or have one each.
    operation = Op(reads="x", writes="y", cycles=5)
    tensors = {"x": (8, "in"), "y": (6, "keep")}
    assert fluid(tiny(tensors, [operation], spm=4), MAKESPAN) == pytest.approx(14)
    assert fluid(tiny(tensors, [operation], spm=4, duplex=True), MAKESPAN) == pytest.approx(8)


def test_required_resident_operands_wait() -> None:
    # (P6) the load before the computation, the store after it.
    operation = Op(reads="x", writes="x", cycles=5, required_resident="x")
    for duplex in (False, True):
        problem = tiny({"x": (8, "in keep")}, [operation], spm=8, duplex=duplex)
        assert fluid(problem, MAKESPAN) == pytest.approx(8 + 5 + 8)


def test_a_store_of_a_required_resident_operand_that_is_only_read_does_not_wait() -> None:
    operations = [
        Op(writes="y", required_resident="y"),
        Op(reads="y", cycles=8, required_resident="y"),
    ]
    problem = tiny({"y": (8, "keep")}, operations, spm=8)
    assert fluid(problem, MAKESPAN) == pytest.approx(8)


def test_required_resident_operands_that_do_not_fit() -> None:
    problem = tiny({"x": (8, "in")}, [replace(READ, required_resident="x")], spm=7)
    answer = solve_plain(problem, TRAFFIC)
    assert answer.answer.status is SolverStatus.INFEASIBLE
    assert answer.answer.bound == -np.inf


@pytest.mark.parametrize(("spm", "traffic"), [(8, 14), (9, 14), (12, 12), (16, 11)])
def test_whole_pages(spm: int, traffic: int) -> None:
    # (P7 to P9) x has a page of 4 and one of 2 bytes, y one of 4 and one of 1. Two pages hold the
    # first of each, three all of x besides.
    operations = [Op(reads="x"), Op(reads="y"), Op(reads="x"), Op(reads="y")]
    problem = tiny({"x": (6, "in"), "y": (5, "in")}, operations, spm=spm)
    answer = solve_plain(problem, TRAFFIC, pages=True)
    assert answer.value == pytest.approx(traffic)
    assert brute(problem, TRAFFIC) == traffic


def test_an_unknown_setting_is_named() -> None:
    with pytest.raises(InputError, match="'newton': choose one of simplex, ipm"):
        solve_plain(tiny({"x": (8, "in")}, [READ], spm=8), TRAFFIC, setting="newton")


def test_large_sizes_scale() -> None:
    factor = 3 * 2**20
    for seed in range(20):
        small = random_problem(seed, aligned=True)
        machine = small.machine
        large = replace(
            small,
            machine=replace(
                machine,
                spm_bytes=machine.spm_bytes * factor,
                page_bytes=machine.page_bytes * factor,
                dram_bytes_per_s=machine.dram_bytes_per_s * factor,
            ),
            tensors=tuple(replace(t, size_bytes=t.size_bytes * factor) for t in small.tensors),
            operations=tuple(
                replace(
                    op,
                    mappings=tuple(
                        replace(m, scratch_bytes=m.scratch_bytes * factor) for m in op.mappings
                    ),
                )
                for op in small.operations
            ),
        )
        assert plain_model(large, MAKESPAN).byte_unit > 1
        assert fluid(large, MAKESPAN) == pytest.approx(fluid(small, MAKESPAN), rel=1e-9)
        assert fluid(large) == pytest.approx(factor * fluid(small), rel=1e-9)


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_agree(setting: str) -> None:
    for seed in range(25):
        problem = random_problem(seed, max_operations=10, max_tensors=6, duplex=True)
        for name in OBJECTIVES:
            objective = objective_named(name, problem.machine)
            expected = fluid(problem, objective)
            answer = solve_plain(problem, objective, setting=setting)
            assert answer.value is not None
            scale = scale_of(expected, objective)
            assert abs(answer.value - expected) <= 1e-5 * scale, (seed, name)


def test_more_memory_and_bandwidth_are_never_worse() -> None:
    for seed in range(40):
        problem = random_problem(seed, max_operations=8, max_tensors=5, duplex=True)
        machine = problem.machine
        roomier = replace(machine, spm_bytes=machine.spm_bytes + machine.page_bytes)
        faster = replace(machine, dram_bytes_per_s=2 * machine.dram_bytes_per_s)
        for better in (roomier, faster):
            gain = fluid(problem, MAKESPAN) - fluid(replace(problem, machine=better), MAKESPAN)
            assert gain >= -1e-7, seed


@settings(max_examples=share(150), deadline=None)
@given(problems(**SMALL, max_mappings=2, setup=True), st.sampled_from(OBJECTIVES))
def test_fluid_bounds_page_bounds_whole(problem: Problem, name: str) -> None:
    objective = objective_named(name, problem.machine)
    page, whole = brute(problem, objective), brute(problem, objective, "whole")
    assert fluid(problem, objective) <= page + 1e-7 * scale_of(page, objective)
    assert page <= whole


@settings(max_examples=share(150), deadline=None)
@given(problems(**SMALL, whole_cycles=True), st.sampled_from(OBJECTIVES))
def test_whole_pages_are_the_brute_force_optimum(problem: Problem, name: str) -> None:
    objective = objective_named(name, problem.machine)
    expected = brute(problem, objective)
    answer = solve_plain(problem, objective, pages=True)
    assert answer.value is not None
    assert abs(answer.value - expected) <= 1e-6 * scale_of(expected, objective)
