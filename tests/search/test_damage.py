"""Storages that are damaged, cut short, or of another study: one line each, and no traceback."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from spmopt.cli import Code
from tests.cli.run import Run, runner
from tests.search.study import MLP, SPACE

TUNE = f"tune {MLP} --space s.toml --objective time,cost -s belady --trials 2 --workers 0"
LOG = "journal:j.log"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(SPACE)
    return runner(capsys)


def said(run: Run, storage: str) -> str:
    """The one line of both commands."""
    lines = {run(f"{line} --storage {storage}").err for line in (TUNE, "tune show")}
    assert len(lines) == 1
    (line,) = lines
    assert line.count("\n") == 1
    return line


@pytest.mark.parametrize("cut", [1, 5, 60])
def test_a_journal_whose_last_line_is_cut_off_goes_on(run: Run, cut: int) -> None:
    run(f"{TUNE} --storage {LOG}")
    text = Path("j.log").read_text()
    Path("j.log").write_text(text[:-cut])
    assert run(f"tune show --storage {LOG}").code == Code.OK
    shown = run(f"{TUNE} --storage {LOG}")
    assert (shown.code, shown.err) == (Code.OK, "")
    assert run(f"tune show --storage {LOG} --json").record["counts"]["solved"] == 2
    assert all(json.loads(line) for line in Path("j.log").read_text().splitlines())


def test_a_text_without_an_end_is_no_journal(run: Run) -> None:
    Path("j.log").write_text("notes of mine")
    assert "is no journal of Optuna" in said(run, LOG)
    assert Path("j.log").read_text() == "notes of mine"


def test_a_journal_that_is_cut_short(run: Run) -> None:
    run(f"{TUNE} --storage {LOG}")
    text = Path("j.log").read_text()
    first = text.splitlines(keepends=True)[0]
    assert json.loads(first)["study_name"] == "s"
    Path("j.log").write_text(first)
    found = run(f"tune show --storage {LOG}")
    assert found.code == Code.BAD_INPUT
    assert "or its storage is cut short: it does not say what it is of" in found.err
    assert "no study called 'x'; choose one of s" in run(f"tune show --study x --storage {LOG}").err
    Path("j.log").write_text("")
    empty = run(f"tune show --study x --storage {LOG}").err
    assert "holds no study x, nor any other" in empty


def test_a_damaged_database_is_said_at_once_without_links(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spmopt.search.storage.sleep", _never)
    run(f"{TUNE} --storage a.db")
    whole = Path("a.db").read_bytes()
    for broken in (b"x" * 64 + whole[64:], whole[:20000]):
        Path("b.db").write_bytes(broken)
        line = said(run, "b.db")
        assert line.startswith("error: --storage b.db: cannot be read (")
        assert "http" not in line
        assert "SELECT" not in line


def _never(seconds: float) -> None:
    pytest.fail(f"waited for {seconds} s, and it stays damaged")


def test_a_driver_of_the_program_is_named_by_its_extra(run: Run) -> None:
    found = run(f"{TUNE} --storage postgresql+pg8000://h/d").err
    assert "pip install 'psycopg[binary]>=3.2.2'" in found
    assert "http" not in found


def test_a_kill_between_a_table_and_its_index_leaves_one_study(run: Run, tmp_path: Path) -> None:
    """The index keeps names unique: without it each command would begin a study of its own."""
    with closing(sqlite3.connect(tmp_path / "k.db")) as database:
        database.execute(
            "CREATE TABLE studies (study_id INTEGER PRIMARY KEY, study_name VARCHAR NOT NULL)"
        )
    for trials in (2, 4):
        done = run(f"{TUNE.replace('--trials 2', f'--trials {trials}')} --storage k.db --study k")
        assert done.code == Code.OK
    with closing(sqlite3.connect(tmp_path / "k.db")) as database:
        assert database.execute("SELECT count(*) FROM studies").fetchone() == (1,)
    assert run("tune show --storage k.db").code == Code.OK


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("INSERT INTO alembic_version VALUES ('v9.9.9')", "Version table"),
        ("UPDATE alembic_version SET version_num = 'v9.9.9'", "The runtime optuna version"),
    ],
)
def test_a_database_of_another_version_is_refused(
    run: Run, tmp_path: Path, change: str, what: str
) -> None:
    run(f"{TUNE} --storage a.db")
    with closing(sqlite3.connect(tmp_path / "a.db")) as database, database:
        database.execute(change)
    assert said(run, "a.db").startswith(f"error: --storage a.db: cannot be read ({what}")
