"""One case after the other: what is done is kept, what is missing is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, TypeVar

from spmopt.core.errors import InputError
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


def shard(items: Sequence[T], text: str | None) -> tuple[Sequence[T], dict[str, Any]]:
    """Cut a list of cases by hand: ``2/5`` is the second fifth.

    Parameters
    ----------
    text
        ``I/N``, as ``--shard`` has it; None: the whole list.

    Returns
    -------
        The items, and what to add to the identity of their store.

    Raises
    ------
    InputError
        It is not of this form, or there are fewer cases than shards.
    """
    if text is None:
        return items, {}
    parts = text.split("/")
    number, count = (
        int(part) if part.isdecimal() and len(part) < 10 else 0 for part in (*parts, "", "")[:2]
    )
    if len(parts) != 2 or not 1 <= number <= count:
        raise InputError(f"--shard {text!r}: write I/N, as 2/5 for the second of five")
    if count > len(items):
        raise InputError(f"--shard {text!r}: there are {len(items)} cases only; use fewer shards")
    begin, end = (len(items) * place // count for place in (number - 1, number))
    return items[begin:end], {"shard": [number, count]}
