"""The project file: defaults from the nearest spmopt.toml upward."""

from pathlib import Path

import pytest

from tests.cli.run import Run
from tests.cli.test_failures import refused
from tests.solving.fakes import bounds_only, install

TINY = 'spm = "1MB"\nbandwidth = "1GB/s"\nthroughput = "1TFLOP/s"\nclock = "1GHz"\n'


@pytest.fixture(autouse=True)
def _project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install(monkeypatch, fluid=bounds_only)
    (tmp_path / "mine.toml").write_text(TINY)
    (tmp_path / "spmopt.toml").write_text(
        'machine = "mine.toml"\ntime-limit = 7\n[solve]\nscheduler = "belady"\n'
    )
    (tmp_path / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep" / "er")


def test_it_takes_effect_and_says_so(run: Run, tmp_path: Path) -> None:
    ran = run("solve bert-tiny --batch 2 --json")
    assert ran.record["problem"]["machine"]["name"] == "mine"
    assert ran.record["results"][0]["scheduler"] == "belady"
    path = tmp_path / "spmopt.toml"
    assert ran.err == f"note: machine, time-limit, scheduler as in {path}\n"
    assert run("solve bert-tiny --batch 2 --quiet").err == ""


def test_the_command_line_has_the_last_word(run: Run) -> None:
    ran = run("solve bert-tiny --batch 2 --machine a100 -s lru --time-limit 1 --json")
    assert ran.record["problem"]["machine"]["name"] == "a100"
    assert ran.record["results"][0]["scheduler"] == "lru"
    assert ran.err == ""


def test_what_is_lowered_already_is_left_alone(run: Run) -> None:
    assert run("problem bert-tiny --batch 2 --machine a100 -o i.json").code == 0
    ran = run("solve i.json -s lru --json")
    assert (ran.code, ran.record["problem"]["machine"]["name"]) == (0, "a100")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tim-limit = 7", "no option called 'tim-limit'; did you mean time-limit?"),
        ("[solve]\njobs = 7", "no option called 'jobs'"),
        ("x =", "not TOML"),
    ],
)
def test_mistakes_are_said_in_a_line(run: Run, text: str, said: str) -> None:
    Path("spmopt.toml").write_text(text)
    assert said in refused(run("solve bert-tiny"))
