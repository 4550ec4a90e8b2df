"""Random small problems, fed by hypothesis (shrinks) or by a seed (fast loops)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from spmopt.core.problem import Problem
from spmopt.testing.instances import (
    RATES,
    WHOLE_RATES,
    ChooseInteger,
    Features,
    build_problem,
    pages,
    random_problem,
)

__all__ = [
    "RATES",
    "WHOLE_RATES",
    "ChooseInteger",
    "Features",
    "build_problem",
    "pages",
    "problems",
    "random_problem",
]


def problems(**features: Any) -> st.SearchStrategy[Problem]:
    """Problems with :class:`Features` changed by keyword, e.g. ``max_operations=3``."""
    wanted = replace(Features(), **features)

    @st.composite
    def build(draw: st.DrawFn) -> Problem:
        return build_problem(lambda low, high: draw(st.integers(low, high)), wanted)

    return build()
