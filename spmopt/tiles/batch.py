"""Many cases: what they share is computed once, on all processors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from spmopt.experiments.queue import TaskQueue
from spmopt.tiles.case import DOUBLE_BUFFER, ChosenCase, LayerCase, choose, finalists
from spmopt.tiles.run import LayerResult, best, finish

_CHOICE, _RUN = range(2)
"""What goes first, of one case."""
_Key = tuple[LayerCase, str]
Found = tuple[int, LayerResult]
"""The number of a case, and its row."""


def run_all(
    cases: Sequence[LayerCase], queue: TaskQueue, tell: Callable[[str], None] = lambda _: None
) -> Iterator[list[Found]]:
    """Run every case as :func:`~spmopt.tiles.run.run` does, in processes.

    Cases choose first, and share choices: that of a tile depends on layer, order and partition, not
    on the replacement. Equal layers are computed once, whatever their names. Rows come as they are
    finished, and do not depend on how many processes there are.

    Parameters
    ----------
    queue
        Entered; who works.
    tell
        Told of progress.

    Yields
    ------
    What was finished since; empty when there is progress only.

    Raises
    ------
    InputError, ScheduleError
        As for one case.
    """
    batch = _Batch(cases, queue, tell)
    for _ in queue.steps():
        yield batch.take()


@dataclass(kw_only=True)
class _Asked:
    """Equal cases but for names: their candidates, then their runs, and how many are not known."""

    case: LayerCase
    numbers: list[int]
    keys: list[LayerCase]
    missing: int
    runs: list[_Key] = field(default_factory=list)


class _Batch:
    """Choices and runs under way; keys are cases without what does not matter."""

    def __init__(
        self, cases: Sequence[LayerCase], queue: TaskQueue, tell: Callable[[str], None]
    ) -> None:
        self._cases, self._queue, self._tell = cases, queue, tell
        self._chosen: dict[LayerCase, ChosenCase] = {}
        self._waiting: dict[LayerCase, list[_Asked]] = {}
        self._running: dict[_Key, list[_Asked]] = {}
        self._rows: dict[_Key, LayerResult] = {}
        self._found: list[Found] = []
        alike: dict[LayerCase, list[int]] = {}
        for number, case in enumerate(cases):
            alike.setdefault(_nameless(case), []).append(number)
        for numbers in alike.values():
            self._ask(cases[numbers[0]], numbers)

    def take(self) -> list[Found]:
        """What was found since the last call."""
        found, self._found = self._found, []
        return found

    def _ask(self, case: LayerCase, numbers: list[int]) -> None:
        """Have all candidates evaluated, each once."""
        candidates = {_choice_key(each): each for each in case.candidates()}
        asked = _Asked(case=case, numbers=numbers, keys=list(candidates), missing=len(candidates))
        for key, candidate in candidates.items():
            if key not in self._waiting:
                self._waiting[key] = []
                task = partial(choose, candidate)
                self._queue.add((numbers[0], _CHOICE), task, partial(self._choice, key))
            self._waiting[key].append(asked)

    def _choice(self, key: LayerCase, chosen: ChosenCase) -> None:
        self._chosen[key] = chosen
        for asked in self._waiting[key]:
            asked.missing -= 1
            if not asked.missing:
                self._run(asked)

    def _run(self, asked: _Asked) -> None:
        """Run what is left of the candidates, but for what is run already."""
        case = asked.case
        chosen = finalists(case, [self._chosen[key] for key in asked.keys])
        asked.runs = [self._add(asked, each) for each in chosen]
        asked.missing = sum(key not in self._rows for key in asked.runs)
        if not asked.missing:
            self._give(asked)

    def _add(self, asked: _Asked, chosen: ChosenCase) -> _Key:
        case = asked.case
        ran = replace(
            case,
            order=chosen.case.order,
            partition=chosen.case.partition,
            tile=chosen.case.tile,
        )
        key = (_nameless(ran), case.order if case.is_searched else "")
        if key not in self._rows:
            if key not in self._running:
                self._running[key] = []
                task = partial(finish, case, replace(chosen, case=ran))
                self._queue.add((asked.numbers[0], _RUN), task, partial(self._row, key))
            self._running[key].append(asked)
        return key

    def _row(self, key: _Key, row: LayerResult) -> None:
        self._rows[key] = row
        self._tell(f"{row.case.layer.name}, {row.ran.order}, {row.ran.replacement}")
        for asked in self._running.pop(key):
            asked.missing -= 1
            if not asked.missing:
                self._give(asked)

    def _give(self, asked: _Asked) -> None:
        """Give each case the best row, under its own name."""
        row = best(self._rows[key] for key in asked.runs)
        for number in asked.numbers:
            case = self._cases[number]
            ran = replace(row.ran, layer=case.layer)
            self._found.append((number, replace(row, case=case, ran=ran)))


def _nameless(case: LayerCase) -> LayerCase:
    return replace(case, layer=replace(case.layer, name="layer"))


def _choice_key(case: LayerCase) -> LayerCase:
    """All that a choice depends on."""
    return replace(
        _nameless(case),
        replacement=f"{DOUBLE_BUFFER}:reuse={case.reuse}",
        tolerance=0.0,
        time_limit_s=0.0,
    )
