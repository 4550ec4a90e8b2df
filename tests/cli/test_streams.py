"""What happens to a process whose stdout is full, closed, or no longer read."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SPMOPT = f"{sys.executable} -m spmopt"


def shell(line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", line.replace("spmopt", SPMOPT)], capture_output=True, text=True, check=False
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("command", ["networks", "networks --json", "--version", "--help"])
def test_full(command: str) -> None:
    ran = shell(f"spmopt {command} > /dev/full")
    assert ran.returncode == 2
    assert ran.stderr == "error: the output cannot be written (No space left on device)\n"


@pytest.mark.parametrize("command", ["machines", "machines --json", "--help"])
def test_closed(command: str) -> None:
    ran = shell(f"spmopt {command} >&-")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_closed_stdout_does_not_go_into_the_next_file(tmp_path: Path) -> None:
    path = tmp_path / "i.json"
    ran = shell(f"spmopt instance bert-tiny -o {path} >&-")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert path.read_text().startswith('{"format":"spmopt-instance"')


def test_closed_stderr() -> None:
    assert shell("spmopt machines --nonsense 2>&-").returncode == 2


@pytest.mark.parametrize("command", ["networks", "networks --json", "--help", "solve --help"])
def test_no_reader(command: str) -> None:
    ran = shell(f"spmopt {command} | exec 0<&-; exit ${{PIPESTATUS[0]}}")
    assert ran.returncode == 141
    assert ran.stderr == ""


FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
SOLVE = "spmopt solve bert-tiny --batch 2 --spm 1MB -s belady --json"


@pytest.mark.parametrize("away", [pytest.param("2>/dev/full", marks=FULL), "2>&-"])
def test_no_message_is_worth_the_result(tmp_path: Path, away: str) -> None:
    assert json.loads(shell(f"{SOLVE} {away}").stdout)["results"][0]["verified"] is True
    assert shell(f"spmopt solve nothing {away}").returncode == 2
    talk = tmp_path / "talk.py"
    talk.write_text(
        "import sys\n"
        "from spmopt.cli import main\n"
        "from spmopt.cli.app import app\n"
        "from spmopt.cli.output import tell, warn\n"
        "app.command('talk')(lambda: [warn('x'), tell('y'), print('done')] and 0)\n"
        "sys.exit(main(['talk']))\n"
    )
    ran = shell(f"{sys.executable} {talk} {away}")
    assert (ran.returncode, ran.stdout) == (0, "done\n")
