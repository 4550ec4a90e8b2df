"""Files and folders in the wrong place are refused before the work, in one line."""

from pathlib import Path

import pytest

from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.scheduler import Request
from tests.cli.run import Run
from tests.cli.test_failures import SMALL, refused
from tests.solving.fakes import install


@pytest.fixture(autouse=True)
def _no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def works(problem: Problem, request: Request) -> Result:
        raise AssertionError("refused too late")

    install(monkeypatch, stream=works)


@pytest.mark.parametrize("command", ["solve -s stream", "problem"])
def test_output_must_be_a_file_that_can_be_written(run: Run, tmp_path: Path, command: str) -> None:
    line = f"{command} {SMALL} -o"
    assert "is a folder; name a file in it" in refused(run(f"{line} {tmp_path}"))
    assert "is a folder; name a file in it" in refused(run(f"{line} ."))
    assert "is a file, but a folder is needed" in refused(run(f"{line} /dev/null/r.json"))
    file = tmp_path / "file"
    file.write_text("kept")
    assert "is a file, but a folder is needed" in refused(run(f"{line} {file}/r.json"))
    long = "x" * 300
    assert "cannot be written (File name too long)" in refused(run(f"{line} {tmp_path}/{long}"))
    assert list(tmp_path.iterdir()) == [file]
    assert file.read_text() == "kept"


def test_compare_writes_into_a_folder(run: Run, tmp_path: Path) -> None:
    line = f"compare {SMALL} --schedulers stream -o"
    file = tmp_path / "file"
    file.write_text("kept")
    message = refused(run(f"{line} {file}"))
    assert f"{file}: is a file, but a folder is needed" in message
    (tmp_path / "stream.json").mkdir()
    assert "stream.json: is a folder" in refused(run(f"{line} {tmp_path}"))


@pytest.mark.parametrize("name", ["network.onnx", "problem.json"])
def test_a_folder_is_no_network(run: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    assert f"{name}: is a folder; name a file in it" in refused(run(f"solve {tmp_path / name}"))


def test_a_machine_file_must_have_its_ending(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "m5"
    path.write_text("")
    assert "must end in .toml" in refused(run(f"solve {SMALL} --machine {path}"))
