"""Many cases: shared work is computed once, on all processors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from spmopt.experiments.queue import TaskQueue
from spmopt.tiles.case import DOUBLE_BUFFER, ChosenCase, LayerCase, choose, finalists
from spmopt.tiles.run import LayerResult, best, finish

Found = tuple[int, LayerResult]
"""The number of a case, and its row."""


def run_all(
    cases: Sequence[LayerCase], queue: TaskQueue, report: Callable[[str], None] = lambda _: None
) -> Iterator[list[Found]]:
    """Run every case as :func:`~spmopt.tiles.run.run` does, in processes.

    Choices come first, and cases share them: a tile depends on layer, order and partition, not on
    the replacement. Equal layers are computed once, under any name. Rows come as they are
    finished, and do not depend on the number of processes.

    Parameters
    ----------
    queue
        Entered queue, which runs the tasks.
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
    alike: dict[LayerCase, list[int]] = {}
    for number, case in enumerate(cases):
        alike.setdefault(_nameless(case), []).append(number)
    chosen: dict[LayerCase, ChosenCase] = {}
    asked: dict[LayerCase, LayerCase] = {}
    for numbers in alike.values():
        for candidate in cases[numbers[0]].candidates():
            asked.setdefault(_choice_key(candidate), candidate)
    for place, (key, candidate) in enumerate(asked.items()):
        queue.add((place,), partial(choose, candidate), partial(chosen.__setitem__, key))
    for _ in queue.steps():
        yield []
    rows: dict[LayerCase, LayerResult] = {}

    def take(key: LayerCase, row: LayerResult) -> None:
        rows[key] = row
        report(f"{row.case.layer.name}, {row.ran.order}, {row.ran.replacement}")

    waiting: list[tuple[list[int], list[LayerCase]]] = []
    begun = set[LayerCase]()
    for numbers in alike.values():
        case, keys = cases[numbers[0]], list[LayerCase]()
        choices = [chosen[_choice_key(each)] for each in case.candidates()]
        for each in finalists(case, choices):
            own = each.case
            ran = replace(case, order=own.order, partition=own.partition, tile=own.tile)
            keys.append(_nameless(ran))
            if keys[-1] not in begun:
                task = partial(finish, case, replace(each, case=ran))
                queue.add((numbers[0],), task, partial(take, keys[-1]))
                begun.add(keys[-1])
        waiting.append((numbers, keys))
    for _ in queue.steps():
        ready = [each for each in waiting if rows.keys() >= set(each[1])]
        waiting = [each for each in waiting if each not in ready]
        yield [
            (number, _with_name(best(rows[key] for key in keys), cases[number]))
            for numbers, keys in ready
            for number in numbers
        ]


def _with_name(row: LayerResult, case: LayerCase) -> LayerResult:
    """Return the row of an equal case under its own name."""
    return replace(row, case=case, ran=replace(row.ran, layer=case.layer))


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
