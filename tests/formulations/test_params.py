"""Parameters that a request has are heard: at 0 a part of a search is left out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import spmopt
from formulations.contiguous.schedule import schedule as contiguous
from formulations.placement.place import place
from formulations.residency import page
from formulations.residency.plain import windows
from spmopt.core.params import (
    ContiguousParams,
    PlacementParams,
    ResidencyParams,
    SolveParams,
)
from spmopt.core.placement import Buffer
from spmopt.core.scheduler import Request
from spmopt.core.timeline import timeline
from tests.checked import need
from tests.cli.run import runner
from tests.instances import golden


def asked() -> Request:
    """Return a request whose time begins now."""
    return Request(tolerance=0.0, threads=1, time_limit_s=30.0)


def with_params(**tables: object) -> Request:
    return replace(asked(), params=SolveParams(**tables))  # type: ignore[arg-type]


def test_without_windows_a_plan_stays_as_it_is() -> None:
    problem = golden.problem("load-ahead")
    plan = need(page.round_values(problem, asked()).residency_plan)
    line = timeline(problem, plan.steps)
    none = with_params(residency=ResidencyParams(quiet_sweeps=0))
    assert windows.improve(problem, none, line, plan) is plan


def test_a_problem_above_the_cells_is_not_solved_as_one_program() -> None:
    problem = golden.problem("set-up")
    none = with_params(residency=ResidencyParams(program_cells=0, quiet_sweeps=0))
    assert page.schedule(problem, none).class_bound is None
    assert page.schedule(problem, asked()).class_bound is not None


def test_blocks_are_fitted_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, tried = golden.problem("lstm"), list[int]()

    def fit(blocks: list[object], *_: object) -> bool:
        tried.append(len(blocks))
        return False

    monkeypatch.setattr("formulations.contiguous.schedule.fit", fit)
    contiguous(problem, with_params(contiguous=ContiguousParams(fitted_blocks=0, failed_starts=0)))
    assert not tried
    contiguous(problem, with_params(contiguous=ContiguousParams(failed_starts=0)))
    assert tried


def test_greedy_placements_come_first_above_a_number_of_buffers() -> None:
    buffers = [Buffer(name=str(k), lower=k, upper=k + 2, size_bytes=1 + k % 3) for k in range(9)]
    searched = place(buffers, 9, asked())
    greedy = place(buffers, 9, with_params(placement=PlacementParams(greedy_buffers=0)))
    assert "search" in searched.method
    assert "search" not in greedy.method


def test_the_command_line_reads_a_file_of_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, path = runner(capsys), tmp_path / "params.toml"
    path.write_text("[residency]\nwindow_s = -1\n", encoding="utf-8")
    line = f"solve instances/mlp.json --scheduler residency --params {path}"
    refused = run(line)
    assert refused.code == 2
    assert f"{path}: residency: window_s must be 0 to 1e+15, is -1" in refused.err
    path.write_text("[residency]\nprogram_cells = 0\n", encoding="utf-8")
    assert run(line).code == 0


def test_the_library_takes_a_file_or_a_record(tmp_path: Path) -> None:
    problem, path = golden.problem("set-up"), tmp_path / "params.toml"
    path.write_text("[residency]\nprogram_cells = 0\nquiet_sweeps = 0\n", encoding="utf-8")
    params = SolveParams(residency=ResidencyParams(program_cells=0, quiet_sweeps=0))
    one, two = (
        spmopt.solve(problem, "residency", time_limit=30.0, threads=1, params=each).result
        for each in (path, params)
    )
    assert one.value == two.value
    assert one.class_bound is two.class_bound is None
