"""Policies of one's own in a sweep: as in a comparison, in this process and in others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import spmopt
from spmopt.core.errors import InputError
from spmopt.core.problem import Problem
from spmopt.schedulers.registry import SCHEDULERS, SchedulerEntry
from tests.cli.run import runner

MLP = str(Path(__file__).parents[2] / "instances" / "mlp.json")
SPM = "640B,1280B"


def nothing(problem: Problem) -> list[tuple[int, int, int]]:
    return []


def broken(problem: Problem) -> Any:
    raise KeyError(problem.name)


def greedy(problem: Problem) -> list[tuple[str, int, int]]:
    return [(tensor.name, 0, len(problem.operations)) for tensor in problem.tensors]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_policy_of_ones_own_has_rows(jobs: int) -> None:
    found = spmopt.sweep(MLP, ["stream", nothing, "fluid"], spm=SPM, jobs=jobs)
    values = {(row["scheduler"], row["spm_bytes"]): row["value"] for row in found.rows()}
    assert len(values) == 6
    for size in (640, 1280):
        assert values["nothing", size] == values["stream", size] != values["fluid", size]


def test_a_faulty_one_has_failed_rows_and_the_others_theirs() -> None:
    alone = spmopt.sweep(MLP, ["lru", "fluid"], spm=SPM)
    found = spmopt.sweep(MLP, [broken, "lru", greedy, "fluid"], spm=SPM)
    others = [row for row in found.rows() if row["scheduler"] in ("lru", "fluid")]
    for row, other in zip(others, alone.rows(), strict=True):
        assert (row["value"], row["bound"]) == (other["value"], other["bound"])
    failed = [row for row in found.rows() if row["status"] == "failed"]
    assert [row["scheduler"] for row in failed] == ["broken", "greedy"] * 2
    assert str(failed[0]["note"]).startswith("raised KeyError: ")
    assert "is not legal: R" in str(failed[1]["note"])
    assert str(found).count("broken: raised KeyError: ") == 1


def test_the_command_says_so_by_its_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spmopt.schedulers.registry.SCHEDULERS", replace(SCHEDULERS, added={}))
    spmopt.register_scheduler("tests-broken", broken)
    ran = runner(capsys)(f"sweep {MLP} --spm {SPM} -s lru,tests-broken --jobs 1 --json")
    assert ran.code == 1
    assert [row["status"] for row in ran.record["rows"]].count("failed") == 2


def test_what_other_processes_cannot_import_is_refused() -> None:
    with pytest.raises(InputError, match=r"scheduler lambda: cannot be sent .* or give jobs=1$"):
        spmopt.sweep(MLP, [lambda problem: []], spm=SPM, jobs=2)
    assert len(spmopt.sweep(MLP, [lambda problem: []], spm=SPM).rows()) == 2


def test_two_of_one_name_are_told_apart_by_records() -> None:
    problem = spmopt.lower(spmopt.load(MLP))
    both = [lambda _: [], lambda _: greedy(problem)]
    with pytest.raises(InputError, match=r"^schedulers: two are called lambda; name them"):
        spmopt.sweep(MLP, both, spm=SPM)
    with pytest.raises(InputError, match=r"^schedulers: two are called lambda; name them"):
        spmopt.compare(problem, both)
    named = [SchedulerEntry(name=f"p{n}", target=each) for n, each in enumerate(both)]
    assert [each.result.scheduler for each in spmopt.compare(problem, named)] == ["p0", "p1"]
    assert len(spmopt.compare(problem, ["lru", "lru"])) == 1
