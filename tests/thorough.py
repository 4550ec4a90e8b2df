"""How many random cases tests try: a part of them, or with ``SPMOPT_TESTS=nightly`` all of them.

All of them take most of an hour of CPU (``.ci/nightly``); a part notices as many kinds of faults.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

import pytest

THOROUGH = os.environ.get("SPMOPT_TESTS") == "nightly"
_PARTS = 10

T = TypeVar("T")


def some(cases: Sequence[T], parts: int = _PARTS) -> Sequence[T]:
    """Return the first of so many parts of the cases, at least one, or all of them.

    Not every fourth: tests choose objectives and features by the remainder of a seed.
    """
    return cases[: share(len(cases), parts)]


def share(count: int, parts: int = _PARTS) -> int:
    """Return a part of a count, or all of it: of examples to draw, of cases that must occur."""
    return count if THOROUGH else -(-count // parts)


nightly = pytest.mark.skipif(not THOROUGH, reason="takes seconds; .ci/nightly runs it")
"""Marks tests of single large cases."""
