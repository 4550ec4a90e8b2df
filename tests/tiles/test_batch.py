"""Many cases: the rows of single ones, each computed once, whoever works."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from spmopt.core.errors import InputError
from spmopt.experiments.queue import TaskQueue
from spmopt.tiles import batch
from spmopt.tiles.batch import run_all
from spmopt.tiles.case import ChosenCase, LayerCase
from spmopt.tiles.layer import Layer, Tile
from spmopt.tiles.run import LayerResult, finish, run
from tests.thorough import nightly
from tests.tiles.asked import case, machine

LAYER = Layer(name="a", m=80, k=150, n=90)
OTHER = Layer(name="other", m=40, k=100, n=90)
SMALL = machine("64KiB")  # few tiles to choose from
CASES = [
    case(layer=layer, machine=SMALL, order=order, replacement=replacement, partition=partition)
    for layer in (LAYER, replace(LAYER, name="twin"), OTHER)
    for order in ("sequential", "algorithm-1", "best")
    for replacement in ("double-buffer", "belady", "double-buffer:reuse=none")
    for partition in ("none", "best")
]


def rows_of(cases: Sequence[LayerCase], jobs: int) -> dict[int, LayerResult]:
    with TaskQueue(jobs) as queue:
        return {number: row for some in run_all(cases, queue) for number, row in some}


def test_rows_are_those_of_single_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    finished: list[LayerCase] = []

    def counted(asked: LayerCase, chosen: ChosenCase) -> LayerResult:
        finished.append(chosen.case)
        return finish(asked, chosen)

    monkeypatch.setattr(batch, "finish", counted)
    found = rows_of(CASES, 1)
    assert sorted(found) == list(range(len(CASES)))
    for number, asked in enumerate(CASES):
        assert found[number].case == asked
        assert found[number].ran.layer == asked.layer
    for number, asked in list(enumerate(CASES))[::10]:
        alone = run(asked)
        assert (found[number].ran, found[number].cost) == (alone.ran, alone.cost)
    # The twin is not run again, nor what two orders come to.
    ran = {each.layer.name for each in finished}
    assert ran == {"a", "other"}
    assert len(finished) == len(set(finished)) < len(CASES) * 2 // 3


@nightly
def test_processes_change_nothing() -> None:
    some = CASES[::5]
    alone, together = rows_of(some, 1), rows_of(some, 2)
    assert sorted(together) == list(range(len(some)))
    for number, row in alone.items():
        assert replace(together[number], solve_s=0.0) == replace(row, solve_s=0.0)


def test_what_a_task_raises_is_raised() -> None:
    wrong = case(machine=SMALL, tile=Tile(m=160, k=300, n=90))
    with pytest.raises(InputError, match="layer a"):
        rows_of([wrong], 1)
