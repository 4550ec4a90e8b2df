"""Names that every solver and file format takes: letters, digits, underscores."""

from __future__ import annotations

import re
from collections.abc import Iterable

_ILLEGAL = re.compile(r"[^A-Za-z0-9_]")
_LONGEST = 60


def labels(names: Iterable[str]) -> list[str]:
    """Each name made legal and short; a number is added where two would be the same."""
    taken: set[str] = set()
    found = []
    for index, name in enumerate(names):
        label = _ILLEGAL.sub("_", name)[:_LONGEST]
        while label in taken:
            label = f"{label}_t{index}"
        taken.add(label)
        found.append(label)
    return found


def named(what: str, label: str, *steps: int) -> str:
    """Name of a column or row, as ``load_conv1_w_s7``: what, the tensor, the steps."""
    return "_".join((what, label, *(f"s{step}" for step in steps)))
