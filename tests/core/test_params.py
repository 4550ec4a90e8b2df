"""Parameters: read from a file, checked, and heard."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from spmopt.core.errors import InputError
from spmopt.core.params import DEFAULTS, PlacementParams, SolveParams
from spmopt.core.params.record import Params, Range
from spmopt.core.scheduler import Request
from spmopt.solving import solve
from tests.solving.fakes import bounds_only, install, keeps_start
from tests.solving.test_solve import PROBLEM, without_residency_plan

MOST_FIELDS = 80
"""More of them nobody could know."""
RECORDS = (
    DEFAULTS,
    *(each for f in fields(DEFAULTS) if isinstance(each := getattr(DEFAULTS, f.name), Params)),
)


def parameters() -> Iterator[tuple[Params, str, Any]]:
    """All parameters: a record that has it, its name, and its annotation."""
    for record in RECORDS:
        hints = get_type_hints(type(record), include_extras=True)
        for name in record.names():
            if not isinstance(getattr(record, name), Params):
                yield record, name, hints[name]


def text(values: object) -> str:
    return f"[{', '.join(map(repr, values))}]" if isinstance(values, tuple) else repr(values)


def test_a_file_sets_some_of_them(tmp_path: Path) -> None:
    path = tmp_path / "params.toml"
    path.write_text("list_fraction = 0.5\n[placement]\npatience = 1\n", encoding="utf-8")
    expected = SolveParams(list_fraction=0.5, placement=PlacementParams(patience=1))
    assert SolveParams.load(path) == expected
    assert SolveParams.of(path) == expected
    assert SolveParams.of(expected) is expected
    assert SolveParams.of(None) == DEFAULTS


def test_all_of_them_can_be_written_to_a_file(tmp_path: Path) -> None:
    path, lines = tmp_path / "params.toml", list[str]()
    for name in DEFAULTS.names():
        value = getattr(DEFAULTS, name)
        if isinstance(value, Params):
            lines.append(f"[{name}]")
            lines += [f"{each} = {text(getattr(value, each))}" for each in value.names()]
        else:
            lines.append(f"{name} = {text(value)}")
    path.write_text("\n".join(lines), encoding="utf-8")
    assert SolveParams.load(path) == DEFAULTS


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("list_fraktion = 0.5", "no parameter called 'list_fraktion'; did you mean list_fraction"),
        ("list_fraction = 1.5", "list_fraction must be 0 to 1, is 1.5"),
        ("list_gap = -1", "list_gap must be 0 to 1e\\+15, is -1"),
        (f"list_gap = {10**400}", "list_gap must be 0 to 1e\\+15, is 1000"),
        ("list_gap = inf", "list_gap must be 0 to 1e\\+15, is inf"),
        ("list_gap = nan", "list_gap must be 0 to 1e\\+15, is nan"),
        ('list_gap = "1"', "list_gap must be a number, is '1'"),
        ("list_gap = true", "list_gap must be a number, is True"),
        ("placement = 1", r"placement is a table: write \[placement\]"),
        ("[placement]\npatiense = 1", "placement: no parameter called 'patiense'; did you mean pa"),
        ("[placement]\npatience = 1.5", "placement: patience must be a whole number, is 1.5"),
        ("[placement]\neffort = 1", "placement: effort must be 3 numbers in brackets, is 1"),
        ("[placement]\neffort = [1, 2]", "placement: effort must be 3 numbers in brackets, is"),
        ("[orders]\nrun_lengths = []", "orders: run_lengths must be 1 or more numbers in brackets"),
        ("[orders]\nrun_lengths = [0]", "orders: run_lengths must be 1 to 1e\\+15, is 0"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(tmp_path: Path, lines: str, said: str) -> None:
    path = tmp_path / "params.toml"
    path.write_text(lines, encoding="utf-8")
    with pytest.raises(InputError, match=said) as found:
        SolveParams.load(path)
    assert str(found.value).startswith(str(path))


def test_a_record_of_another_algorithm_is_refused() -> None:
    with pytest.raises(InputError, match="placement must be a PlacementParams"):
        SolveParams(placement=SolveParams())  # type: ignore[arg-type]


def test_each_has_a_range_that_is_checked() -> None:
    for record, name, hint in parameters():
        several = get_origin(hint) is tuple
        _, within = get_args(get_args(hint)[0] if several else hint)
        count = len(getattr(record, name)) if several else 0
        assert isinstance(within, Range)
        wrong = within.least - 1
        with pytest.raises(InputError, match=name):
            replace(record, **{name: (wrong,) * count if several else wrong})


def test_each_is_documented_and_they_are_few() -> None:
    assert len(list(parameters())) <= MOST_FIELDS
    for record, name, _ in parameters():
        assert name in (type(record).__doc__ or ""), f"{type(record).__name__}.{name}"


def test_the_start_of_a_fusion_search_has_its_part_of_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fakes = install(
        monkeypatch, residency=keeps_start, fusion=without_residency_plan, lp_bound=bounds_only
    )
    solve(PROBLEM, "fusion", Request(time_limit_s=100.0, params=SolveParams(list_fraction=0.5)))
    assert fakes.requests["residency"][0].time_limit_s == 50.0
