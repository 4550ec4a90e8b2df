"""The process that :mod:`formulations.solver.apart` starts: calls in, answers out, both pickled."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from importlib import import_module
from queue import SimpleQueue
from threading import Thread
from typing import Any, BinaryIO

from spmopt.core import clock

_END = signal.SIGUSR1 if hasattr(signal, "SIGUSR1") else signal.SIGTERM
"""Ends programs, and not this process."""


class ReplyKind(Enum):
    """Kinds of answers."""

    BEGUN = "begun"
    YIELDED = "yielded"
    RETURNED = "returned"
    RAISED = "raised"


at_end: list[Callable[[], object]] = []
"""Cleanup where the input ends during a call."""


def main() -> None:
    """Serve calls until the input ends, which also ends a call under way, and its programs."""
    signal.signal(_END, lambda number, frame: None)  # which programs do not inherit
    # What solvers print goes to standard error.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_receive, args=(requests,), daemon=True).start()
    while True:
        for reply in _serve(requests.get()):
            _send(replies, reply)


def _receive(requests: SimpleQueue[bytes]) -> None:
    try:
        while True:
            requests.put(pickle.load(sys.stdin.buffer))
    except EOFError:
        if os.getpgrp() == os.getpid():
            os.killpg(0, _END)
        for end in at_end:
            end()
        os._exit(0)


def _serve(request: bytes) -> Iterator[tuple[ReplyKind, Any]]:
    try:
        function, arguments = pickle.loads(request)  # where it cannot be, that is the answer
        module, name = function.split(":")
        answer = getattr(import_module(module), name)(*arguments)
        if isinstance(answer, Iterator):
            for item in answer:
                yield ReplyKind.YIELDED, item
            answer = None
        yield ReplyKind.RETURNED, answer
    except Exception as error:  # whatever it is, it is the caller's
        yield ReplyKind.RAISED, error


def _send(replies: BinaryIO, reply: tuple[ReplyKind, Any]) -> None:
    try:
        data = pickle.dumps((*reply, clock.cpu_s()), pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        data = pickle.dumps(
            (ReplyKind.RAISED, TypeError(f"cannot be sent: {error}"), clock.cpu_s())
        )
    replies.write(data)
    replies.flush()
