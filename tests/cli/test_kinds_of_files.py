"""Files of another kind than what is asked for: one line says what each is, and what to give."""

from __future__ import annotations

import os
from pathlib import Path
from shutil import copytree
from threading import Thread

import pytest

from spmopt.cli import main
from spmopt.core.filetypes import kind_of_file
from tests.cli.run import Run
from tests.cli.test_failures import refused
from tests.solving.fakes import bounds_only, install

MLP = Path("instances/mlp.json")
MACHINE = """spm = "512KiB"
bandwidth = "10GB/s"
throughput = "1TFLOP/s"
clock = "1GHz"
"""


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of each kind."""
    folder = tmp_path_factory.mktemp("kinds") / "every"
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        install(patch, lp_bound=bounds_only)
        assert main(f"sweep {MLP} -s lru --jobs 1 -q -o {folder}/sweep.csv".split()) == 0
        assert main(f"solve {MLP} -s lru -q -o {folder}/result.json".split()) == 0
    (folder / "edge.toml").write_text(MACHINE)
    (folder / "buffers.csv").write_text("id,lower,upper,size\na,0,1,8\n")
    (folder / "table.csv").write_text("a,b\n1,2\n")
    (folder / "page.html").write_text("<!doctype html>")
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\xff")
    (folder / "model.tflite").write_bytes(bytes(4) + b"TFL3")
    (folder / "search.db").write_bytes(b"SQLite format 3\0" + bytes(100))
    (folder / "folder").mkdir()
    return folder


@pytest.fixture
def files(every: Path, tmp_path: Path) -> Path:
    """A copy of them."""
    return copytree(every, tmp_path / "files")


IS = {
    "sweep.csv": "holds rows of a sweep, which 'spmopt plot' and 'spmopt report' show",
    "edge.toml": "is a TOML file, as a machine (--machine) and the space of a search (--space) are",
    "buffers.csv": "holds buffers, which 'spmopt allocate' places",
    "table.csv": "is a CSV file",
    "page.html": "is a page",
    "picture.png": "is a picture",
    "search.db": "is the storage of a search, which 'spmopt tune show --storage' shows",
    "model.tflite": "is a TFLite model, which is not read; convert it to ONNX (as tf2onnx does)",
    "folder": "is a folder",
}


NETWORK = "where a network is asked for, give its name"


@pytest.mark.parametrize("name", IS)
def test_where_a_network_or_a_result_is_asked_for(name: str, every: Path, run: Run) -> None:
    file = every / name
    assert f"{file}: {IS[name]}; {NETWORK}" in refused(run(f"solve {file}"))
    said = refused(run(f"verify {file}"))
    assert f"{file}: {IS[name]}; give a result file (.json), as 'spmopt solve -o'" in said


@pytest.mark.parametrize("command", ["explain", "sweep"])
def test_where_others_take_a_network(command: str, every: Path, run: Run) -> None:
    said = refused(run(f"{command} {every / 'page.html'}"))
    assert f"page.html: is a page; {NETWORK}" in said


def test_where_a_machine_is_asked_for(files: Path, run: Run) -> None:
    for option in ("machine", "technology"):
        for name in ("sweep.csv", "result.json", "page.html"):
            said = refused(run(f"solve bert-tiny --{option} {files / name}"))
            kind = kind_of_file(files / name)
            assert f"a {option} file must end in .toml; this one {kind}" in said
        (files / "edge.txt").write_text(MACHINE)
        said = refused(run(f"solve bert-tiny --{option} {files / 'edge.txt'}"))
        assert "must end in .toml; rename it" in said


def test_a_result_under_any_name_is_read(files: Path, run: Run) -> None:
    for name in ("result.toml", "result", "result.csv"):
        (files / name).write_bytes((files / "result.json").read_bytes())
        assert run(f"verify {files / name}").code == 0


def test_a_truncated_result_is_said_to_be_one(files: Path, run: Run) -> None:
    whole = (files / "result.json").read_bytes()
    (files / "result.json").write_bytes(whole[:-20])
    assert "it may be truncated" in refused(run(f"verify {files / 'result.json'}"))
    (files / "empty.json").write_text("")
    assert "it may be truncated" in refused(run(f"verify {files / 'empty.json'}"))


def test_nothing_is_read_from_a_pipe(files: Path, run: Run) -> None:
    pipe = files / "pipe.json"
    os.mkfifo(pipe)
    content = (files / "result.json").read_bytes()
    writer = Thread(target=pipe.write_bytes, args=(content,), daemon=True)
    writer.start()
    assert run(f"verify {pipe}").code == 0
    writer.join(5)


def test_kinds_that_only_content_tells() -> None:
    assert kind_of_file(MLP) == "is a problem, which 'spmopt solve' and 'spmopt compare' take"
    assert kind_of_file(MLP, json=False) == ""
    assert kind_of_file(Path("none.toml")) == ""
    assert kind_of_file(Path("a\0b")) == ""
