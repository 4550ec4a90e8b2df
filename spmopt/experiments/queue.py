"""Tasks on an executor: urgent ones first, those that follow from answers as these come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import count
from types import TracebackType
from typing import Any, TypeVar

from spmopt.core.errors import InputError
from spmopt.experiments.executors import Processes, first_done
from spmopt.experiments.interrupts import defer_interrupts, endings_as_interrupt

T = TypeVar("T")
_LIVES = 3
"""How often a task is begun whose process dies."""


def _raise(message: str) -> None:
    raise InputError(
        f"a {message} at the same case, perhaps for want of memory; use fewer processes, or leave "
        "the case out"
    )


@dataclass(frozen=True, order=True)
class _Task:
    """One in the queue, by its urgency, then its number."""

    urgency: tuple[int, ...]
    number: int
    run: Callable[[], Any] = field(compare=False)
    then: Callable[[Any], None] = field(compare=False)
    fail: Callable[[str], None] = field(compare=False)
    lives: int = field(default=_LIVES, compare=False)


class TaskQueue:
    """A queue of tasks and its workers: ``jobs`` processes, or this one if it is one.

    Use as a context: SIGTERM and SIGHUP act as Ctrl-C in it, and tasks that still run are ended on
    the way out.

    Parameters
    ----------
    jobs
        Processes of this machine.
    beside
        Whether one job is a process too, beside this one.
    report
        Told of processes that died and were replaced.
    """

    def __init__(
        self,
        jobs: int = 1,
        *,
        beside: bool = False,
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._jobs, self._report, self._stack = jobs, report, ExitStack()
        self._executor = Processes(jobs, report) if jobs > 1 or beside else None
        self._number = count()
        self._queue: list[_Task] = []
        self._running: dict[Future[Any], _Task] = {}

    def __enter__(self) -> TaskQueue:
        self._stack.enter_context(endings_as_interrupt())
        if self._executor is not None:
            self._stack.enter_context(self._executor)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with defer_interrupts():
            for future in self._running:
                future.cancel()
            self._stack.__exit__(kind, error, trace)

    def add(
        self,
        urgency: tuple[int, ...],
        task: Callable[[], T],
        then: Callable[[T], None],
        fail: Callable[[str], None] = _raise,
    ) -> None:
        """Queue a task, those of least ``urgency`` first.

        Parameters
        ----------
        task
            Picklable; runs where the executor has it run.
        then
            Gets its answer, here.
        fail
            Gets a message where the task has killed its process each time; by default it raises
            :class:`InputError`.
        """
        # The number keeps equals in the order of queueing, which heapq alone does not.
        heappush(self._queue, _Task(urgency, next(self._number), task, then, fail))

    def steps(self) -> Iterator[None]:
        """Run all there is and all that is added meanwhile; come back after every answer.

        Errors of tasks go through; :class:`InputError` if one kills its process each time.
        """
        while self._queue or self._running:
            if self._executor is None:
                task = heappop(self._queue)
                task.then(task.run())
                yield
                continue
            self._submit(self._executor)
            for future in first_done(self._running):
                task = self._running.pop(future)
                try:
                    value = future.result()
                except BrokenExecutor:
                    self._again(task)
                    yield
                    continue
                task.then(value)
                yield

    def _submit(self, executor: Executor) -> None:
        """Submit one task more than there are processes, so that none waits for this one.

        After a process has died, one at a time until it is known which task killed it.
        """
        # A pool breaks as a whole, so that every running task is a suspect.
        suspects = [task for task in (*self._queue, *self._running.values()) if task.lives < _LIVES]
        while self._queue and len(self._running) <= (0 if suspects else self._jobs):
            task = heappop(self._queue)
            self._running[executor.submit(task.run)] = task

    def _again(self, lost: _Task) -> None:
        """Queue a task again whose process died."""
        if lost.lives == 1:
            lost.fail(f"process died {_LIVES} times")
        else:
            heappush(self._queue, replace(lost, lives=lost.lives - 1))
