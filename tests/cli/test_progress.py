from io import StringIO
from time import monotonic, sleep

import pytest
from rich.console import Console

from spmopt.cli.terminal import progress as module
from spmopt.cli.terminal.live import Live
from spmopt.cli.terminal.progress import progress
from tests.reporting.terminal import Terminal

XTERM = {"TERM": "xterm"}


def terminal(width: int = 80, height: int = 24) -> Console:
    return Console(file=Terminal(), width=width, height=height, _environ=XTERM)


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


@pytest.mark.parametrize(
    ("file", "environ"),
    [
        (StringIO(), {"TERM": "xterm", "FORCE_COLOR": "1"}),
        (StringIO(), {"TERM": "xterm", "TTY_COMPATIBLE": "1"}),
        (Terminal(), {"TERM": "dumb"}),
    ],
)
def test_colors_for_a_pipe_are_no_animation(
    monkeypatch: pytest.MonkeyPatch, file: StringIO, environ: dict[str, str]
) -> None:
    monkeypatch.setattr(module, "DELAY_S", 0.0)
    with progress(Console(file=file, _environ=environ)) as report:
        report("at work", 0.5)
        sleep(0.05)
    assert file.getvalue() == ""


class Rows(Live):
    def rows(self) -> list[tuple[str, ...]]:
        return [(f"s{number}", "78.94 ms", "1.00") for number in range(10)]

    def notes(self) -> list[str]:
        return ["what it means to those who read it"]


@pytest.mark.parametrize(
    ("width", "height", "seen", "unseen"),
    [
        (80, 24, ("s0", "s9", "seconds", "what it means"), ()),
        (80, 9, ("s9", "s6", "seconds"), ("s5 ",)),
        (80, 5, ("s9",), ("s8 ",)),
        (25, 24, ("s0", "78.94 ms"), ("seconds",)),
        (20, 24, ("what it means", "  those who read it"), ("seconds",)),
    ],
)
def test_rows_that_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch,
    width: int,
    height: int,
    seen: tuple[str, ...],
    unseen: tuple[str, ...],
) -> None:
    monkeypatch.setattr(module, "DELAY_S", 0.0)
    console = terminal(width, height)
    columns = ("scheduler", "incumbent", "seconds")
    rows = Rows(columns=columns, dispensable=("seconds",))
    with progress(console, rows) as report:
        report("at work", None)
        limit = monotonic() + 10
        while "s9" not in shown(console) and monotonic() < limit:
            sleep(0.02)
    text = shown(console)
    for word in seen:
        assert word in text
    for word in unseen:
        assert word not in text


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
