"""The knapsacks of steps: tensors that fit together, and rows that cut fractions of them off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from formulations.solver.highs import solve
from formulations.solver.program import Floats, ProgramBuilder
from spmopt.core.table import Bools, Ints

_MOST_SUMS = 5_000
_MOST_SETS = 100
_TINY = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class Knapsack:
    """Items of ``pages`` (k,) for ``room`` pages, and how much of each (k,) a solution takes."""

    pages: Ints
    room: int
    point: Floats


def dearest_set(value: Floats, pages: Ints, room: int) -> tuple[float, Bools]:
    """Return the largest value of a set of items in ``room`` pages, and one such set (k,).

    With too many sums of pages it is the largest of some good sets only.
    """
    best: list[tuple[int, float, int]] = [(0, 0.0, 0)]  # pages, value, set as bits
    for item in np.flatnonzero(value > 0).tolist():
        size, gain, bit = int(pages[item]), float(value[item]), 1 << item
        # Dynamic program over sums of pages; sets as bits.
        more = [(p + size, v + gain, s | bit) for p, v, s in best if p + size <= room]
        merged = sorted(best + more, key=lambda each: (each[0], -each[1]))
        best = []
        for each in merged:
            # Pareto front: more pages only for more value.
            if not best or each[1] > best[-1][1]:
                best.append(each)
        if len(best) > _MOST_SUMS:
            best = best[:: len(best) // _MOST_SUMS + 1] + best[-1:]
    bits = best[-1][2]
    return best[-1][1], np.array([bits >> item & 1 for item in range(value.size)], bool)


def violate(knapsacks: Sequence[Knapsack], least: float) -> list[Floats | None]:
    """Return for each knapsack the row that its point breaks most, as weights (k,) of its items.

    A row is ``weights @ x <= 1``, and holds for every set that fits. None where none is broken by
    ``least``, or it takes too many sets to know. One program has the weights of all that are
    undecided; it starts with sets of single items, and gets the dearest at its weights.
    """
    found: list[Floats | None] = [None] * len(knapsacks)
    sets = [list(np.eye(each.point.size, dtype=bool)) for each in knapsacks]
    undecided = list(range(len(knapsacks)))
    for _ in range(_MOST_SETS):
        if not undecided:
            break
        weights = _weights([knapsacks[k].point for k in undecided], [sets[k] for k in undecided])
        rest = []
        for k, mine in zip(undecided, weights, strict=True):
            each = knapsacks[k]
            if float((mine * each.point).sum()) <= 1 + least:
                continue
            most, dearest = dearest_set(mine, each.pages, each.room)
            if most <= 1 + _TINY:
                found[k] = mine
            else:
                sets[k].append(dearest)
                rest.append(k)
        undecided = rest
    return found


def _weights(points: list[Floats], sets: list[list[Bools]]) -> list[Floats]:
    """Return weights that are at most 1 together on each set, and most on the point."""
    build = ProgramBuilder()
    items = []
    for point, mine in zip(points, sets, strict=True):
        item = build.columns(point.size, cost=-point, upper=1.0)
        row = build.rows(len(mine), upper=1.0)
        which, member = np.nonzero(np.array(mine))
        build.add(row[which], item[member], 1.0)
        items.append(item)
    primal = solve(build.program(), options={"presolve": "off"}).primal
    return [np.zeros(item.size) if primal is None else primal[item] for item in items]
