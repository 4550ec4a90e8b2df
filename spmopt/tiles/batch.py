"""Many cases: shared work is computed once, on all processors."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Generic, TypeVar

from spmopt.experiments.queue import TaskQueue
from spmopt.tiles.case import DOUBLE_BUFFER, ChosenCase, LayerCase, choose, finalists
from spmopt.tiles.run import LayerResult, best, finish

_CHOICE, _RUN = range(2)
"""First part of one case."""
Found = tuple[int, LayerResult]
"""The number of a case, and its row."""
T = TypeVar("T")


def run_all(
    cases: Sequence[LayerCase], queue: TaskQueue, report: Callable[[str], None] = lambda _: None
) -> Iterator[list[Found]]:
    """Run every case as :func:`~spmopt.tiles.run.run` does, in processes.

    Cases choose first, and share choices: that of a tile depends on layer, order and partition, not
    on the replacement. Equal layers are computed once, whatever their names. Rows come as they are
    finished, and do not depend on how many processes there are.

    Parameters
    ----------
    queue
        Entered; who works.
    report
        Receives progress.

    Yields
    ------
    Cases finished since; empty when there is progress only.

    Raises
    ------
    InputError, ScheduleError
        As for one case.
    """
    found: list[Found] = []
    chosen = _Shared[ChosenCase](queue)
    rows = _Shared[LayerResult](
        queue,
        lambda row: report(f"{row.case.layer.name}, {row.ran.order}, {row.ran.replacement}"),
    )
    alike: dict[LayerCase, list[int]] = {}
    for number, case in enumerate(cases):
        alike.setdefault(_nameless(case), []).append(number)

    def run(numbers: list[int], choices: list[ChosenCase]) -> None:
        """Run the remaining candidates."""
        case, tasks = cases[numbers[0]], {}
        for each in finalists(case, choices):
            own = each.case
            ran = replace(case, order=own.order, partition=own.partition, tile=own.tile)
            key = (_nameless(ran), case.order if case.is_searched else "")
            tasks[key] = partial(finish, case, replace(each, case=ran))
        rows.gather((numbers[0], _RUN), tasks, partial(give, numbers))

    def give(numbers: list[int], several: list[LayerResult]) -> None:
        """Give equal cases the best row, each under its own name."""
        row = best(several)
        for number in numbers:
            case = cases[number]
            ran = replace(row.ran, layer=case.layer)
            found.append((number, replace(row, case=case, ran=ran)))

    for numbers in alike.values():
        tasks = {_choice_key(c): partial(choose, c) for c in cases[numbers[0]].candidates()}
        chosen.gather((numbers[0], _CHOICE), tasks, partial(run, numbers))
    for _ in queue.steps():
        yield found.copy()
        found.clear()


class _Shared(Generic[T]):
    """Results by key; of tasks with equal keys one is run, and its result reported."""

    def __init__(self, queue: TaskQueue, report: Callable[[T], None] = lambda _: None) -> None:
        self._queue, self._report = queue, report
        self._known: dict[Hashable, T] = {}
        self._waiting: dict[Hashable, list[Callable[[], None]]] = {}

    def gather(
        self,
        urgency: tuple[int, int],
        tasks: Mapping[Any, Callable[[], T]],
        then: Callable[[list[T]], None],
    ) -> None:
        """Have all tasks run that were not yet, and pass all results on, in their order."""

        def look() -> None:
            if all(key in self._known for key in tasks):
                then([self._known[key] for key in tasks])

        missing = [key for key in tasks if key not in self._known]
        for key in missing:
            if key not in self._waiting:
                self._queue.add(urgency, tasks[key], partial(self._answer, key))
            self._waiting.setdefault(key, []).append(look)
        if not missing:
            look()

    def _answer(self, key: Hashable, result: T) -> None:
        self._known[key] = result
        self._report(result)
        for look in self._waiting.pop(key):
            look()


def _nameless(case: LayerCase) -> LayerCase:
    return replace(case, layer=replace(case.layer, name="layer"))


def _choice_key(case: LayerCase) -> LayerCase:
    """Keep all that a choice depends on."""
    return replace(
        _nameless(case),
        replacement=f"{DOUBLE_BUFFER}:reuse={case.reuse}",
        tolerance=0.0,
        time_limit_s=0.0,
    )
