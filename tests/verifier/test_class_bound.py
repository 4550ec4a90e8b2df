"""Bounds of whole tensors: never above what a legal schedule of the class costs, and no other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from importlib import import_module

import numpy as np
import pytest

from spmopt.core.errors import InputError
from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective
from spmopt.core.problem import Problem
from spmopt.core.result import WHOLE_TENSORS, Certificate
from spmopt.verifier import bound
from spmopt.verifier.paths import never_resident
from tests.brute_force import optimum
from tests.checked import need
from tests.strategies import random_problem
from tests.thorough import share, some
from tests.tiny import Op, tiny
from tests.verifier.naive_bound import naive_bound
from tests.verifier.test_bound import climb, duals, leave_pages_out, objectives, random_duals

BOUND = import_module("spmopt.verifier.bound")
SMALL = {"max_operations": 3, "max_tensors": 3, "max_tensor_pages": 2, "max_mappings": 2}


def of_class(certificate: Certificate) -> Certificate:
    return replace(certificate, holds_for=WHOLE_TENSORS)


def of_whole(problem: Problem, certificate: Certificate) -> Fraction:
    return bound(problem, of_class(certificate), WHOLE_TENSORS)


def test_what_fits_in_part_only_is_streamed() -> None:
    """x of 8 bytes is read twice with room for 4: half of it stays, or with whole tensors none."""
    problem = tiny({"x": (8, "in")}, [Op(reads="x"), Op(reads="x")], spm=7)
    certificate = duals(TRAFFIC, [0, 1], [0, 0])
    assert bound(problem, certificate) == 8 + 8 - 4
    assert of_whole(problem, duals(TRAFFIC, [0, 0], [0, 0])) == 16


@pytest.mark.parametrize(
    ("spm", "scratch", "absent"),
    [(16, 0, set()), (15, 0, {(0, 1)}), (16, 1, {(0, 1)}), (20, 4, set()), (20, 5, {(0, 1)})],
)
def test_what_fits_beside_required_resident_operands_and_scratch(
    spm: int, scratch: int, absent: set[tuple[int, int]]
) -> None:
    """In pages of 4: x of 2, y of 2 (5 bytes), and the scratch."""
    step = Op(reads="x y", required_resident="x", scratch=scratch)
    assert never_resident(tiny({"x": (8, "in"), "y": (5, "in")}, [step], spm=spm)) == absent


def test_one_mode_that_has_room_is_enough() -> None:
    wide, narrow = Op(reads="x", scratch=12), Op(reads="x", scratch=4)
    tensors = {"x": (8, "in")}
    assert never_resident(tiny(tensors, [[wide, wide]], spm=12)) == {(0, 0)}
    assert never_resident(tiny(tensors, [[wide, narrow]], spm=12)) == set()
    fixed = Op(reads="x", required_resident="x")
    assert never_resident(tiny(tensors, [[wide, fixed]], spm=12)) == set()


def test_a_bound_of_a_class_is_none_of_all_schedules() -> None:
    problem = tiny({"x": (8, "in")}, [Op(reads="x")], spm=4)
    certificate = duals(TRAFFIC, [0], [0])
    with pytest.raises(InputError, match="for whole tensors, not for all schedules"):
        bound(problem, of_class(certificate))
    with pytest.raises(InputError, match="for all schedules, not for whole tensors"):
        bound(problem, certificate, WHOLE_TENSORS)
    with pytest.raises(InputError, match="no class called 'halves'"):
        bound(problem, replace(certificate, holds_for="halves"), "halves")


def test_equal_to_the_bound_from_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    leave_pages_out(monkeypatch)
    more = 0
    for seed in some(range(200)):
        problem = random_problem(seed, max_operations=5, max_mappings=2, duplex=True, setup=True)
        generator = np.random.default_rng(seed)
        for objective in objectives(problem):
            certificate = random_duals(problem, objective, generator)
            found = of_whole(problem, certificate)
            assert found == naive_bound(problem, of_class(certificate)), seed
            assert found >= bound(problem, certificate)
            more += found > bound(problem, certificate)
    assert more >= share(100)


def least(problem: Problem, objective: Objective) -> Fraction:
    found = need(optimum(problem, objective, residency="uses"))
    return found.value


def violations(seeds: Sequence[int]) -> Iterator[int]:
    """Yield problems whose bound, at dual values climbed for it, is above the class's optimum."""
    for seed in seeds:
        problem = random_problem(seed, **SMALL, duplex=True, setup=True)
        if not BOUND.never_resident(problem):
            continue
        for objective in (MAKESPAN, TRAFFIC):
            generator = np.random.default_rng(seed)
            draw = partial(random_duals, problem, objective, generator, bits=20)
            proved = climb(partial(of_whole, problem), draw, generator, 60)
            if proved > least(problem, objective):
                yield seed


def test_below_the_optimum_of_its_class() -> None:
    """Against brute force over all schedules that are whole at uses, of any mappings."""
    assert not list(violations(some(range(100))))


@pytest.mark.parametrize("error", ["a page too few", "all of scratch", "any mapping"])
def test_a_wrong_mask_is_noticed(error: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(problem: Problem) -> set[tuple[int, int]]:
        machine, operations = problem.machine, problem.operations
        if error == "a page too few":
            size = max(machine.page_bytes, machine.spm_bytes - machine.page_bytes)
            return never_resident(replace(problem, machine=replace(machine, spm_bytes=size)))
        if error == "any mapping":
            operations = tuple(replace(op, mappings=op.mappings[-1:]) for op in operations)
            return never_resident(replace(problem, operations=operations))
        mappings = [
            tuple(replace(m, scratch_bytes=m.scratch_bytes + 4) for m in op.mappings)
            for op in operations
        ]
        pairs = zip(operations, mappings, strict=True)
        operations = tuple(replace(op, mappings=own) for op, own in pairs)
        return never_resident(replace(problem, operations=operations))

    monkeypatch.setattr(BOUND, "never_resident", wrong)
    assert any(True for _ in violations([5, 24, 53, *range(100)]))
