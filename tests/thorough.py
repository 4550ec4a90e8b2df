"""How many random cases tests try: a third, or with ``SPMOPT_TESTS=thorough`` all of them.

All of them are twenty CPU minutes; a third of the cases of the slowest tests leaves ten.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

THOROUGH = os.environ.get("SPMOPT_TESTS") == "thorough"
_PARTS = 1 if THOROUGH else 3

T = TypeVar("T")


def some(cases: Sequence[T]) -> Sequence[T]:
    """Return the first third of the cases, at least one, or all of them.

    Not every third: tests choose objectives and features by the remainder of a seed.
    """
    return cases[: -(-len(cases) // _PARTS)]


def share(count: int) -> int:
    """Return a third of a count, or all of it: of examples to draw, or of cases that must occur."""
    return -(-count // _PARTS)
