"""The scheduler with solvers of PuLP: names, limits, interrupts, files."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any

import numpy as np
import pulp
import pytest

from formulations.pulp_backend import solvers as solving
from formulations.pulp_backend.schedule import name_program, schedule
from formulations.pulp_backend.translate import Names
from formulations.solver.program import Program
from spmopt.core.errors import InputError
from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective
from spmopt.core.schedule import Residency
from spmopt.core.scheduler import Request
from spmopt.policies.belady import belady
from spmopt.solving import solve
from tests.checked import need
from tests.cli.run import Run
from tests.formulations.tensors.cases import solved, verified_value
from tests.instances import golden
from tests.tiny import Op, tiny

BOTH = pytest.mark.parametrize("solver", ["cbc", "highs"])

WHOLE = "residency:granularity=tensor"


def named(name: str, monkeypatch: pytest.MonkeyPatch, *there: str) -> str:
    """What a name stands for where ``there`` are installed."""
    monkeypatch.setattr(
        pulp,
        "listSolvers",
        lambda **what: list(there) if what.get("onlyAvailable") else KNOWN,
    )
    return solving.require(name)


KNOWN = pulp.listSolvers()


@pytest.mark.parametrize(
    ("name", "there", "meant"),
    [
        ("cbc", ("PULP_CBC_CMD",), "PULP_CBC_CMD"),
        ("CBC", ("COIN_CMD",), "COIN_CMD"),
        ("highs", ("HiGHS_CMD", "HiGHS"), "HiGHS"),
        ("HiGHS_cmd", ("HiGHS_CMD", "HiGHS"), "HiGHS_CMD"),
        ("gurobi", ("GUROBI_CMD", "GUROBI"), "GUROBI"),
        ("cplex", ("CPLEX_CMD",), "CPLEX_CMD"),
        ("scip", ("SCIP_CMD", "SCIP_PY"), "SCIP_PY"),
        ("scip", ("FSCIP_CMD",), "FSCIP_CMD"),
    ],
)
def test_names(
    monkeypatch: pytest.MonkeyPatch, name: str, there: tuple[str, ...], meant: str
) -> None:
    assert named(name, monkeypatch, *there) == meant


def test_what_is_missing_is_said_with_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError) as caught:
        named("Gurobi", monkeypatch, "HiGHS", "PULP_CBC_CMD")
    assert str(caught.value) == (
        "--backend pulp:gurobi: PuLP finds no GUROBI or GUROBI_CMD here; install it, or use one "
        "of pulp:cbc, pulp:highs"
    )
    with pytest.raises(InputError, match=r"no solver of PuLP called 'higs'; did you mean highs\?"):
        solving.require("higs")


@BOTH
def test_solves_verifies_and_proves(solver: str) -> None:
    problem = golden.problem("mlp")
    for objective in (TRAFFIC, MAKESPAN):
        request = Request(objective=objective, tolerance=0.0, threads=1)
        result = solve(problem, f"residency:granularity=tensor@pulp:{solver}", request)
        assert result.scheduler == f"residency:granularity=tensor@pulp:{solver}"
        assert result.verified
        optimum = need(solved(problem, objective).class_bound).value
        assert need(result.class_bound).value == pytest.approx(optimum, rel=1e-6)
        assert optimum <= float(need(result.value)) * (1 + 1e-9)
        assert "PuLP" in need(result.class_bound).proved_by


@BOTH
def test_at_the_time_limit_it_has_a_plan(solver: str) -> None:
    problem = golden.problem("lstm")
    start = belady(problem, Request()).residency_plan
    began = monotonic()
    request = Request(start=start, time_limit_s=0.3, tolerance=0.0, threads=1)
    outcome = schedule(problem, request, solver=solver)
    assert monotonic() - began < 60
    assert verified_value(problem, MAKESPAN, outcome.residency_plan) <= verified_value(
        problem, MAKESPAN, start
    )
    if outcome.class_bound is not None:
        assert outcome.class_bound.value <= 11670.01


def test_told_to_stop_it_hands_over_what_there_is() -> None:
    problem, plan = golden.problem("lstm"), None
    for seconds in (1.5, 6.0, 24.0):  # on a busy machine there is nothing yet at first
        due = monotonic() + seconds
        request = Request(tolerance=0.0, threads=1, stop=partial(_is_past, due))
        plan = schedule(problem, request, solver="cbc").residency_plan
        assert monotonic() - due < 60
        if plan is not None:
            break
    assert verified_value(problem, MAKESPAN, need(plan)) < 20_000


def _is_past(due: float) -> bool:
    return monotonic() > due


def test_no_files_and_no_programs_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, here = tmp_path / "files", tmp_path / "here"
    files.mkdir()
    here.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(files))
    monkeypatch.chdir(here)
    for name in ("mlp", "lstm"):
        limit = 0.2 if name == "lstm" else 60.0
        schedule(golden.problem(name), Request(threads=1, time_limit_s=limit), solver="cbc")
        assert not list(files.iterdir())
        assert not list(here.iterdir())


@pytest.mark.parametrize("objective", [MAKESPAN, TRAFFIC], ids=lambda one: one.name)
def test_too_large_a_model_is_not_built(
    monkeypatch: pytest.MonkeyPatch, objective: Objective
) -> None:
    monkeypatch.setattr("formulations.pulp_backend.schedule._MOST_CELLS", 10)
    problem = golden.problem("mlp")
    start = belady(problem, Request()).residency_plan
    outcome = schedule(problem, Request(objective=objective, start=start), solver="highs")
    assert outcome.residency_plan is start
    assert "too large" in " ".join(outcome.notes)


def test_a_bound_for_the_class_is_not_above_the_schedule() -> None:
    # The four bytes that fit beside the scratch might come back in step 1: in a residency plan they
    # stay.
    operations = [Op(reads="x", cycles=8), Op(cycles=2, scratch=4), Op(reads="x", cycles=2)]
    problem = tiny({"x": (8, "in")}, operations, spm=8)
    start = need(solved(problem, TRAFFIC).residency_plan)
    assert verified_value(problem, TRAFFIC, start) == 16
    stays = replace(
        start,
        residency=Residency(
            tensor=np.zeros(3, np.int64),
            begin=np.arange(3),
            end=np.arange(1, 4),
            size_bytes=np.array([8, 4, 8]),
        ),
    )
    assert verified_value(problem, TRAFFIC, stays) == 12
    outcome = schedule(
        problem, Request(objective=TRAFFIC, start=stays, tolerance=0.0), solver="highs"
    )
    assert outcome.residency_plan is stays
    assert outcome.class_bound is None
    assert outcome.notes == ("parts of tensors stay between uses: cheaper than the class allows",)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "-s residency --backend pulp:cbc",
            f"scheduler residency: has no backends; {WHOLE} has",
        ),
        (
            "-s belady --backend pulp:cbc",
            f"scheduler belady: has no backends; {WHOLE} has",
        ),
        (
            f"-s {WHOLE} --backend cbc",
            "backend 'cbc': write pulp:NAME, as pulp:cbc",
        ),
        (f"-s {WHOLE} --backend plup:cbc", "called 'plup'; did you mean pulp?"),
        (
            f"-s {WHOLE} --backend pulp:cbd",
            "no solver of PuLP called 'cbd'; did you mean cbc?",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(run: Run, words: str, said: str) -> None:
    ran = run(f"solve {golden.FOLDER}/mlp.json {words}")
    assert ran.code == 2
    assert ran.err.startswith("error: ")
    assert said in ran.err
    assert ran.err.count("\n") == 1


def test_a_result_is_written_and_verified(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    line = f"{golden.FOLDER}/mlp.json -s whole --backend pulp:CBC --objective traffic"
    ran = run(f"solve {line} -o {path}")
    assert ran.code == 0
    assert "residency:granularity=tensor@pulp:cbc" in ran.out
    assert "2.396 kB" in ran.out
    assert "PULP_CBC_CMD by PuLP" in ran.out
    assert run(f"verify {path}").code == 0


def _program() -> tuple[Program, Names]:
    """Of the perceptron's traffic."""
    _, named = name_program(golden.problem("mlp"), TRAFFIC)
    return named.program, named.names


def test_a_wrong_infeasible_is_no_proof(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def infeasible(program: Any) -> None:
        program.assignStatus(pulp.LpStatusInfeasible, pulp.LpSolutionInfeasible)

    wrong = SimpleNamespace(actualSolve=infeasible)
    monkeypatch.setattr(solving, "solver", lambda name, limits, **more: wrong)
    limits = solving.Limits(gap=0.0, seconds=60.0, threads=1, folder=tmp_path)
    found = solving.solve(*_program(), "CPLEX_CMD", limits)
    assert found.primal is None
    assert found.bound == -float("inf")
    assert "calls the program infeasible, which it is not" in found.notes[0]


def test_a_folder_that_is_gone_before_the_end_is_no_fault(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    limits = solving.Limits(gap=0.0, seconds=60.0, threads=1, folder=tmp_path / "files")
    monkeypatch.setattr(solving, "_solve", lambda *_: limits.folder.rmdir())
    solving.solve(*_program(), "CPLEX_CMD", limits)
    assert not limits.folder.exists()


@pytest.mark.parametrize("deaths", [1, 2])
def test_a_solver_that_dies_is_run_again_and_said_to_have(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, deaths: int
) -> None:
    real, begun = solving.solver, list[str]()

    def solver(name: str, limits: solving.Limits, **more: Any) -> Any:
        begun.append(name)
        found = real(name, limits, **more)
        if len(begun) <= deaths:
            killed = tmp_path / "killed"
            killed.write_text("#!/bin/sh\nkill -9 $$\n")
            killed.chmod(0o755)
            found.path = str(killed)
        return found

    monkeypatch.setattr(solving, "solver", solver)
    folder = tmp_path / "files"
    limits = solving.Limits(gap=0.0, seconds=60.0, threads=1, folder=folder)
    found = solving.solve(*_program(), "PULP_CBC_CMD", limits)
    assert len(begun) == 2
    (note,) = found.notes
    assert not folder.exists()
    if deaths == 1:
        assert note == "PULP_CBC_CMD died, and was run again"
        assert found.primal is not None
        assert found.bound == pytest.approx(2396)
    else:
        assert "PULP_CBC_CMD failed, or died" in note
        assert (found.primal, found.bound) == (None, -float("inf"))


def test_what_a_solver_prints_goes_to_a_file_while_it_runs(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with solving._inside(tmp_path):
        for screen in (1, 2):
            os.write(screen, b"solver\n")
    for screen in (1, 2):
        os.write(screen, b"own\n")
    assert capfd.readouterr() == ("own\n", "own\n")
    assert (tmp_path / "printed").read_text() == "solver\n" * 2
