"""The time of a schedule without barriers, seen at the start and at the end of each operation.

Operations take turns, so that these instants part the time: before operation ``i`` starts, while
it runs, and after the last one. The steps of a timeline become three each, and one at the end:

* ``3 i``: nothing runs, and operation ``i`` is next;
* ``3 i + 1``: operation ``i`` has just started;
* ``3 i + 2``: operation ``i`` is about to end;
* ``3 n``: all operations have ended.

What an operation overwrites is its own from its start on; so writes are in the second of its
three, and accesses that read, as loads may bring what they need while it runs, in the third.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spmopt.core.schedule import Steps
from spmopt.core.table import Ints
from spmopt.core.timeline import Access, Timeline

BEFORE, START, END = range(3)
PARTS = 3
"""Of each step."""


def by_instants(line: Timeline) -> Timeline:
    """Return accesses at instants; figures of modes stay those of ``line``, a step each."""
    count = PARTS * line.steps + 1
    place = np.where(line.kind == Access.WRITE, START, END)
    return replace(
        line,
        chosen=Steps.listed(np.full(count, -1, np.int64)),
        step=PARTS * line.step + place,
    )


def spread(before: Ints, start: Ints, end: Ints, after: int) -> Ints:
    """Return (3 n + 1,) values of the parts of each step (n,), and one for the end."""
    parts = np.stack((before, start, end), axis=1).ravel()
    return np.append(parts, after)
