"""A search from Python: what ``tune show`` says, as text and as HTML."""

import os
from pathlib import Path

import pytest

import spmopt
from spmopt.core.errors import InputError
from spmopt.reporting.search.tables import search_parts
from spmopt.reporting.tables import Grid
from spmopt.search.findings import findings_of
from spmopt.verifier import require_legal
from tests.api.html import Page
from tests.cli.run import runner

MLP = str(Path(__file__).parents[2] / "instances" / "mlp.json")
SPACE = '[space]\nspm = "640B:2560B:640B"\nbandwidth = ["500MB/s", "1GB/s"]\n[cost]\ngbps = 1.0\n'


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("space") / "s.toml"
    path.write_text(SPACE)
    return path


@pytest.fixture(scope="module")
def found(space: Path) -> spmopt.HardwareSearch:
    return spmopt.tune(
        MLP, space, objectives=("time", "cost"), sampler="grid", trials=8, time_limit=1.0
    )


def test_it_shows_what_the_command_line_shows(found: spmopt.HardwareSearch) -> None:
    parts = list(search_parts(findings_of(found.study, found.setup)))
    page = Page(found._repr_html_())
    (table,) = page.tables
    (grid,) = (part for part in parts if isinstance(part, Grid))
    assert table == [list(grid.columns), *map(list, grid.rows)]
    assert [row[0].rstrip("~*") for row in table[1:]] == [str(number) for number in found.front]
    for line in page.paragraphs:
        assert line in str(found)


def test_schedules_of_its_trials(found: spmopt.HardwareSearch, tmp_path: Path) -> None:
    first = found.rows()[0]
    solved = found.solution(found.front[0])
    assert solved.result.schedule is not None
    require_legal(solved.problem, solved.result.schedule, solved.result.totals)
    totals = solved.result.totals
    assert totals is not None
    seconds = totals.makespan_cycles / solved.problem.machine.clock_hz
    assert seconds == pytest.approx(first["time_s"], rel=1e-3)
    with pytest.raises(InputError, match="99"):
        found.solution(99)
    spmopt.plot(found).save(tmp_path / "front.svg")
    assert "<svg" in (tmp_path / "front.svg").read_text(encoding="utf-8")


def test_a_study_that_is_kept(
    space: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for trials in (1, 2):
        kept = spmopt.tune(
            MLP, space, objectives=("time", "cost"), trials=trials, storage="t.db", study="kept"
        )
    assert len(kept.study.get_trials()) == 2
    run = runner(capsys)
    assert run("tune show --storage t.db --study kept").out.rstrip("\n") == str(kept)
    assert {"t.db", "t.schedules"} <= set(os.listdir())


def test_bounds_have_no_schedules(space: Path) -> None:
    bounds = spmopt.tune(MLP, space, objectives=("time", "cost"), trials=1, scheduler="bound")
    with pytest.raises(InputError, match="gives bounds, no schedules"):
        bounds.solution(0)


def test_bad_input_is_said_in_a_line(space: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml"):
        spmopt.tune(MLP, "none.toml")
    with pytest.raises(InputError, match="speed"):
        spmopt.tune(MLP, space, objectives=("speed",))


def test_what_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = getattr(spmopt, "not" + "hing")
