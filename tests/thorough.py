"""How many random cases tests try: a quarter, or with ``SPMOPT_TESTS=thorough`` all of them.

All of them are twenty CPU minutes; a quarter of the cases of the slowest tests leaves eight.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

THOROUGH = os.environ.get("SPMOPT_TESTS") == "thorough"
_PARTS = 1 if THOROUGH else 4

T = TypeVar("T")


def some(cases: Sequence[T]) -> Sequence[T]:
    """Return the first quarter of the cases, at least one, or all of them.

    Not every fourth: tests choose objectives and features by the remainder of a seed.
    """
    return cases[: -(-len(cases) // _PARTS)]


def share(count: int) -> int:
    """Return a quarter of a count, or all of it: of examples to draw, of cases that must occur."""
    return -(-count // _PARTS)
