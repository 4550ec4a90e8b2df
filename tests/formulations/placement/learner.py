"""A process of its own for what needs CP-SAT: OR-Tools and HiGHS cannot be loaded together.

Prints one line for each claim that is wrong.
"""

from __future__ import annotations

import sys

import numpy as np

from formulations.placement import sat
from formulations.placement.part import split
from formulations.placement.place import minimize
from formulations.placement.units import in_units
from spmopt.core.placement import Placement, require_placement
from tests.formulations.placement.brute_force import draw, least_height


def check_minimize(seed: int) -> None:
    """The least height, windows and all, is the one of brute force."""
    buffers = draw(seed, windows=True)
    expected = least_height(buffers, 24)
    found = minimize(buffers, 24, 20.0)
    height = None if found.placement is None else found.placement.height_bytes
    if height != expected or found.status.value != ("infeasible" if height is None else "optimal"):
        print(f"seed {seed}: {found}, not {expected}")


def check_model(seed: int, word: str) -> None:
    """The model has a solution under a capacity if and only if brute force has one."""
    buffers = draw(seed, windows=True)
    least = least_height(buffers, 24)
    units = in_units(buffers)
    parts = split(units)
    if least is None or len(parts) != 1 or units.ids.size != len(buffers):
        return
    for capacity in (least - 1, least):
        answer, offsets = sat.solve(
            parts[0],
            units.floor(capacity),
            word,
            conflicts=10_000,
            time_limit_s=20.0,
        )
        if (answer is sat.Answer.FOUND) != (capacity == least):
            print(f"seed {seed}: {answer} at {capacity}, least {least}")
        if offsets is not None:
            by_unit = offsets[np.argsort(parts[0].ids)]
            found = Placement.of(buffers, units.offsets_bytes(by_unit))
            require_placement(buffers, found, capacity)


if __name__ == "__main__":
    for number in range(int(sys.argv[1])):
        check_minimize(number)
        check_model(number, ("TWA", "WAT", "L")[number % 3])
    print("checked")
