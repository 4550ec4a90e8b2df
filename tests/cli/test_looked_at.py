"""``report`` and ``plot`` of sweeps and of searches: files, what they say, what they refuse."""

from contextlib import closing
from pathlib import Path
from sqlite3 import connect

import pytest

from tests.cli.run import Run
from tests.cli.test_failures import refused
from tests.reporting.page.reading import Document
from tests.search.study import MLP, replace_sqlite
from tests.solving.fakes import bounds_only, install

SPACE = """
cost = { spm_mb = 1000.0, gbps = 0.01 }
constraints = ["gbps <= 1.5"]
[space]
spm = "256B:1024B:384B"
bandwidth = { low = "250MB/s", high = "1750MB/s", step = "750MB/s" }
page = "16B"
"""
TUNE = (
    f"tune {MLP} --space s.toml --objective time,cost --sampler brute-force -s belady --workers 0"
)


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(SPACE)
    install(monkeypatch, lp_bound=bounds_only)
    replace_sqlite(monkeypatch)


@pytest.fixture
def swept(run: Run) -> Path:
    """Rows of a sweep."""
    line = f"sweep {MLP} --page 16B --spm 256B,512B,1024B -s belady,lru -o rows.csv --jobs 1"
    assert run(line).code == 0
    return Path("rows.csv")


def test_the_page_of_a_sweep_has_its_rows(run: Run, swept: Path) -> None:
    record = run(f"report {swept} -o r.html --json").record
    text = Path("r.html").read_text()
    assert record == {"file": "r.html", "sweep": "rows.csv", "rows": 6, "bytes": len(text.encode())}
    table = Document.of(text).blocks()["table-1"]
    _, head, *lines = swept.read_text().splitlines()
    assert {column["name"] for column in table["columns"]} <= set(head.split(","))
    assert len(table["rows"]) == len(lines)
    assert run(f"report {swept} -o r.html").out.startswith("r.html: ")


def test_a_sweep_is_drawn_by_what_is_asked_for(run: Run, swept: Path) -> None:
    record = run(f"plot {swept} -o r.svg --y gap --json").record
    assert (record["x"], record["y"]) == ("spm_bytes", "gap")
    assert Path("r.svg").read_text().startswith("<?xml")
    assert "time over scratchpad" in run(f"plot {swept} -o r.png").out
    assert "no curves of power" in refused(run(f"plot {swept} -o r.png --y power"))


def test_the_page_of_a_search_is_its_front(run: Run) -> None:
    run(TUNE)
    shown = run("tune show --json").record
    record = run("report --storage tune.db -o r.html --json").record
    text = Path("r.html").read_text()
    blocks = Document.of(text).blocks()
    rows = blocks["table-0"]["rows"]
    members = [each["trial"] for each in shown["front"]]
    assert record["front"] == members
    assert sorted(row[0] for row in rows if row[1] == "front") == sorted(members)
    said = f"9 trials, {len(members)} on the front"
    assert said in run("report --storage tune.db -o r.html").out
    assert "9 trials, the best 1 shown" in run("report --storage tune.db --top 1 -o r.html").out
    assert record["schedules"] == len(members)
    assert record["bytes"] == len(text.encode())


def test_schedules_that_are_gone_have_commands(run: Run, tmp_path: Path) -> None:
    run(f"{TUNE} --trials 3")
    for path in (tmp_path / "tune.schedules" / "s").iterdir():
        path.unlink()
    assert run("report --study s -o r.html --json").record["schedules"] == 0
    blocks = Document.of(Path("r.html").read_text()).blocks()
    for trial, _, commands in blocks["table-1"]["rows"][:2]:
        for command in commands.split(" && "):
            assert run(command.removeprefix("spmopt ")).code == 0
        assert Path(f"trial-{trial}.html").exists()


def test_a_search_is_drawn_by_what_is_asked_for(run: Run) -> None:
    run(f"{TUNE} --trials 3")
    record = run("plot --storage tune.db -o f.pdf --json").record
    assert (record["x"], record["y"], record["study"]) == ("time_s", "cost", "s")
    assert Path("f.pdf").read_bytes().startswith(b"%PDF")
    assert "time over trial" in run("plot --study s -o f.png --x trial --y time --top 2").out
    assert "did you mean time?" in refused(run("plot --study s -o f.png --x tim"))


def test_bounds_alone_have_no_schedules(run: Run) -> None:
    run(f"tune {MLP} --space s.toml --objective time,cost -s bound --trials 3 --workers 0")
    assert run("report --storage tune.db -o r.html --json").record["schedules"] == 0
    blocks = Document.of(Path("r.html").read_text()).blocks()
    titles = [column["title"] for column in blocks["table-0"]["columns"]]
    assert "time ≥" in titles
    assert "table-3" not in blocks


def test_what_does_not_go_together_is_refused(run: Run, swept: Path) -> None:
    Path("x.csv").write_text("a,b\n1,2\n")
    with closing(connect("s.db")) as storage:
        storage.execute("create table t (x)")
    for line, reason in (
        ("report -o r.html", "name a result file, the CSV file of a sweep, or --storage"),
        (f"report {swept} --storage tune.db -o r.html", "not both"),
        (f"report {swept} --top 3 -o r.html", "--top: is for the front of a search"),
        ("report --storage tune.db --top 0 -o r.html", "--top 0: must be at least 1"),
        (f"report {swept} {swept} -o r.html", "rows.csv: holds the rows of a sweep, which is"),
        (f"report {swept} --timing async -o r.html", "--timing: is for schedules"),
        (
            f"sweep {MLP} -s lru -o r.json",
            "r.json: rows are written as CSV; let the name end in .csv",
        ),
        (f"report {swept} -o {swept}", "would replace"),
        (f"report r.json {swept} -o r.html", "rows.csv: holds rows of a sweep, no schedule"),
        (f"trace {swept} -o r.json", "rows.csv: holds rows of a sweep, no schedule"),
        (f"report {swept} -o r.pdf", "a page is HTML; let the name end in .html, or draw"),
        ("report --storage tune.db -o r.png", "(.png, .svg, .pdf) by 'spmopt plot'"),
        ("report s.db -o r.html", "s.db: is the storage of a search, no schedule"),
        ("plot s.db -o r.png", "show its front by --storage s.db"),
        ("report x.csv -o r.html", "x.csv: is no sweep's file"),
        ("report none.csv -o r.html", "none.csv: cannot be read"),
        ("report --storage none.db -o r.html", "no such file"),
        (f"plot {swept} --picture map -o r.png", "--picture: is for schedules"),
        ("plot r.json --x time -o r.png", "--x: is for a sweep or a search"),
        (f"plot {swept} -o r.txt", "not a picture format"),
    ):
        assert reason in refused(run(line)), line
    assert not Path("r.html").exists()


def test_a_search_without_a_member_is_shown(run: Run) -> None:
    Path("s.toml").write_text(SPACE.replace("gbps <= 1.5", "time_s <= 1e-9"))
    run(f"{TUNE} --no-prune --trials 3")
    assert run("report --storage tune.db -o r.html --json").record["front"] == []
    rows = Document.of(Path("r.html").read_text()).blocks()["table-0"]["rows"]
    assert rows
    assert not any(row[1] == "front" for row in rows)
    assert run("plot --storage tune.db -o f.png").code == 0
