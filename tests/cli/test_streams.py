"""What happens to a process whose stdout is full, closed, or no longer read."""

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
