"""Inputs by seed and number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from tests.fuzz.case import Case, Random
from tests.fuzz.recipes import ALL, drawn
from tests.fuzz.workers import Maker


def cases(seed: int, numbers: Iterable[int], only: str = "") -> Iterator[tuple[int, Maker]]:
    """Yield makers of cases; with ``only`` all are of one recipe."""
    for number in numbers:
        yield number, partial(_only, only, seed, number) if only else partial(_drawn, seed, number)


def recipe_of(seed: int, number: int) -> str:
    """Return the name of the recipe of a case."""
    return drawn(seed, number)[0]


def _drawn(seed: int, number: int, folder: Path) -> Case:
    _, recipe, rng = drawn(seed, number)
    return recipe(folder, rng)


def _only(name: str, seed: int, number: int, folder: Path) -> Case:
    return ALL[name](folder, Random(f"{seed}/{name}/{number}"))
