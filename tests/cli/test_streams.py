"""What happens to a process whose stdout is full, closed, or no longer read."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.run import Run
from tests.thorough import some

SPMOPT = f"{sys.executable} -m spmopt"


def shell(line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", line.replace("spmopt", SPMOPT)], capture_output=True, text=True, check=False
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("command", some(["networks", "--help"]))
def test_full(command: str) -> None:
    ran = shell(f"spmopt {command} > /dev/full")
    assert ran.returncode == 2
    assert ran.stderr == "error: the output cannot be written (No space left on device)\n"


def test_closed() -> None:
    ran = shell("spmopt machines >&-")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_closed_stdout_does_not_go_into_the_next_file(tmp_path: Path) -> None:
    path = tmp_path / "i.json"
    ran = shell(f"spmopt problem bert-tiny -o {path} >&-")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert path.read_text().startswith('{"format":"spmopt-problem"')


@pytest.mark.parametrize("command", some(["--help", "networks --json"]))
def test_no_reader(command: str) -> None:
    ran = shell(f"spmopt {command} | exec 0<&-; exit ${{PIPESTATUS[0]}}")
    assert ran.returncode == 141
    assert ran.stderr == ""


def test_no_file_in_place_of_the_output(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the shell and the program print stays: nothing replaces the file it goes to."""
    path, said = tmp_path / "all", "error: {}: is a stream; name a file, or print by --json\n"
    lines = "echo first; spmopt problem bert-tiny -o /dev/stdout; echo last"
    ran = shell(f"cd {tmp_path}; ({lines}) > {path}")
    assert ran.stderr == said.format("/dev/stdout")
    assert path.read_text() == "first\nlast\n"
    monkeypatch.chdir(tmp_path)
    assert run("problem bert-tiny -o -").err == said.format("-")
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_no_file_can_be_written_to(run: Run) -> None:
    assert run("problem bert-tiny -o /dev/null").code == 0
    ran = shell("spmopt problem bert-tiny -o /dev/fd/3 3>&1 >/dev/null | head -c 10; true")
    assert ran.stdout == '{"format":'


FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")


@pytest.mark.parametrize("away", [pytest.param("2>/dev/full", marks=FULL), "2>&-"])
def test_no_message_is_worth_the_result(tmp_path: Path, away: str) -> None:
    assert shell(f"spmopt technologies --capacity x {away}").returncode == 2
    talk = tmp_path / "talk.py"
    talk.write_text(
        "import sys\n"
        "from spmopt.cli import main\n"
        "from spmopt.cli import lists\n"
        "from spmopt.cli.terminal.output import print_message, print_warning\n"
        "def talk(): print_warning('x'), print_message('y'), print('done')\n"
        "lists.networks = talk\n"
        "sys.exit(main(['networks']))\n"
    )
    ran = shell(f"{sys.executable} {talk} {away}")
    assert (ran.returncode, ran.stdout) == (0, "done\n")
