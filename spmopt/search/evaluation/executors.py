"""Who evaluates trials: this process, processes of this machine, or a Dask cluster."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from spmopt.sweep.cluster import cluster
from spmopt.sweep.pool import begin_worker, undisturbed

P = ParamSpec("P")
T = TypeVar("T")


class Inline(Executor):
    """Evaluates at once, here."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run ``fn``; the future has its result or error."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class Processes(Executor):
    """Processes of this machine; those that die are replaced, what they ran is to be run again."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._pool = self._started()

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run ``fn`` in one of them; a pool that has lost one is started again."""
        try:
            return self._pool.submit(fn, *args, **kwargs)
        except BrokenProcessPool:
            self._pool.shutdown(wait=False)
            self._pool = self._started()
            return self._pool.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End them, at once if nobody waits."""
        if not wait:
            for worker in multiprocessing.active_children():
                worker.terminate()
        self._pool.shutdown(wait=True, cancel_futures=cancel_futures)

    def _started(self) -> ProcessPoolExecutor:
        # A fork would copy the locks of solvers' threads and of the progress display.
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self._workers, context, initializer=begin_worker)


@contextmanager
def executor(workers: int, address: str | None) -> Iterator[tuple[Executor, int]]:
    """An executor, and how many trials it works on at a time.

    Parameters
    ----------
    workers
        Processes of this machine; with none, trials run in this one.
    address
        Of the scheduler of a Dask cluster, in place of processes.

    Raises
    ------
    InputError
        No cluster answers there, or Dask is not installed.
    """
    if address is not None:
        with cluster(address) as found_there:
            yield found_there
        return
    found: Executor = Processes(workers) if workers else Inline()
    try:
        yield found, workers or 1
    except BaseException:
        with undisturbed():
            found.shutdown(wait=False, cancel_futures=True)
        raise
    found.shutdown()
