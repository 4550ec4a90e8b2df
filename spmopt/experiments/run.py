"""One case after the other: finished cases are kept, missing ones are run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any, TypeVar

from spmopt.experiments.queue import TaskQueue
from spmopt.experiments.rows import Row, Texts
from spmopt.experiments.store import Report, RowTable

T = TypeVar("T")


def run(
    cases: Mapping[Texts, Any],
    work: Callable[[Any], Row],
    store: RowTable,
    queue: TaskQueue | None = None,
    *,
    report: Report = lambda message, part: None,
) -> None:
    """Compute all cases that ``store`` does not have.

    However it ends, finished rows are in the store; those of a finished run in the order of the
    cases.

    Parameters
    ----------
    cases
        Arguments of ``work``, by the key of the row.
    work
        A function of a module that returns a row.
    queue
        Workers, entered as a context. None: this process.

    Raises
    ------
    InputError
        The store cannot be written, or a case kills its process. Errors of ``work`` pass through.
    """

    def keep(row: Row) -> None:
        store.add([row])
        report(f"{len(store)} of {len(cases)} cases", len(store) / len(cases))

    with ExitStack() as stack:
        queue = queue or stack.enter_context(TaskQueue())
        try:
            for place, (key, case) in enumerate(cases.items()):
                if key not in store:
                    queue.add((place,), partial(work, case), keep)
            for _ in queue.steps():
                pass
        finally:
            store.close(list(cases))
