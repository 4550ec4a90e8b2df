"""Random small instances, fed by hypothesis (shrinks) or by a seed (fast loops)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from spmopt.core.instance import Instance
from spmopt.testing.instances import (
    RATES,
    WHOLE_RATES,
    ChooseInteger,
    Features,
    build_instance,
    pages,
    random_instance,
)

__all__ = [
    "RATES",
    "WHOLE_RATES",
    "ChooseInteger",
    "Features",
    "build_instance",
    "instances",
    "pages",
    "random_instance",
]


def instances(**features: Any) -> st.SearchStrategy[Instance]:
    """Instances with :class:`Features` changed by keyword, e.g. ``max_operations=3``."""
    wanted = replace(Features(), **features)

    @st.composite
    def build(draw: st.DrawFn) -> Instance:
        return build_instance(lambda low, high: draw(st.integers(low, high)), wanted)

    return build()
