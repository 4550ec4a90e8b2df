from io import StringIO
from time import monotonic, sleep

import pytest
from rich.console import Console

from spmopt.cli import progress as module
from spmopt.cli.progress import progress


def terminal() -> Console:
    return Console(file=StringIO(), force_terminal=True, width=80)


def shown(console: Console) -> str:
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_quick_work_shows_nothing() -> None:
    console = terminal()
    with progress(console) as report:
        report("at work", 0.5)
    assert "at work" not in shown(console)


def test_slow_work_says_what_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DELAY_S", 0.0)
    console = terminal()
    with progress(console) as report:
        report("at work [1/2]", 0.5)
        limit = monotonic() + 10
        while "at work [1/2]" not in shown(console) and monotonic() < limit:
            sleep(0.02)
        report("nearly done", None)
    assert "at work [1/2]" in shown(console)


def test_no_terminal_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DELAY_S", 0.0)
    console = Console(file=StringIO())
    with progress(console) as report:
        report("at work", 0.5)
        sleep(0.05)
    assert shown(console) == ""


def test_errors_pass_through_and_end_the_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DELAY_S", 0.0)
    console = terminal()

    def work() -> None:
        with progress(console):
            sleep(0.05)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    before = shown(console)
    sleep(0.4)
    assert shown(console) == before
