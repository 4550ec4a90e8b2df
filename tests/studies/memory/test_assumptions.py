"""Assumptions from the command line, and what is wrong with them."""

from dataclasses import replace
from pathlib import Path

import pytest

from spmopt.core.errors import InputError
from spmopt.studies import registry
from spmopt.studies.memory import iso_capacity
from spmopt.studies.memory.assumptions import Assumptions
from spmopt.studies.memory.conditions import workloads
from spmopt.studies.study import Study
from tests.cli.run import Run, runner
from tests.studies.small import SMALL

MB = 10**6


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(registry, "STUDIES", {"memory": study(), "small": SMALL})
    return runner(capsys)


def study() -> Study:
    """One small workload."""
    run = workloads({3 * MB: ("sram", "stt", "sot")}, networks=("alexnet",), stages=((False, 1),))
    question = replace(
        iso_capacity.QUESTION, name="memory", workloads=run, draw=None, figures=lambda _: {}
    )
    return question.study(Assumptions())


def test_values_are_read() -> None:
    found = Assumptions().given(
        {"tile": "64", "clock_hz": "1GHz", "policy": "belady", "stt": "mine.toml"}
    )
    assert found == Assumptions(tile=64, clock_hz=10**9, policy="belady", stt="mine.toml")
    assert found.technology("stt") == "mine.toml"
    assert Assumptions().given({}) == Assumptions()


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("bank", "3", "no assumption called 'bank'; did you mean banks"),
        ("banks", "0", "banks=0: must be a whole number, 1 or more"),
        ("tile", "1.5", "must be a whole number"),
        ("clock_hz", "3MB", "clock_hz=3MB"),
        ("policy", "page", "policy=page: is no greedy scheduler"),
        ("policy", "nothing", "no scheduler called 'nothing'"),
    ],
)
def test_wrong_values_are_one_line(name: str, text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint) as error:
        Assumptions().given({name: text})
    assert "\n" not in str(error.value)


def test_a_study_under_other_assumptions(command: Run, tmp_path: Path) -> None:
    line = f"study memory -o {tmp_path} --jobs 1 --json"
    plain = command(line).record
    other = command(f"{line} --assume tile=32 --assume banks=6 --assume policy=belady").record
    assert plain["command"] == "spmopt study memory"
    assert other["command"] == (
        "spmopt study memory --assume tile=32 --assume banks=6 --assume policy=belady"
    )
    heads = other["tables"][0]["columns"]
    assert "one by one: belady" in heads
    assert "one by one: lru" in plain["tables"][0]["columns"]
    # Small blocks read more, so that reads have more of the energy.
    share = [each["tables"][0]["rows"][-1][2].strip("*").split("*")[0] for each in (plain, other)]
    assert float(share[0]) < float(share[1])
    page = (tmp_path / "memory.md").read_text()
    assert "`policy=belady`, `tile=32`" in page
    assert "`banks=6`" in page
    # The rows recorded make the page, with their assumptions.
    assert command(f"study memory -o {tmp_path} --draw").out == page


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("memory --assume tile=64", "results/ is for the study as it is; name another folder"),
        ("memory --assume tile=64 --draw -o .", "--draw makes the page of the rows recorded"),
        ("memory --assume tile -o .", "--assume 'tile': write NAME=VALUE, as banks=48"),
        ("memory --assume tiles=64 -o .", "no assumption called 'tiles'; did you mean tile?"),
        ("small --assume tile=64 -o .", "study small has no assumptions to change; leave it out"),
    ],
)
def test_what_cannot_be_assumed(command: Run, line: str, complaint: str) -> None:
    ran = command(f"study {line}")
    assert ran.code == 2
    assert complaint in ran.err


def test_a_technology_without_figures_is_one_line(command: Run, tmp_path: Path) -> None:
    ran = command(f"study memory -o {tmp_path} --jobs 1 --assume stt=nothing.toml")
    assert ran.code == 2
    assert "nothing.toml" in ran.err
