"""Ctrl-C at any time: one line or what was found, never a traceback."""

import signal
import subprocess
import sys
from pathlib import Path
from time import sleep

import pytest

import spmopt.cli.schedule
from spmopt.api.shown import Shown
from spmopt.cli import main
from spmopt.cli.terminal.interrupt import Interrupted, leaving
from spmopt.cli.terminal.output import emit
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.scheduler import Request
from tests.cli.run import Run
from tests.cli.test_failures import SMALL
from tests.solving.fakes import bounds_only, install, keeps_start
from tests.thorough import some

NOTHING = "interrupted before any schedule was found\n"
LOST = "left at once; what was found so far was not kept\n"
AT_IMPORT = """
import signal, sys
from spmopt.cli import main
from spmopt.cli.terminal.interrupt import Interrupted, leaving
signal.signal(signal.SIGINT, signal.default_int_handler)
_, module, line = sys.argv
class Press:
    def find_spec(self, name, *rest):
        if name == module:
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Press())
sys.argv = ["spmopt", *line.split()]
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("module", "command", "said"),
    some(
        [
            ("cyclopts", f"solve {SMALL}", NOTHING),
            ("rich.console", "networks", "interrupted\n"),
            ("numpy", f"solve {SMALL}", NOTHING),
            ("spmopt.cli.app", f"compare {SMALL}", NOTHING),
            ("spmopt.graph.lower", f"solve {SMALL}", NOTHING),
        ],
        2,
    ),
)
def test_while_modules_load(module: str, command: str, said: str) -> None:
    line = [sys.executable, "-c", AT_IMPORT, module, command]
    ran = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", said)


def test_while_the_network_is_built(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def pressed(*_: object) -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except BaseException as error:
            raise ImportError("a library's own words for it") from error

    monkeypatch.setattr(spmopt.cli.schedule, "build", pressed)
    before = signal.getsignal(signal.SIGINT)
    assert main(["solve", "bert-tiny"]) == 130
    assert signal.getsignal(signal.SIGINT) == before
    assert tuple(capsys.readouterr()) == ("", NOTHING)


def test_a_second_one_tells_of_what_is_lost(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    def pressed(problem: Problem, request: Request) -> Result:
        del problem, request
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("it is left at once")

    install(monkeypatch, lru=pressed)
    for others, said in (("", NOTHING), ("belady,", LOST)):
        ran = run(f"compare {SMALL} --schedulers {others}lru")
        assert (ran.code, ran.out) == (130, "")
        assert ran.err.endswith(f"press Ctrl-C again to leave at once\n{said}")


def press(problem: Problem, request: Request) -> Result:
    signal.raise_signal(signal.SIGINT)
    return keeps_start(problem, request)


def test_compare_says_what_was_not_run(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    install(monkeypatch, whole=press, lp_bound=bounds_only)
    line = f"compare {SMALL} --schedulers belady,residency:granularity=tensor,residency,lp-bound"
    ran = run(line)
    assert ran.code == 130
    rows = {words[0]: words[1:] for words in map(str.split, ran.out.splitlines()[4:8])}
    assert rows["belady"][-1] == rows["residency:granularity=tensor"][-1] == "feasible"
    assert rows["residency"] == rows["lp-bound"] == [*"---", "not", "run"]
    record = run(f"{line} --json").record
    assert [result["scheduler"] for result in record["results"]] == [
        "belady",
        "residency:granularity=tensor",
    ]
    assert record["not_run"] == ["residency", "lp-bound"]


@pytest.mark.parametrize("ending", ["SIGTERM", "SIGHUP"])
def test_endings_keep_the_best_so_far(
    monkeypatch: pytest.MonkeyPatch, run: Run, tmp_path: Path, ending: str
) -> None:
    """As Ctrl-C; and one that comes twice at once, as from a shell and the terminal, is one."""
    number = getattr(signal, ending)
    before = signal.signal(number, signal.SIG_DFL)

    def pressed(problem: Problem, request: Request) -> Result:
        for _ in range(2):
            signal.raise_signal(number)
        assert request.stop()
        return keeps_start(problem, request)

    install(monkeypatch, whole=pressed, lp_bound=bounds_only)
    try:
        ran = run(f"solve {SMALL} -s whole -o {tmp_path / 'r.json'}")
        assert signal.getsignal(number) == signal.SIG_DFL
    finally:
        signal.signal(number, before)
    assert ran.code == 130
    assert "interrupted: the best so far follows" in ran.err
    assert run(f"verify {tmp_path / 'r.json'}").code == 0


def test_a_result_is_kept_where_it_cannot_be_printed(
    monkeypatch: pytest.MonkeyPatch, run: Run, tmp_path: Path
) -> None:
    def hung_up(found: Shown, as_json: bool) -> None:
        raise ValueError("whatever it is")

    with monkeypatch.context() as patch:
        patch.setattr("spmopt.cli.terminal.output.emit", hung_up)
        assert run(f"solve {SMALL} -s belady -o {tmp_path / 'r.json'}").code == 70
        assert run(f"compare {SMALL} -s belady -o {tmp_path / 'runs'}").code == 70
    for path in (tmp_path / "r.json", tmp_path / "runs" / "belady.json"):
        assert run(f"verify {path}").code == 0


def test_while_results_are_printed(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    install(monkeypatch, lp_bound=bounds_only)
    whole = run(f"solve {SMALL} -s belady").out

    def pressed(found: Shown, as_json: bool) -> None:
        signal.raise_signal(signal.SIGINT)
        emit(found, as_json)

    monkeypatch.setattr("spmopt.cli.terminal.output.emit", pressed)
    ran = run(f"solve {SMALL} -s belady")
    assert ran.code == 130
    assert len(ran.out.splitlines()) == len(whole.splitlines())


def test_a_thread_that_does_not_end_is_not_waited_for() -> None:
    code = (
        "import threading, time, sys; from spmopt.cli import main;"
        "threading.Thread(target=time.sleep, args=(60,)).start();"
        "sys.argv = ['spmopt', 'machines']; sys.exit(main())"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=30
    )
    assert ran.returncode == 0
    assert "rtx2080ti" in ran.stdout


def test_where_an_object_is_freed(capsys: pytest.CaptureFixture[str]) -> None:
    """Python lets nothing be raised there: it would print it, and go on."""

    class Freed:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def freed() -> None:
        found = Freed()
        del found
        for _ in range(1000):
            sleep(0.01)

    with leaving() as pressed:
        with pytest.raises(Interrupted):
            freed()
        assert pressed()
    assert tuple(capsys.readouterr()) == ("", "")
