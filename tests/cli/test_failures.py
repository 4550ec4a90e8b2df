import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from spmopt.core.errors import InfeasibleError
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.scheduler import Request
from spmopt.io.files import write_problem
from tests.cli.run import Ran, Run
from tests.solving.fakes import bounds_only, install, keeps_start

SMALL = "bert-tiny --batch 2 --spm 1MB"


def refused(ran: Ran, code: int = 2) -> str:
    """The one line that a failed command prints, and nothing else."""
    assert ran.code == code, ran.err
    assert ran.out == ""
    assert "Traceback" not in ran.err
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1
    return ran.err


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("solve resnet51", "no network called 'resnet51'; did you mean resnet50?"),
        ("solve none.onnx", "none.onnx"),
        ("solve none.json", "none.json: cannot be read (No such file"),
        (f"solve {SMALL} --machine rtx2080", "did you mean rtx2080ti?"),
        (f"solve {SMALL} --spm 0", "must be greater than 0; write for example 24MB"),
        ("solve nothing", "(a file must end in .onnx or .pt2, a stored problem in .json)"),
        (f"solve {SMALL} --spm 50B", "smaller than one page"),
        (f"solve {SMALL} --set spm", "write --set NAME=VALUE"),
        (
            f"solve {SMALL} --machine /",
            "a machine file must end in .toml; this one is a folder",
        ),
        (f"solve {SMALL} --scheduler belday", "did you mean belady?"),
        (f"solve {SMALL} --fusion al", "all? (choose one of all, batch, none, single-product)"),
        (f"solve {SMALL} --objective beauty", "choose one of energy, replay, time, traffic"),
        (f"solve {SMALL} --mapper none", "use choose, tiled, panel, weights or ideal"),
        (
            f"solve {SMALL} --optimizer adam",
            "--optimizer adam: is for training; ask",
        ),
        (f"solve {SMALL} --batch 0", "batch must be an integer of at least 1"),
        ("solve resnet18 --batch 1000000000000", "at most 2**60 can be computed with"),
        (f"solve {SMALL} --param layers=two", "'two' is not a whole number"),
        (f"solve {SMALL} --param batch=2", "batch is an option of its own; leave it out here"),
        (f"solve {SMALL} --time-limit nan", "--time-limit nan: must be a number"),
        (f"solve {SMALL} --threads 0", "--threads 0: must be at least 1"),
        (f"compare {SMALL} --schedulers ,", "name at least one"),
        (f"compare {SMALL} -o /dev/null/x", "cannot be created (Not a directory)"),
        (f"solve {SMALL} --scheduler stream -o /dev/null/r.json", "a folder is needed"),
        ("solve", "NETWORK is missing; see 'spmopt solve --help'"),
        ("frobnicate", "no command called 'frobnicate'; choose one of ablate"),
        (f"solve {SMALL} --nonsense", "no such option --nonsense; see 'spmopt solve --help-all'"),
        (f"solve {SMALL} --bath 2", "no such option --bath; did you mean --batch?"),
        (f"solve {SMALL} --batch", "--batch: needs a value"),
        (f"solve {SMALL} again", "unexpected argument 'again'; see 'spmopt solve --help'"),
        ("solve bert-tiny --param", "--param: needs a value"),
        (f"solve {SMALL} --batch two", "--batch: 'two' is not a whole number\n"),
        (f"solve {SMALL} --batch 8:16", "'8:16' is not a whole number; lists and ranges are for"),
        (f"solve {SMALL} --time-limit 1,2", "'1,2' is not a number; lists and ranges are for"),
        ("solve bert-tiny --bank 2:nvsim-sram", "2 has no unit; write as 2MB:nvsim-sram"),
        ("sweep bert-tiny --spm 8:32:8", "spm '8': has no unit"),
        (f"solve {SMALL} --optimizer foo", "optimizer 'foo' is unknown; use one of sgd"),
    ],
)
def test_bad_input_gets_one_line(run: Run, line: str, expected: str) -> None:
    assert expected in refused(run(line))


def test_truncated_and_cyclic_files(run: Run, tmp_path: Path) -> None:
    onnx = tmp_path / "broken.onnx"
    onnx.write_bytes(b"\x08\x07\x12\x05pytorch")
    assert "broken.onnx" in refused(run(f"solve {onnx}"))
    path = tmp_path / "i.json"
    run(f"problem {SMALL} -o {path}")
    document = json.loads(path.read_text())
    path.write_text(path.read_text()[:-100])
    assert "truncated" in refused(run(f"solve {path}"))
    document["operations"]["predecessors"][0] = [1]
    path.write_text(json.dumps(document))
    assert "not an earlier operation" in refused(run(f"solve {path}"))


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ("--training", "--training"),
        ("--batch 2", "--batch"),
        ("--machine a100", "--machine"),
        ("--mapper ideal", "--mapper"),
        ("--no-fold", "--fold"),
        ("--throughput 1TFLOP/s", "--throughput"),
        ("--set array.rows=4 --set array.columns=4", "--set array"),
    ],
)
def test_an_problem_is_lowered_already(run: Run, tmp_path: Path, option: str, name: str) -> None:
    path = tmp_path / "i.json"
    run(f"problem {SMALL} -o {path}")
    message = refused(run(f"solve {path} {option}"))
    assert f"error: {name}: " in message
    assert "is lowered already" in message


def test_infeasible(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    def nowhere(problem: Problem, request: Request) -> Result:
        raise InfeasibleError(
            "operation q: its required-resident operands need 3 pages, there are 2"
        )

    install(monkeypatch, stream=nowhere)
    ran = run(f"solve {SMALL} --scheduler stream")
    assert ran.code == 3
    assert "infeasible" in ran.out
    assert "operation q: its required-resident operands need 3 pages" in ran.out
    record = run(f"compare {SMALL} --schedulers stream --json").record["results"][0]
    assert (record["status"], record["verified"], record["value"]) == ("infeasible", False, None)


def test_no_schedule_in_time_is_not_infeasible(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    def nothing(problem: Problem, request: Request) -> Result:
        return Result(residency_plan=None)

    install(monkeypatch, stream=nothing)
    ran = run(f"solve {SMALL} --scheduler stream --json")
    assert ran.code == 4
    assert ran.record["results"][0]["status"] == "unknown"


def test_ctrl_c_gives_the_best_so_far(
    monkeypatch: pytest.MonkeyPatch, run: Run, tmp_path: Path
) -> None:
    def pressed(problem: Problem, request: Request) -> Result:
        assert not request.stop()
        signal.raise_signal(signal.SIGINT)
        assert request.stop()
        return keeps_start(problem, request)

    install(monkeypatch, residency=pressed, lp_bound=bounds_only)
    before = signal.getsignal(signal.SIGINT)
    path = tmp_path / "r.json"
    ran = run(f"solve {SMALL} -o {path} --json")
    assert ran.code == 130
    assert "interrupted: the best so far follows" in ran.err
    result = ran.record["results"][0]
    assert result["verified"] is True
    assert result["gap"] >= 0
    assert run(f"verify {path}").code == 0
    assert signal.getsignal(signal.SIGINT) == before
    ran = run(f"compare {SMALL} --schedulers belady,residency,lru --json")
    assert [result["scheduler"] for result in ran.record["results"]] == ["belady", "residency"]


def test_second_ctrl_c_leaves(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    def deaf(problem: Problem, request: Request) -> Result:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        return keeps_start(problem, request)

    install(monkeypatch, residency=deaf)
    ran = run(f"solve {SMALL}")
    assert ran.code == 130
    assert ran.out == ""
    assert ran.err.startswith("interrupted: the best so far follows")


def test_an_error_of_the_program_is_none_of_the_user(
    monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    def fails(problem: Problem, request: Request) -> Result:
        raise ZeroDivisionError("oops")

    install(monkeypatch, stream=fails)
    ran = run(f"solve {SMALL} --scheduler stream")
    assert ran.code == 70
    assert "ZeroDivisionError: oops" in ran.err


def test_process_output_is_plain_when_piped(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "spmopt", "compare", *SMALL.split(), "--schedulers", "stream"]
    ran = subprocess.run(line, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "\x1b" not in ran.stdout
    assert ran.stderr == ""
    assert ran.stdout.splitlines()[-1].startswith("Optimum: ")


def test_start_up_loads_nothing_heavy() -> None:
    code = (
        "import sys; from spmopt.cli import main; main(['--version']);"
        "print(sorted({'numpy', 'onnx', 'pint', 'highspy', 'ortools'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == ["spmopt 0.2.0", "[]"]


def test_a_reader_that_leaves_is_no_error() -> None:
    code = (
        "import os, sys; from spmopt.cli import main;"
        "r, w = os.pipe(); os.close(r); os.dup2(w, 1); sys.exit(main(['machines']))"
    )
    ran = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, check=False)
    assert (ran.returncode, ran.stderr) == (141, b"")


def test_stored_problem_in_another_format(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    run(f"solve {SMALL} --scheduler stream -o {path}")
    message = refused(run(f"solve {path}"))
    assert "format is 'spmopt-result', not 'spmopt-problem'; a result is for 'spmopt" in message
    write_problem(path, _read(path))
    message = refused(run(f"verify {path}"))
    assert "not 'spmopt-result'; a problem is for 'spmopt solve' and" in message


def _read(path: Path) -> Problem:
    from spmopt.io.files import read_result

    return read_result(path).problem
