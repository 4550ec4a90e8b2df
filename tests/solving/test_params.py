"""Parameters of the search: read from a file, checked, and heard."""

from __future__ import annotations

from pathlib import Path

import pytest

from spmopt.core.errors import InputError
from spmopt.core.scheduler import Request
from spmopt.solving import SolveParams, solve
from tests.solving.fakes import bounds_only, install, keeps_start
from tests.solving.test_solve import PROBLEM, without_residency_plan


def test_a_file_sets_some_of_them(tmp_path: Path) -> None:
    path = tmp_path / "params.toml"
    path.write_text("list_fraction = 0.5\nall_policies_operations = 10\n", encoding="utf-8")
    assert SolveParams.load(path) == SolveParams(list_fraction=0.5, all_policies_operations=10)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("list_fraktion = 0.5", "no parameter called 'list_fraktion'; did you mean list_fraction"),
        ("list_fraction = 1.5", "list_fraction must be from 0 to 1, is 1.5"),
        ("list_gap = -1", "list_gap must be 0 or more, is -1"),
        ('list_gap = "1"', "list_gap must be a number, is '1'"),
        ("list_gap = true", "list_gap must be a number, is True"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "params.toml"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(InputError, match=said) as found:
        SolveParams.load(path)
    assert str(found.value).startswith(str(path))


def test_the_start_of_a_fusion_search_has_its_part_of_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fakes = install(
        monkeypatch, residency=keeps_start, fusion=without_residency_plan, fluid=bounds_only
    )
    solve(PROBLEM, "fusion", Request(time_limit_s=100.0), SolveParams(list_fraction=0.5))
    assert fakes.requests["residency"][0].time_limit_s == 50.0
