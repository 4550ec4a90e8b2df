"""``spmopt report``: the page that it writes, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from spmopt.reporting.schedule_view import TIMINGS
from tests.cli.run import Run
from tests.cli.test_failures import refused
from tests.reporting.page.reading import Document

PROBLEMS = Path(__file__).parents[2] / "instances"


pytestmark = pytest.mark.usefixtures("quick")


@pytest.mark.parametrize("timing", TIMINGS)
def test_one_schedule_becomes_a_page(run: Run, stored: Path, timing: str) -> None:
    path = stored / "r.html"
    path.write_text("old")
    record = run(f"report {stored}/belady.json -o {path} --timing {timing} --json").record
    text = path.read_text()
    assert record == {
        "file": str(path),
        "timing": timing,
        "schedules": [f"{stored}/belady.json"],
        "bytes": path.stat().st_size,
    }
    blocks = Document.of(text).blocks()
    assert blocks["view-0"]["timing"] == timing
    assert "contrast" not in blocks
    assert {*stored.iterdir()} == {path, stored / "belady.json", stored / "lru.json"}


def test_two_schedules_are_compared(run: Run, stored: Path) -> None:
    path = stored / "r.html"
    ran = run(f"report {stored}/belady.json {stored}/lru.json -o {path}")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.replace("\n", " ").startswith(f"{path}: mlp, A: belady; B: lru; ")
    assert {"view-0", "view-1", "contrast"} < {*Document.of(path.read_text()).blocks()}


def test_what_is_no_schedule_is_refused(run: Run, stored: Path) -> None:
    page, other = stored / "r.html", stored / "other.json"
    assert run(f"solve {PROBLEMS}/duplex.json -s belady -o {other}").code == 0
    (stored / "text.json").write_text("no")
    for line, reason in (
        (f"report {stored}/text.json -o {page}", "not a complete JSON file"),
        (f"report {PROBLEMS}/mlp.json -o {page}", "'spmopt-problem', not 'spmopt-result'"),
        (f"report {stored}/none.json -o {page}", "cannot be read"),
        (f"report {stored}/lru.json {other} -o {page}", "their networks differ ("),
        (f"report {stored}/lru.json -o {stored}/lru.json", "would replace the file that is read"),
        (f"report {stored}/lru.json -o {stored}", "is a folder"),
        (f"report {stored}/lru.json -o {page} --timing now", "choose one of async, step"),
    ):
        assert reason in refused(run(line)), line
    assert not page.exists()
