"""One case after the other: what is done is kept, what is missing is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any, TypeVar

from spmopt.experiments.queue import TaskQueue
from spmopt.experiments.store import Key, Report, Store

T = TypeVar("T")


def run(
    cases: Mapping[Key, Any],
    work: Callable[[Any], Any],
    store: Store[Key, Any],
    queue: TaskQueue | None = None,
    *,
    report: Report = lambda message, part: None,
) -> None:
    """Compute all cases that ``store`` does not have; wait for those of other processes.

    However it ends, what was finished is in the store; of a finished run in the order of the cases.

    Parameters
    ----------
    cases
        What ``work`` is called with, by key: of a :class:`Table`, that of the row.
    work
        A function of a module; gives a row, or JSON values.
    queue
        Entered; who works. None: this process.

    Raises
    ------
    InputError
        The store cannot be written, or a case kills its process. What ``work`` raises, too.
    """

    def done(key: Key, value: Any) -> None:
        store.put(key, value)
        report(f"{len(store)} of {len(cases)} cases", len(store) / len(cases))

    with ExitStack() as stack:
        queue = queue or stack.enter_context(TaskQueue())
        try:
            for missing in store.rounds(list(cases), report):
                for place, key in enumerate(missing):
                    admit = partial(store.claim, [key])
                    queue.add((place,), partial(work, cases[key]), partial(done, key), admit)
                for _ in queue.steps():
                    pass
        finally:
            store.close(list(cases))
