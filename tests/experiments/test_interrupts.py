"""What ends a program, and what waits for it."""

from __future__ import annotations

import os
import signal

import pytest

from spmopt.experiments.interrupts import endings_as_interrupt, unbroken


def interrupted(
    done: list[str], error: Exception | None = None, by: signal.Signals = signal.SIGINT
) -> None:
    with endings_as_interrupt(), unbroken():
        os.kill(os.getpid(), by)
        done.append("all of it")
        if error is not None:
            raise error


def test_an_interrupt_waits_for_the_end() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(done)
    assert done == ["all of it"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_goes_before_an_interrupt() -> None:
    with pytest.raises(ValueError, match="first"):
        interrupted([], ValueError("first"))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP])
def test_endings_act_as_ctrl_c(ending: signal.Signals) -> None:
    done: list[str] = []
    before = signal.signal(ending, signal.SIG_DFL)  # under nohup one of them is ignored
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted(done, by=ending)
        assert signal.getsignal(ending) is signal.SIG_DFL
    finally:
        signal.signal(ending, before)
    assert done == ["all of it"]


def test_nohup_is_kept() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with endings_as_interrupt():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
