"""Many cases: shared work is computed once, on all processors."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from spmopt.experiments.queue import TaskQueue
from spmopt.tiles.case import DOUBLE_BUFFER, ChosenCase, LayerCase, choose, finalists
from spmopt.tiles.run import LayerResult, best, finish

_CHOICE, _RUN = range(2)
"""Urgency within one case."""
Found = tuple[int, LayerResult]
"""The number of a case, and its row."""
K = TypeVar("K", bound=Hashable)


def run_all(
    cases: Sequence[LayerCase], queue: TaskQueue, report: Callable[[str], None] = lambda _: None
) -> Iterator[list[Found]]:
    """Run every case as :func:`~spmopt.tiles.run.run` does, in processes.

    Cases share choices: a tile depends on layer, order and partition, not on the replacement.
    Equal layers are computed once, under any name. Rows come as they are finished, and do not
    depend on the number of processes.

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
    rows: dict[LayerCase, LayerResult] = {}

    def take(key: LayerCase, row: LayerResult) -> None:
        rows[key] = row
        report(f"{row.case.layer.name}, {row.ran.order}, {row.ran.replacement}")

    asked = set[LayerCase]()
    choosing: list[tuple[list[int], list[LayerCase]]] = []
    for numbers in alike.values():
        candidates = cases[numbers[0]].candidates()
        choosing.append((numbers, [_choice_key(each) for each in candidates]))
        for key, candidate in zip(choosing[-1][1], candidates, strict=True):
            if key not in asked:
                then = partial(chosen.__setitem__, key)
                # The first cases are chosen and run before others are chosen: rows come early.
                queue.add((numbers[0], _CHOICE), partial(choose, candidate), then)
                asked.add(key)
    running: list[tuple[list[int], list[LayerCase]]] = []
    begun = set[LayerCase]()
    for _ in queue.steps():
        for numbers, keys in _take_ready(choosing, chosen):
            case, needed = cases[numbers[0]], list[LayerCase]()
            for each in finalists(case, [chosen[key] for key in keys]):
                own = each.case
                ran = replace(case, order=own.order, partition=own.partition, tile=own.tile)
                needed.append(_nameless(ran))
                if needed[-1] not in begun:
                    task = partial(finish, case, replace(each, case=ran))
                    queue.add((numbers[0], _RUN), task, partial(take, needed[-1]))
                    begun.add(needed[-1])
            running.append((numbers, needed))
        yield [
            (number, _with_name(best(rows[key] for key in keys), cases[number]))
            for numbers, keys in _take_ready(running, rows)
            for number in numbers
        ]


def _take_ready(
    waiting: list[tuple[list[int], list[K]]], known: Mapping[K, object]
) -> list[tuple[list[int], list[K]]]:
    """Remove and return the entries whose keys are all known."""
    ready = [each for each in waiting if known.keys() >= set(each[1])]
    waiting[:] = [each for each in waiting if each not in ready]
    return ready


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
