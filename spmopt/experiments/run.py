"""One case after the other: what is done is kept, what is missing is run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from spmopt.core.errors import InputError
from spmopt.experiments.queue import TaskQueue
from spmopt.experiments.rows import Row
from spmopt.experiments.store import Store

T = TypeVar("T")
Report = Callable[[str, float | None], None]
"""Gets a message, and which part of the work is done."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """What one call computes.

    Attributes
    ----------
    about
        The identifying columns of its rows, one or several.
    payload
        Argument of the work, picklable.
    """

    about: tuple[Row, ...]
    payload: Any

    @staticmethod
    def one(about: Row, payload: Any) -> Case:
        """Make a case of one row."""
        return Case(about=(about,), payload=payload)


def run(
    cases: Iterable[Case],
    work: Callable[[Any], Row | Sequence[Row]],
    store: Store,
    queue: TaskQueue | None = None,
    *,
    report: Report = lambda message, part: None,
) -> list[Row]:
    """Compute the rows of all cases that ``store`` does not have, and those no other process is at.

    However it ends, what was finished is in the store; of a finished run in the order of the cases.

    Parameters
    ----------
    work
        A function of a module: gives what was found of each row of a case, in their order.
    queue
        Entered; who works. None: this process.

    Returns
    -------
        All rows of the store.

    Raises
    ------
    InputError
        The store cannot be written, or a case kills its process. What ``work`` raises, too.
    """
    asked = list(cases)
    keys = [[store.columns.key_about(about) for about in case.about] for case in asked]
    total = sum(map(len, keys))

    def done(case: Case, found: Row | Sequence[Row]) -> None:
        rows = [found] if isinstance(found, Mapping) else found
        store.add({**about, **row} for about, row in zip(case.about, rows, strict=True))
        report(f"{len(store)} of {total} rows", len(store) / total)

    def all_of(queue: TaskQueue) -> None:
        for place, (case, own) in enumerate(zip(asked, keys, strict=True)):
            if any(key not in store for key in own):
                admit = partial(store.claim, own)
                queue.add((place,), partial(work, case.payload), partial(done, case), admit)
        for _ in queue.steps():
            pass

    order = [key for own in keys for key in own]
    try:
        if queue is None:
            with TaskQueue() as own_queue:
                all_of(own_queue)
        else:
            all_of(queue)
    finally:
        store.close(order if all(key in store for key in order) else None)
    return store.rows


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
    number, count = (int(part) if part.isdigit() else 0 for part in (*parts, "", "")[:2])
    if len(parts) != 2 or not 1 <= number <= count:
        raise InputError(f"--shard {text!r}: write I/N, as 2/5 for the second of five")
    if count > len(items):
        raise InputError(f"--shard {text!r}: there are {len(items)} cases only; use fewer shards")
    begin, end = (len(items) * place // count for place in (number - 1, number))
    return items[begin:end], {"shard": [number, count]}
