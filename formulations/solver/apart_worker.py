"""The process that :mod:`formulations.solver.apart` starts: calls in, answers out, both pickled."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from queue import SimpleQueue
from threading import Thread
from typing import Any, BinaryIO

from spmopt.core import clock


class ReplyKind(Enum):
    """What an answer is."""

    YIELDED = "yielded"
    RETURNED = "returned"
    RAISED = "raised"


def main() -> None:
    """Serve calls until the input ends, which also ends a call under way."""
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
