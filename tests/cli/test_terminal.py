"""What a terminal gets, and what a pipe gets: rows while it goes on, colors, blocks."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.pseudo import AT_ONCE, Seen, on_terminal

PROBLEMS = Path(__file__).parents[2] / "instances"
SMALL, NONE = str(PROBLEMS / "mlp.json"), str(PROBLEMS / "infeasible.json")
COLOR = "\x1b[3"
BOLD = "\x1b[1m"
UP = "\x1b[1A"
"""What only an animation needs: the line above."""


def test_rows_while_schedulers_run_and_none_afterwards() -> None:
    seen = on_terminal("compare", SMALL, "-s", "lru,residency", piped=True, program=AT_ONCE)
    assert seen.code == 0
    assert UP in seen.screen
    head = "scheduler   incumbent"
    assert head in seen.text
    assert "\npage " in seen.text.replace("\r", "")
    assert "time    traffic" not in seen.text
    assert "incumbent" not in seen.piped
    assert seen.piped.splitlines()[2].startswith("scheduler")
    last = seen.text.rsplit(head, 1)[1]
    shown = {line.split()[0]: line.split()[1:3] for line in last.splitlines()[1:4] if line.strip()}
    final = {line.split()[0]: line.split()[1:3] for line in seen.piped.splitlines()[4:6]}
    assert {name: shown[name] for name in final} == final


def test_placing_shows_the_height(tmp_path: Path) -> None:
    seen = on_terminal(
        *("allocate", str(PROBLEMS / "minimalloc" / "J.1048576.csv"), "--capacity", "1MiB"),
        *("-o", f"{tmp_path}/o.csv"),
        program=AT_ONCE,
    )
    assert seen.code == 0
    assert "buffers" in seen.text
    assert "height" in seen.text


@pytest.mark.parametrize(
    ("environ", "colored", "bold"),
    [
        ({}, True, True),
        ({"NO_COLOR": "1"}, False, True),
        ({"TERM": "dumb"}, False, False),
    ],
    ids=str,
)
def test_colors_on_a_terminal(environ: dict[str, str], colored: bool, bold: bool) -> None:
    seen = on_terminal("compare", NONE, "-s", "lru", environ=environ)
    assert seen.code == 3
    assert "infeasible" in seen.screen
    assert (COLOR in seen.screen, BOLD in seen.screen) == (colored, bold)


@pytest.mark.parametrize(
    ("environ", "colored"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
    ids=str,
)
def test_colors_in_a_pipe(environ: dict[str, str], colored: bool) -> None:
    seen = on_terminal("compare", NONE, "-s", "lru", piped=True, environ=environ)
    assert (COLOR in seen.piped) == colored


def test_colors_for_a_pipe_do_not_animate_it() -> None:
    line = [sys.executable, *AT_ONCE, "compare", SMALL, "-s", "lru"]
    environ = {**os.environ, "FORCE_COLOR": "1", "TERM": "xterm"}
    ran = subprocess.run(line, capture_output=True, text=True, check=True, env=environ)
    assert ran.stderr == ""
    assert BOLD in ran.stdout
    assert UP not in ran.stdout


def bar(seen: Seen) -> str:
    (line,) = (line for line in seen.text.splitlines() if line.startswith("on chip"))
    return line.removeprefix("on chip").strip()


@pytest.mark.parametrize("columns", [40, 70, 200])
def test_the_bar_fits(columns: int) -> None:
    seen = on_terminal("solve", SMALL, "-s", "belady", columns=columns)
    assert len(bar(seen)) == min(columns, 100) - 13
    assert "█" in bar(seen)


@pytest.mark.parametrize(("encoding", "full"), [("utf-8", "█"), ("ascii", "@"), ("latin-1", "@")])
def test_characters_that_an_encoding_lacks_are_spelled(encoding: str, full: str) -> None:
    seen = on_terminal("solve", SMALL, "-s", "belady", environ={"PYTHONIOENCODING": encoding})
    assert seen.code == 0
    assert full in bar(seen)


def test_json_is_all_there_is_of_it() -> None:
    seen = on_terminal("solve", SMALL, "-s", "belady", "--json", piped=True, program=AT_ONCE)
    assert json.loads(seen.piped)["results"][0]["verified"] is True
