"""Processes of this machine that work on cases."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Collection
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from threading import Thread
from time import sleep
from types import TracebackType
from typing import Any

from spmopt.experiments.interrupts import defer_interrupts, unbroken

_FOLLOW_S = 0.2
_HEED_S = 0.1
REPLACED = "a process died and was replaced; what it ran is run again"
Note = Callable[[str], None]


def _unheard(message: str) -> None:
    del message


def processors() -> int:
    """Count the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        # Containers and batch systems give a process fewer processors than the machine has.
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Processes(Executor):
    """Processes of this machine; dead ones are replaced, and their tasks are to be run again.

    ``note`` is told of it, once for all that were lost with one.
    """

    def __init__(self, workers: int, note: Note = _unheard) -> None:
        self._workers, self._note = workers, note
        self._pool = self._start()

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run ``fn`` in one of them; a pool that has lost one is started again."""
        with unbroken():
            try:
                return self._pool.submit(fn, *args, **kwargs)
            except BrokenProcessPool:
                self._note(REPLACED)
                self._pool.shutdown(wait=False)
                self._pool = self._start()
                return self._pool.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End them, at once unless ``wait``."""
        if not wait:
            for worker in multiprocessing.active_children():
                worker.terminate()
        # Terminated workers end soon; waiting keeps the pool's own thread from outliving it.
        self._pool.shutdown(wait=True, cancel_futures=cancel_futures)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End them: at once where an error, an interrupt too, ends all that they still run."""
        with defer_interrupts():
            self.shutdown(wait=kind is None, cancel_futures=kind is not None)

    def _start(self) -> ProcessPoolExecutor:
        # A fork would copy the locks of solvers' threads and of the progress display.
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self._workers, context, initializer=_begin_worker)


def first_done(running: Collection[Future[Any]]) -> set[Future[Any]]:
    """Wait until some are done; return these, none of none. Heeds Ctrl-C in a tenth of a second.

    One that is raised where a lock was just taken leaves it held for good (``Condition.__enter__``
    returns to nobody), and the thread that ends the processes would wait for it for good.
    """
    done: set[Future[Any]] = set()
    while running and not done:
        with unbroken():
            done = wait(running, _HEED_S, FIRST_COMPLETED).done
    return done


def _begin_worker() -> None:
    """Leave Ctrl-C and the terminal's end to the parent, and end when it does, however."""
    # A terminal sends Ctrl-C to all processes of the group; only the parent may decide.
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        _end_after(parent.join)


def end_with(parent: int) -> None:
    """End this process when its parent does, however."""

    def wait() -> None:
        # Polling is portable: an orphan gets another parent.
        while os.getppid() == parent:
            sleep(_FOLLOW_S)

    _end_after(wait)


def _end_after(wait: Callable[[], object]) -> None:
    def follow() -> None:
        wait()
        # Not sys.exit: this thread is not the main one, and a solver may run in that.
        os._exit(1)

    Thread(target=follow, daemon=True).start()
