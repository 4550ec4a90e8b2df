"""Objectives of a user's own: any nonnegative weights, in every scheduler that takes them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from spmopt.audit import audit
from spmopt.core.errors import InputError
from spmopt.core.objective import (
    MAKESPAN,
    OBJECTIVES,
    Objective,
    ObjectiveEntry,
    objective_named,
    register_objective,
)
from spmopt.core.problem import Problem
from spmopt.core.scheduler import Request
from spmopt.io.files import StoredResult, read_result, write_result
from spmopt.reporting.comparison import compare_view, verdict
from spmopt.solving import compare
from tests.brute_force import optimum
from tests.strategies import random_problem
from tests.thorough import some

SHARE: Any = 0.3
MIXED = Objective(
    name="mine",
    unit="points",
    cycle=Fraction(2),
    dram_in_byte=SHARE,
    dram_out_byte=Fraction(1),
    spm_read_byte=Fraction(1, 7),
    mac=Fraction(3),
)
INWARD = Objective(name="inward", unit="bytes", dram_in_byte=Fraction(1))


def small(seed: int) -> Problem:
    return random_problem(seed, max_operations=4, max_tensors=3, page_bytes=2, max_tensor_pages=2)


@pytest.mark.parametrize("objective", [MIXED, INWARD], ids=lambda each: each.name)
def test_every_formulation_minimizes_any_weights(objective: Objective) -> None:
    names = ("whole", "whole@pulp:highs", "residency", "fluid")
    request = Request(objective=objective, threads=1, time_limit_s=20.0, tolerance=1e-9)
    soon = replace(request, time_limit_s=0.1)  # it repairs to the end of its time
    for seed in some(range(12)):
        problem = small(seed)
        best = {kind: optimum(problem, objective, residency=kind) for kind in ("whole", "page")}
        results = dict(zip(names, compare(problem, names, request), strict=True))
        (results["contiguous"],) = compare(problem, ["contiguous"], soon)
        for name in ("whole", "whole@pulp:highs", "residency", "contiguous"):
            known = best["whole" if name.startswith("whole") else "residency"]
            value = results[name].value
            assert known is not None
            assert value is not None
            assert value >= known.value
            if not objective.cycle and name != "contiguous":  # exact where time has no weight
                assert value == known.value
        bound = results["fluid"].bound
        assert bound is not None
        assert best["page"] is not None
        assert bound <= best["page"].value


def test_weights_are_exact_and_checked() -> None:
    assert MIXED.dram_in_byte == Fraction(3, 10)
    assert MIXED.weighted == {"cycle", "dram_in_byte", "dram_out_byte", "spm_read_byte", "mac"}
    wrong: Any = "much"
    with pytest.raises(InputError, match="objective x: weight cycle must be a number, is 'much'"):
        Objective(name="x", unit="", cycle=wrong)
    with pytest.raises(InputError, match="weight mac must not be negative"):
        Objective(name="x", unit="", mac=Fraction(-1))
    with pytest.raises(InputError, match="needs both weights of each bank"):
        Objective(name="x", unit="", bank_read_byte=(Fraction(1),))


@pytest.mark.parametrize("replayed", [False, True])
def test_files_keep_own_objectives(tmp_path: Path, replayed: bool) -> None:
    problem, objective = small(1), replace(MIXED, replayed=replayed)
    (result,) = compare(problem, ["belady"], Request(objective=objective))
    path = tmp_path / "result.json"
    write_result(path, StoredResult.is_made_here(problem, result))
    again = read_result(path)
    assert again.result.objective == objective
    assert audit(problem, again.result).violations == ()


def test_a_registered_objective_is_known_by_name_everywhere() -> None:
    problem = small(2)
    try:
        entry = ObjectiveEntry(of=MIXED, summary="both")
        register_objective("mine", entry)
        assert objective_named("mine", problem.machine) == MIXED
        assert objective_named(INWARD, problem.machine) is INWARD
        register_objective("mine", entry)  # once more is no error
        with pytest.raises(InputError, match="mine is taken"):
            register_objective("mine", INWARD)
        with pytest.raises(InputError, match="time is taken"):
            register_objective("time", replace(MAKESPAN, cycle=Fraction(2)))
        wrong: Any = 7
        with pytest.raises(InputError, match="objective seven: is none"):
            register_objective("seven", wrong)
        results = compare(problem, ["stream", "belady", "residency"], Request(objective=MIXED))
        view = compare_view(problem, results)
        assert "objective mine" in view.heading
        assert verdict(problem.machine, results)
    finally:
        OBJECTIVES.added.clear()
