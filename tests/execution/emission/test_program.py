"""The program in C, compiled: the same contents of DRAM, with and without threads."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from spmopt.api.emitting import SOURCES
from spmopt.execution.commands import machine_program
from spmopt.execution.emission import binary as records
from spmopt.execution.emission.linking import link
from tests.execution.emission.cases import CASES, digests, solved

CC = shutil.which("cc")
HERE = Path(records.__file__).parent
OPTIONS = ("-std=c11", "-O1", "-Wall", "-Wextra", "-Werror")
FILES = [file for file in SOURCES["hash"] if file.endswith(".c")]
pytestmark = pytest.mark.skipif(CC is None, reason="no C compiler")
NETWORKS = [name for name in CASES if not name.startswith("random")]


def emitted(name: str, folder: Path) -> None:
    """Write the files of a case."""
    linked = link(machine_program(*solved(name)))
    (folder / "commands.bin").write_bytes(records.binary(linked))
    (folder / "spmopt_sizes.h").write_text(records.sizes(linked))
    for file in SOURCES["hash"]:
        shutil.copy(HERE / file, folder / file)


def compiled(folder: Path, *options: str) -> None:
    """Compile without a warning."""
    line = [str(CC), *OPTIONS, *options, *FILES, "-o", "program"]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def ran(folder: Path) -> subprocess.CompletedProcess[str]:
    options = {"TSAN_OPTIONS": "halt_on_error=1 symbolize=0"}
    return subprocess.run(
        ["./program"], cwd=folder, capture_output=True, text=True, check=False, env=options
    )


@pytest.mark.parametrize("name", NETWORKS)
def test_the_program_comes_to_the_contents_of_run(name: str, tmp_path: Path) -> None:
    emitted(name, tmp_path)
    expected = [f"{k} {digest}" for k, digest in enumerate(digests(*solved(name)))]
    synchronous = name in ("lenet training", "moves")
    for options in [["-pthread"], *([["-DSYNC"]] if synchronous else [])]:
        compiled(tmp_path, *options)
        for _ in range(1 if name == "resnet" else 3):
            done = ran(tmp_path)
            assert (done.returncode, done.stderr) == (0, "")
            assert done.stdout.splitlines() == expected


@pytest.fixture
def watched(tmp_path: Path) -> Path:
    """A folder of a program that a sanitizer watches for races of threads."""
    emitted("moves", tmp_path)
    line = [str(CC), *OPTIONS, "-pthread", "-fsanitize=thread", *FILES, "-o", "program"]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, check=False)
    plain = [str(CC), "-fsanitize=thread", "-x", "c", "-", "-o", "plain"]
    source = b"int main(void) { return 0; }"
    subprocess.run(plain, cwd=tmp_path, input=source, capture_output=True, check=False)
    runs = (tmp_path / "plain").exists() and not subprocess.run(
        ["./plain"], check=False, cwd=tmp_path
    ).returncode
    if not runs:
        pytest.skip("the compiler has no sanitizer of threads that runs here")
    assert done.returncode == 0, done.stderr
    return tmp_path


def test_waits_leave_no_race_and_without_them_there_are(watched: Path) -> None:
    done = ran(watched)
    assert (done.returncode, done.stderr) == (0, "")
    content = bytearray((watched / "commands.bin").read_bytes())
    header = np.frombuffer(content, records.HEADER, 1)[0]
    place = int(header["commands"]["offset"]), int(header["commands"]["count"])
    commands = np.frombuffer(content, records.COMMAND, place[1], place[0])
    assert commands["waits"].sum() > 10
    commands["waits"] = 0
    (watched / "commands.bin").write_bytes(content)
    done = ran(watched)
    assert done.returncode != 0
    assert "data race" in done.stderr


def test_files_of_other_programs_are_refused(tmp_path: Path) -> None:
    emitted("moves", tmp_path)
    compiled(tmp_path, "-DSYNC")
    other = records.binary(link(machine_program(*solved("lenet"))))
    for content, said in (
        (other, "error: spmopt_sizes.h is of another commands.bin\n"),
        (other[:100], "error: commands.bin is truncated\n"),
        (b"?" * 200, "error: no commands.bin of this version, or of another byte order\n"),
    ):
        (tmp_path / "commands.bin").write_bytes(content)
        done = ran(tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", said)
