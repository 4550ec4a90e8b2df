"""Names from files of others reach no terminal as they are."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from spmopt.core.problem import Problem
from spmopt.io.files import read_problem, write_problem
from tests.cli.run import Run
from tests.solving.fakes import bounds_only, install

MLP = Path(__file__).parents[2] / "instances" / "mlp.json"
EVIL = "\x1b[2J\rx\nbelady: verified\n\u202e\x07"
FORGED = re.compile(r"^belady: verified", re.MULTILINE)


def hostile(problem: Problem) -> Problem:
    """The same, with names that steer a terminal and forge a line."""
    return replace(
        problem,
        name=f"i{EVIL}",
        machine=replace(problem.machine, name=f"m{EVIL}", source=EVIL),
        tensors=tuple(replace(each, name=f"t{k}{EVIL}") for k, each in enumerate(problem.tensors)),
        operations=tuple(
            replace(each, name=f"o{k}{EVIL}", kind=f"k{EVIL}")
            for k, each in enumerate(problem.operations)
        ),
    )


def harmless(text: str) -> bool:
    return all(letter.isprintable() or letter == "\n" for letter in text)


@pytest.mark.parametrize(
    "line",
    [
        "solve i.json -s belady -o r.json",
        "compare i.json -s belady,lru",
        "problem i.json -o copy.json",
        "explain i.json -s belady --per tensor",
        "explain i.json -s belady --per use",
        "explain i.json -s belady",
        "solve i.json -s belady --clock 1GHz --throughput 5TFLOP/s",
    ],
)
def test_names_are_escaped_and_forge_no_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    install(monkeypatch, lp_bound=bounds_only)
    monkeypatch.chdir(tmp_path)
    write_problem(Path("i.json"), hostile(read_problem(MLP)))
    ran = run(line)
    for text in (ran.out, ran.err):
        assert harmless(text)
        assert FORGED.search(text) is None
    assert ran.out + ran.err != ""


def test_files_and_arguments_are_escaped(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, lp_bound=bounds_only)
    monkeypatch.chdir(tmp_path)
    write_problem(Path("i.json"), hostile(read_problem(MLP)))
    assert run("solve i.json -s belady -o a\x1b[31mb.json").code == 0
    for line in (
        "solve \x1b[31m.json",
        "solve a\x1b[31mb.json",
        "trace a\x1b[31mb.json -o t\x1b.json",
        "verify a\x1b[31mb.json",
        "solve i.json --objective \x1b[31m",
    ):
        ran = run(line)
        assert harmless(ran.out)
        assert harmless(ran.err)
