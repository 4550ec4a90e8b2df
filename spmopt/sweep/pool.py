"""Tasks in processes: the urgent ones first, those that follow from their answers as they come."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from heapq import heappop, heappush
from itertools import count
from threading import Thread, current_thread, main_thread
from types import FrameType, TracebackType
from typing import Any, TypeVar

from spmopt.sweep.cluster import cluster

T = TypeVar("T")
Task = Callable[[], Any]
Then = Callable[[Any], None]


def processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Pool:
    """A queue of tasks and who works on it: ``jobs`` processes, or this one if it is one.

    With the ``address`` of a Dask scheduler its cluster works on it. Use as a context: on the way
    out, whatever still runs is ended.
    """

    def __init__(self, jobs: int, address: str | None = None) -> None:
        self._jobs, self._address = jobs, address
        self._stack = ExitStack()
        self._number = count()
        self._queue: list[tuple[tuple[int, ...], int, Task, Then]] = []
        self._running: dict[Future[Any], Then] = {}
        self._executor: Executor | None = None

    def __enter__(self) -> Pool:
        if self._address is not None:
            self._executor, self._jobs = self._stack.enter_context(cluster(self._address))
        elif self._jobs > 1:
            # A fork would copy the threads' locks of solvers and of the progress display.
            context = multiprocessing.get_context("spawn")
            self._executor = ProcessPoolExecutor(self._jobs, context, initializer=begin_worker)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._executor is None:
            return
        with undisturbed(), self._stack:
            if self._address is not None:
                for future in self._running:
                    future.cancel()
                return
            if self._running:
                for worker in multiprocessing.active_children():
                    worker.terminate()
            self._executor.shutdown(wait=True, cancel_futures=True)

    def add(
        self, urgency: tuple[int, ...], task: Callable[[], T], then: Callable[[T], None]
    ) -> None:
        """Queue ``task``, those of least ``urgency`` first; ``then`` gets its answer, here."""
        heappush(self._queue, (urgency, next(self._number), task, then))

    def steps(self) -> Iterator[None]:
        """Run all there is and all that is added meanwhile; come back after every answer.

        Raises what a task raises.
        """
        while self._queue or self._running:
            if self._executor is None:
                _, _, task, then = heappop(self._queue)
                then(task())
                yield
                continue
            # One more than there are processes, so that none waits for this one.
            while self._queue and len(self._running) <= self._jobs:
                _, _, task, then = heappop(self._queue)
                self._running[self._executor.submit(task)] = then
            done, _ = wait(self._running, return_when=FIRST_COMPLETED)
            for future in done:
                then = self._running.pop(future)
                then(future.result())
                yield


@contextmanager
def undisturbed() -> Iterator[None]:
    """Take no second Ctrl-C while processes end, which is soon: it would leave some of them."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def unbroken() -> Iterator[None]:
    """Let a Ctrl-C wait for the end of what must not be left half done."""
    if current_thread() is not main_thread():
        yield
        return
    waiting: list[tuple[int, FrameType | None]] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: waiting.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if waiting and callable(before):
        before(*waiting[0])


def begin_worker() -> None:
    """Leave Ctrl-C to the parent, and end when it does, however that happens."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def follow() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    Thread(target=follow, daemon=True).start()
