from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from itertools import pairwise
from pathlib import Path
from threading import Timer
from time import monotonic, sleep

import pytest

from formulations.solver import apart
from formulations.solver.apart import DiedError, StoppedError
from spmopt.core.clock import cpu_s
from spmopt.core.errors import SpmoptError
from tests.checked import need
from tests.formulations.solver.served import OnlyThere

# Processes that load no solver start in a tenth of the time.
call = partial(apart.call, library="none")
stream = partial(apart.stream, library="none")
SERVED = "tests.formulations.solver.served"


def test_an_answer_comes_back_and_the_process_stays() -> None:
    assert call("math:comb", 40, 20) == 137846528820
    assert call("os:getpid") == call("os:getpid") != os.getpid()


def test_its_error_is_raised_here_and_the_process_stays() -> None:
    before = call("os:getpid")
    with pytest.raises(ValueError, match="not defined for negative"):
        call("math:factorial", -1)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        call("math:nothing")
    assert call("os:getpid") == before


def test_an_answer_that_cannot_be_sent_is_an_error() -> None:
    with pytest.raises(TypeError, match="cannot be sent"):
        call("threading:Lock")


def test_a_limit_ends_the_process() -> None:
    before = call("os:getpid")
    began = monotonic()
    with pytest.raises(StoppedError):
        call("time:sleep", 30, time_limit_s=0.2)
    assert monotonic() - began < 25
    assert call("os:getpid") != before
    with pytest.raises(ProcessLookupError):
        os.kill(before, 0)


def test_it_stops_when_told_to() -> None:
    began = monotonic()
    with pytest.raises(StoppedError):
        call("time:sleep", 30, stop=lambda: monotonic() > began + 0.2)
    assert monotonic() - began < 25


def test_items_come_as_they_are_made_until_the_limit() -> None:
    assert list(stream("itertools:repeat", "a", 3)) == ["a", "a", "a"]
    endless = list(stream("itertools:count", time_limit_s=0.3))
    assert endless[0] == 0
    assert all(after == before + 1 for before, after in pairwise(endless))


def test_a_stream_that_is_left_ends_the_process() -> None:
    before = call("os:getpid")
    for item in stream("itertools:count"):
        if item == 3:
            break
    assert call("os:getpid") != before


def test_a_stream_begins_before_its_first_value_is_asked_for(tmp_path: Path) -> None:
    """Else what shall run beside a search would wait for it."""
    folder = tmp_path / "made"
    values = stream("os:makedirs", str(folder))
    deadline = monotonic() + 60.0
    while not folder.exists():
        assert monotonic() < deadline
        sleep(0.01)
    values.close()


def test_ctrl_c_ends_it_too() -> None:
    before = call("os:getpid")
    Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        call("time:sleep", 30)
    with pytest.raises(ProcessLookupError):
        os.kill(before, 0)


def test_a_process_that_dies_is_one_clear_line() -> None:
    with pytest.raises(SpmoptError, match=r"ended by itself \(exit code 3\); was there enough"):
        call("os:_exit", 3)
    assert call("math:comb", 4, 2) == 6


def test_a_process_that_dies_is_replaced_until_one_answers(tmp_path: Path) -> None:
    said: list[str] = []
    flag = tmp_path / "flag"
    assert call(f"{SERVED}:dies", str(flag), 2, note=said.append) == "answer"
    assert said == [apart.REPLACED] * 2
    assert flag.read_text() == "xxx"


def test_a_call_that_kills_every_process_is_an_error(tmp_path: Path) -> None:
    said: list[str] = []
    with pytest.raises(DiedError, match="exit code -9"):
        call(f"{SERVED}:dies", str(tmp_path / "flag"), 99, note=said.append)
    assert said == [apart.REPLACED] * (apart.LIVES - 1)


def test_a_stream_whose_process_dies_begins_anew(tmp_path: Path) -> None:
    said: list[str] = []
    found = list(stream(f"{SERVED}:dies_after_two", str(tmp_path / "f"), note=said.append))
    assert found == [0, 1, 0, 1, 2, 3]
    assert said == [apart.REPLACED]


def test_one_that_dies_after_it_was_stopped_is_not_replaced(tmp_path: Path) -> None:
    stopped: list[bool] = []
    flag = str(tmp_path / "flag")

    def stop() -> bool:
        return bool(stopped)

    said: list[str] = []
    numbers = stream(f"{SERVED}:dies_after_two", flag, stop=stop, note=said.append)
    assert next(numbers) == 0
    stopped.append(True)
    assert list(numbers) in ([], [1])  # what had come by then
    assert said == []


def test_of_a_call_that_was_stopped_before_it_began_nothing_counts() -> None:
    """However soon the answer is there: a busy machine asks late."""
    numbers = stream(f"{SERVED}:counts", stop=lambda: True)
    sleep(0.5)
    assert list(numbers) == []


def test_what_has_come_when_it_is_stopped_is_still_yielded() -> None:
    stopped: list[bool] = []
    numbers = stream(f"{SERVED}:counts", stop=lambda: bool(stopped))
    assert next(numbers) == 0
    sleep(0.5)
    stopped.append(True)
    assert list(numbers) == [1, 2, 3]


def test_the_programs_of_a_process_end_with_it() -> None:
    """Whether it is killed, or only its parent is."""
    script = (
        "import subprocess, sys\n"
        "from formulations.solver import apart\n"
        "for number in apart.stream('tests.formulations.solver.served:naps'):\n"
        "    print(*number, flush=True)\n"
    )
    for target in (0, 1):
        line = [sys.executable, "-c", script]
        with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
            worker, program = map(int, need(process.stdout).readline().split())
            os.kill((process.pid, worker)[target], signal.SIGKILL)
            due = monotonic() + 20
            while is_alive(program) and monotonic() < due:
                sleep(0.02)
            assert not is_alive(program)
            process.kill()


def is_alive(process: int) -> bool:
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_a_request_that_cannot_be_loaded_there_is_an_error_at_once() -> None:
    before, began = call("os:getpid"), monotonic()
    with pytest.raises(LookupError, match="unknown in this process"):
        call("builtins:id", OnlyThere(os.getpid()), time_limit_s=20)
    assert monotonic() - began < 19
    assert call("os:getpid") == before


def test_an_answer_that_cannot_be_loaded_here_is_an_error_at_once() -> None:
    there, began = call("os:getpid"), monotonic()
    with pytest.raises(SpmoptError, match="cannot be read: unknown in this process"):
        call(f"{SERVED}:load_only_in", there, time_limit_s=20)
    assert monotonic() - began < 19


def test_what_it_prints_is_no_answer(capfd: pytest.CaptureFixture[str]) -> None:
    assert call("builtins:print", "a solver's log") is None
    assert capfd.readouterr().out == ""


def test_its_cpu_seconds_count_here() -> None:
    before = cpu_s()
    call("math:factorial", 200_000)
    own = cpu_s() - before
    assert own > 0.05
    with pytest.raises(StoppedError):
        call("math:factorial", 20_000_000, time_limit_s=0.4)
    # A process that was ended counts in full, and once.
    assert own + 0.1 < cpu_s() - before < own + 3


def test_a_process_whose_input_ends_ends_well() -> None:
    command = [sys.executable, "-P", "-c", apart._SERVE]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, check=False, timeout=60)
    assert done.returncode == 0
