"""Unique names."""

from __future__ import annotations

from collections.abc import Sequence


class Names(set[str]):
    """Names that are taken, and how often the same was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: dict[str, int] = {}


def find_unused(name: str, taken: Names) -> str:
    """Return ``name``, or with a number where it is taken; marks the result taken.

    Numbers go on from the last one: of 10,000 nodes of one name each looked at those before it.
    """
    unique = name
    if name in taken:
        # Without the count n equal names would take n^2 / 2 look-ups.
        count = taken.asked.get(name, 1)
        while unique in taken:
            count += 1
            unique = f"{name}_{count}"
        taken.asked[name] = count
    taken.add(unique)
    return unique


def all_unused(names: Sequence[str]) -> list[str]:
    """Apply :func:`find_unused` to each of ``names``, one after the other."""
    if len(set(names)) == len(names):  # as nearly always, and then none gets a number
        return list(names)
    taken = Names()
    return [find_unused(name, taken) for name in names]
