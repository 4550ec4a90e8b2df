"""Calls in a process of their own, for models of OR-Tools or PuLP.

Since highspy 1.15 OR-Tools and HiGHS cannot be loaded into one process: each brings its own
libhighs.so.1, and the second one gets the other's
(https://github.com/google/or-tools/issues/5246). A process of its own can also be ended at any
time, and whatever programs it runs, where a solver heeds neither Ctrl-C nor its time limit. It
remains for the next call that needs the same libraries.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import Any

from formulations.solver.apart_worker import ReplyKind
from spmopt.core import clock
from spmopt.core.errors import SpmoptError

_SERVE = "from formulations.solver.apart_worker import main; main()"
_POLL_S = 0.05  # between two questions whether to stop
LIVES = 3
"""How often a call is begun whose process dies."""
REPLACED = "a solver's process died and was replaced; what it ran was run again"
DIED = "a solver's process died; what it had found before counts"

_Request = tuple[str, tuple[object, ...]]
"""A function and its arguments."""
_idle: list[_Process] = []
_taking = Lock()


class StoppedError(SpmoptError):
    """The call was told to stop, or ran out of time, before its answer."""


class DiedError(SpmoptError):
    """The process died each time that the call was begun, for want of memory for example."""


def _unheard(message: str) -> None:
    del message


def call(
    function: str,
    *arguments: object,
    time_limit_s: float = float("inf"),
    stop: Callable[[], bool] = bool,
    library: str = "ortools",
    note: Callable[[str], None] = _unheard,
) -> Any:
    """Return the result of ``function``: ``package.module:name``, not loaded here.

    Parameters
    ----------
    arguments
        Picklable, as is the answer.
    time_limit_s
        After which the process is ended; a solver's own limit is better where it has one.
    stop
        Asked some 20 times a second whether to end the process.
    library
        Libraries that ``function`` loads: those of another one never run in the same process.
    note
        Told of a process that died and was replaced.

    Raises
    ------
    StoppedError
        At the limit, or when told to.
    DiedError
        Three processes died, for want of memory for example.
    Exception
        Whatever the function raises.
    """
    for kind, value in _messages((function, arguments), time_limit_s, stop, library, note):
        if kind is ReplyKind.RETURNED:
            return value
    raise StoppedError(f"{function}: stopped before its answer")


def stream(
    function: str,
    *arguments: object,
    time_limit_s: float = float("inf"),
    stop: Callable[[], bool] = bool,
    library: str = "ortools",
    note: Callable[[str], None] = _unheard,
) -> Generator[Any]:
    """Return the values of the generator ``function``, as they come; just ends when stopped.

    It begins at once, not when its first value is asked for. Values so far are still yielded. Where
    its process dies, later values begin anew. Otherwise as :func:`call`.
    """
    values = _values(_messages((function, arguments), time_limit_s, stop, library, note))
    next(values)
    return values


def _values(messages: Iterator[tuple[ReplyKind, Any]]) -> Generator[Any]:
    """Yield nothing once the process has begun, then all values."""
    begun = False
    for kind, value in messages:
        if kind is ReplyKind.YIELDED or not begun:
            begun = True
            yield value


def _messages(
    request: _Request,
    time_limit_s: float,
    stop: Callable[[], bool],
    library: str,
    note: Callable[[str], None],
) -> Iterator[tuple[ReplyKind, Any]]:
    due = monotonic() + time_limit_s
    for left in reversed(range(LIVES)):
        try:
            yield from _answers(request, due, stop, library)
            return
        except DiedError:
            if stop() or monotonic() >= due:
                note(DIED)
                return
            if not left:
                raise
            note(REPLACED)


def _answers(
    request: _Request, due: float, stop: Callable[[], bool], library: str
) -> Iterator[tuple[ReplyKind, Any]]:
    process = _take(library)
    ended = False
    try:
        # At the end: replies that have come, and count; of a call that had no time, or was told to
        # stop before it began, none does.
        left: int | None = 0 if monotonic() >= due or stop() else None
        process.send(request)
        yield ReplyKind.BEGUN, None
        while not ended and left != 0:
            if left is None and (monotonic() >= due or stop()):
                left = process.replies.qsize()
                continue
            try:
                wait_s = 0.0 if left is not None else max(min(_POLL_S, due - monotonic()), 0.0)
                kind, value = process.replies.get(timeout=wait_s)
            except Empty:
                continue
            left = None if left is None else left - 1
            ended = kind is not ReplyKind.YIELDED
            if kind is ReplyKind.RAISED:
                if left is not None and isinstance(value, DiedError):
                    return  # nobody waits for it any more
                raise value
            yield kind, value
    finally:
        if ended:
            _idle.append(process)
        else:
            process.end()


def _take(library: str) -> _Process:
    """Return an idle process with ``library`` that this one has started, or a new one."""
    with _taking:  # by threads that call at the same time
        for process in [one for one in _idle if one.library == library]:
            _idle.remove(process)
            if process.owner == os.getpid() and process.alive():
                return process
    return _Process(library)


class _Process:
    """A process that serves calls which load ``library``, until its input ends."""

    def __init__(self, library: str) -> None:
        self.library = library
        self.owner = os.getpid()
        # Of its own session: Ctrl-C is for the caller, who ends it. Without this folder's modules.
        self._popen = subprocess.Popen(
            [sys.executable, "-P", "-c", _SERVE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self.replies: SimpleQueue[tuple[ReplyKind, Any]] = SimpleQueue()
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def alive(self) -> bool:
        return self._popen.poll() is None

    def send(self, request: object) -> None:
        assert self._popen.stdin is not None
        # Bytes of bytes: what cannot be loaded there is read to its end, and answered.
        data = pickle.dumps(pickle.dumps(request, pickle.HIGHEST_PROTOCOL))
        with suppress(BrokenPipeError):  # the reader says how the process ended
            self._popen.stdin.write(data)
            self._popen.stdin.flush()

    def end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._popen.pid, signal.SIGKILL)  # it leads a group: its programs end too
        self._popen.wait()
        self._reader.join(_POLL_S)  # it has counted the seconds then

    def _read(self) -> None:
        assert self._popen.stdout is not None
        unread = ""
        try:
            while True:
                reply = pickle.load(self._popen.stdout)
                clock.listen(self._popen.pid, reply[2])
                self.replies.put(reply[:2])
        except (EOFError, pickle.UnpicklingError):  # cut off
            pass
        except Exception as error:  # whatever it is, nobody else would end the caller's waiting
            unread = f"the solver's process sent what cannot be read: {error}"
            self._popen.kill()
        code = self._popen.wait()
        clock.end(self._popen.pid)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._popen.pid, signal.SIGKILL)  # its programs go on without it
        why = f"the solver's process ended by itself (exit code {code}); was there enough memory?"
        end = SpmoptError(unread) if unread else DiedError(why)
        self.replies.put((ReplyKind.RAISED, end))
