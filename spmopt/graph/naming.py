"""Unique names."""

from __future__ import annotations


def unused(name: str, taken: set[str]) -> str:
    """Return ``name``, or with a number where it is taken; marks the result taken."""
    unique, count = name, 1
    while unique in taken:
        count += 1
        unique = f"{name}_{count}"
    taken.add(unique)
    return unique
