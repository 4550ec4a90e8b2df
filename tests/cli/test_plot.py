"""``spmopt plot``: the files that it writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spmopt.api.views import PICTURES
from spmopt.reporting.plots.schedule import PICTURES as DRAWN
from spmopt.reporting.schedule_view import TIMINGS
from tests.cli.run import Run
from tests.cli.test_failures import refused

PROBLEM = Path(__file__).parents[2] / "instances" / "mlp.json"
BEGINS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


pytestmark = pytest.mark.usefixtures("quick")


@pytest.mark.parametrize("suffix", BEGINS)
def test_one_schedule_is_drawn_in_every_format(run: Run, stored: Path, suffix: str) -> None:
    path = stored / f"p.{suffix}"
    path.write_text("old")
    record = run(f"plot {stored}/belady.json -o {path} --picture lanes --json").record
    assert path.read_bytes().startswith(BEGINS[suffix])
    assert record == {
        "file": str(path),
        "picture": "lanes",
        "timing": "step",
        "schedules": [f"{stored}/belady.json"],
    }


def test_one_is_drawn_in_full_and_two_are_compared(run: Run, stored: Path) -> None:
    one, two = stored / "one.png", stored / "two.png"
    ran = run(f"plot {stored}/belady.json -o {one}")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.replace("\n", "").startswith(f"{one}: all of mlp")
    ran = run(f"plot {stored}/belady.json {stored}/lru.json -o {two} --timing replay")
    assert "compare of mlp, A: belady; B: lru" in " ".join(ran.out.split())
    assert one.stat().st_size > 10_000 < two.stat().st_size


def test_help_explains_pictures_and_timings(run: Run) -> None:
    text = run("plot --help").out
    assert set(PICTURES) == set(DRAWN)
    for name in (*PICTURES, *TIMINGS):
        assert name in text


def test_refusals(run: Run, stored: Path) -> None:
    belady = stored / "belady.json"
    before = {path: path.read_bytes() for path in stored.iterdir()}
    for line, expected in (
        (f"none.json -o {stored}/p.png", "none.json: cannot be read (No such file"),
        (f"{PROBLEM} -o {stored}/p.png", "a problem is for 'spmopt solve'"),
        (f"{belady} -o {stored}/p.jpeg", "p.jpeg: not a picture format; end the name in"),
        (f"{belady} -o {stored}/p", "end the name in one of .png, .svg, .pdf"),
        (f"{belady} -o /dev/null/p.png", "a folder is needed"),
        (f"{belady} -o {stored}/p.png --picture maps", "did you mean map?"),
        (f"{belady} -o {stored}/p.png --picture compare", "takes 2 schedules, not 1"),
        (f"{belady} -o {stored}/p.png --timing stops", "did you mean step?"),
    ):
        assert expected in refused(run(f"plot {line}"))
    assert {path: path.read_bytes() for path in stored.iterdir()} == before


def test_schedules_of_two_problems_are_not_compared(run: Run, stored: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    assert run(f"solve {PROBLEM.parent}/take-turns.json -s belady -o {other}").code == 0
    line = refused(run(f"plot {stored}/lru.json {other} -o {tmp_path}/p.png"))
    assert "name two schedules of one problem" in line


def test_a_result_must_be_true(run: Run, stored: Path) -> None:
    path = stored / "lru.json"
    document = json.loads(path.read_text())
    document["totals"]["makespan_cycles"] -= 1
    path.write_text(json.dumps(document))
    assert "is claimed to be" in refused(run(f"plot {path} -o {stored}/p.png"), code=1)
    assert not (stored / "p.png").exists()
