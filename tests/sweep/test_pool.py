"""Processes, and what a Ctrl-C does to them."""

from __future__ import annotations

import os
import signal

import pytest

from spmopt.sweep.pool import unbroken


def interrupted(done: list[str], error: Exception | None = None) -> None:
    with unbroken():
        os.kill(os.getpid(), signal.SIGINT)
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
