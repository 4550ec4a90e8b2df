"""Report of the verifier on a broken rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spmopt.core.table import Bools, Ints

MAX_PER_CHECK = 20
"""A check reports its first violations only; more would say nothing new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A rule broken at one place.

    Attributes
    ----------
    rule
        ``R0`` (format) to ``R12``, or ``replay``.
    step, tensor
        Where, if it can be told; -1 is the scratch.
    message
        The fault, with the numbers.
    """

    rule: str
    step: int | None
    tensor: int | None
    message: str

    def __str__(self) -> str:
        where = "" if self.step is None else f" step {self.step}"
        return f"{self.rule}{where}: {self.message}"


def find(
    rule: str, bad: Bools, step: Ints | None, tensor: Ints | None, message: Callable[[int], str]
) -> list[Violation]:
    """Return one violation for each of the first rows where ``bad``; ``message`` gets the row."""
    return [
        Violation(
            rule=rule,
            step=None if step is None else int(step[row]),
            tensor=None if tensor is None else int(tensor[row]),
            message=message(row),
        )
        for row in np.flatnonzero(bad)[:MAX_PER_CHECK].tolist()
    ]
