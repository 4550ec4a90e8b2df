"""Least height: from the bound upwards and from the best placement downwards at once."""

from __future__ import annotations

from collections import defaultdict

from formulations.placement.hunt import Verdict
from formulations.placement.table import Table

_LARGE = 500  # buffers of a part for which greedy ways come first
_PATIENCE = 20  # steps at the bound before anything else, where no part is large
_ALONE = 60_000  # effort of steps under a capacity before dives
_RUNGS = 24  # heights between the bound and the best, at least, where there are as many
_BOUND, _LADDER, _DIVES = 4, 1, 8  # shares of the effort


def fill(table: Table, capacity: int) -> None:
    """Look for any placement under ``capacity`` (units): by steps, later by dives as well."""
    table.fit(capacity, _LARGE)
    diving, dived = capacity > table.bound, 0
    while not table.limit.over() and table.step(capacity) is Verdict.OPEN:
        if table.height is None and table.effort > _ALONE:
            table.fit(capacity)
        while diving and dived < table.effort // 2 - _ALONE and not table.limit.over():
            if table.height is None or table.height <= capacity:
                break
            before = table.effort
            diving = table.dive()
            dived += table.effort - before


def descend(table: Table, ceiling: int | None) -> None:
    """Look for least height until it is found or time is over.

    Three ways share the effort, so that none starves the others:

    1. Steps at the bound, which find a placement there or raise it: a tight capacity is often
       easier than a loose one.
    2. Dives, which come down fast from far above, and slowly later.
    3. Steps at heights between the bound and the best, each with as little effort as any other:
       which heights are easy is a matter of luck.

    Heights above ``ceiling`` (units) are of no use.
    """
    table.fit(table.bound, _LARGE)
    large = max((len(part) for part in table.parts), default=0) > _LARGE
    for _ in range(1 if large else _PATIENCE):
        if table.limit.over() or table.step(table.bound) is not Verdict.OPEN:
            break
    if table.height is None:
        table.fit(table.bound)
    spent = {"dives": 0.0, "ladder": 0.0, "bound": table.effort / _BOUND}
    rungs: dict[int, int] = defaultdict(int)
    while not table.limit.over() and (top := _top(table, ceiling)) >= table.bound:
        before = table.effort
        match min(spent, key=spent.__getitem__):
            case "bound":
                table.step(table.bound)
                spent["bound"] += (table.effort - before) / _BOUND
            case "ladder":
                rung = min(_ladder(table.bound, top), key=lambda height: (rungs[height], -height))
                table.step(rung, exploring=True)
                rungs[rung] += table.effort - before
                spent["ladder"] += (table.effort - before) / _LADDER
            case _:
                # Nothing is spent on what is too large for it.
                dived = table.dive()
                spent["dives"] += (table.effort - before) / _DIVES if dived else float("inf")


def _top(table: Table, ceiling: int | None) -> int:
    """The largest height that would be news."""
    heights = [table.height - 1] if table.height is not None else []
    return min(heights if ceiling is None else [*heights, ceiling])


def _ladder(bound: int, top: int) -> list[int]:
    """Heights above the bound, the same ones as before where they can be."""
    step = 1 << ((top - bound) // _RUNGS).bit_length()
    return list(range(bound // step * step + step, top + 1, step)) or [top]
