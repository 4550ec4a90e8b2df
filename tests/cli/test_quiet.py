"""``--quiet``: exit code, files, errors; and ``--json`` wherever there is something to say."""

from pathlib import Path
from shutil import copy

import pytest

from spmopt.cli import commands, main
from tests.cli.pseudo import AT_ONCE, on_terminal
from tests.cli.run import Run
from tests.cli.test_failures import SMALL
from tests.solving.fakes import bounds_only, install

LISTS = ("networks", "schedulers", "machines", "technologies")
PLACES = Path(__file__).parents[2] / "instances" / "minimalloc" / "input.12.csv"


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("quiet") / "r.json"
    with pytest.MonkeyPatch.context() as patch:
        install(patch, lp_bound=bounds_only)
        assert main(f"solve {SMALL} -s belady -q -o {path}".split()) == 0
    return path


@pytest.fixture
def result(solved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    install(monkeypatch, lp_bound=bounds_only)
    path = tmp_path / "r.json"
    copy(solved, path)
    return path


@pytest.mark.parametrize(
    ("command", "written"),
    [
        (f"solve {SMALL} -s belady -o {{}}/o.json", "o.json"),
        (f"compare {SMALL} -s belady,lru -o {{}}", "lru.json"),
        ("verify {}/r.json", None),
        ("explain {}/r.json --csv {}/o.csv", "o.csv"),
        ("trace {}/r.json -o {}/o.json", "o.json"),
        ("plot {}/r.json -o {}/o.svg --picture occupancy", "o.svg"),
        ("report {}/r.json -o {}/o.html", "o.html"),
        ("problem bert-tiny -o {}/o.json", "o.json"),
        ("export bert-tiny --batch 2 --spm 1MB -o {}/o.mps", "o.mps"),
        ("sweep bert-tiny --batch 2 --spm 1MB -s belady --jobs 1 -o {}/o.csv", "o.csv"),
        (f"allocate {PLACES} --minimize -o {{}}/o.csv", "o.csv"),
        ("tiles --gemm 16x16x16 --machine small-npu --jobs 1 -o {}/o.csv", "o.csv"),
    ],
)
def test_nothing_is_printed(
    result: Path, run: Run, tmp_path: Path, command: str, written: str | None
) -> None:
    ran = run(f"{command.replace('{}', str(tmp_path))} --quiet")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    if written is not None:
        assert (tmp_path / written).stat().st_size > 0


def test_remarks_are_printed_again_afterwards(result: Path, run: Run) -> None:
    assert run(f"verify {result} -q").out == ""
    assert "belady: verified" in run(f"verify {result}").out


def test_errors_are_printed(result: Path, run: Run) -> None:
    ran = run(f"solve {SMALL} --spm 50B --quiet")
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("error: ")
    result.write_text(result.read_text().replace('"value":"', '"value":"1'))
    ran = run(f"verify {result} --quiet")
    assert (ran.code, ran.out, ran.err) == (1, "", "")


def test_quiet_on_a_terminal_is_quiet() -> None:
    problem = str(PLACES.parents[1] / "take-turns.json")
    seen = on_terminal("solve", problem, "-s", "residency", "--quiet", program=AT_ONCE)
    assert (seen.code, seen.screen) == (0, "")


def test_quiet_and_json_exclude_each_other(run: Run) -> None:
    ran = run(f"solve {SMALL} --quiet --json")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "error: --quiet prints nothing, --json prints JSON: give one of them\n"


COMMANDS = [*commands.COMMANDS, "tune show"]


def test_every_command_has_json_and_quiet_where_it_does_more(helps: dict[str, str]) -> None:
    for command in COMMANDS:
        assert "--json" in helps[command], command
        assert ("--quiet" in helps[command]) == (command not in LISTS), command


def test_main_is_as_loud_as_before(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["networks", "--json"]) == 0
    assert capsys.readouterr().out.startswith("{")
