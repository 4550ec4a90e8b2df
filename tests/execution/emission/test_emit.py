"""Commands written to a folder, from Python and by the command line."""

import json
from pathlib import Path

import pytest

import spmopt
from spmopt.api.emitting import FILES
from spmopt.io.files import read_problem
from tests.cli.run import Run

LSTM = Path(__file__).parents[3] / "instances" / "lstm.json"


@pytest.fixture
def solution() -> spmopt.Solution:
    return spmopt.solve(read_problem(LSTM), "belady")


def test_the_command_writes_a_folder(run: Run, solution: spmopt.Solution, tmp_path: Path) -> None:
    file, folder = tmp_path / "r.json", tmp_path / "new" / "program"
    solution.save(file)
    ran = run(f"emit {file} -o {folder}")
    assert (ran.code, ran.out.count("\n")) == (0, 1)
    assert ran.out.startswith(f"{folder}: {solution.problem.name}: ")
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    header = json.loads((folder / "commands.jsonl").read_text().splitlines()[0])
    assert header["problem"] == solution.problem.name
    (folder / "commands.jsonl").write_text("old")
    again = run(f"emit {file} -o {folder} --json").record
    assert again["folder"] == str(folder)
    assert again["commands"] == header["commands"]
    assert again["files"] == list(FILES)
    found = spmopt.emit(solution)
    for name in FILES:
        assert (folder / name).read_bytes() == found.files[name]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("none.json -o {folder}", "error: none.json: cannot be read"),
        (f"{LSTM} -o {{folder}}", "format is 'spmopt-problem', not 'spmopt-result'"),
        ("{file} -o -", "error: --output -: several files are written; name a folder"),
        ("{file} -o {file}", "is a file, but a folder is needed"),
        ("{own} -o {folder}", "would replace the file that is read"),
    ],
)
def test_bad_input_gets_one_line(
    run: Run, solution: spmopt.Solution, tmp_path: Path, line: str, said: str
) -> None:
    file, folder = tmp_path / "r.json", tmp_path / "folder"
    folder.mkdir()
    own = folder / "commands.jsonl"
    solution.save(file)
    solution.save(own)
    ran = run(f"emit {line.format(file=file, folder=folder, own=own)}")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert said in ran.err
