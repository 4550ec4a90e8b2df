"""The time of a schedule without barriers, seen at the start and at the end of each operation.

Operations take turns, so that these instants part the time: before operation ``i`` starts, while
it runs, and after the last one. The steps of a timeline become three each, and one at the end:

* ``3 i``: nothing runs, and operation ``i`` is next;
* ``3 i + 1``: operation ``i`` has just started;
* ``3 i + 2``: operation ``i`` is about to end;
* ``3 n``: all operations have ended.

All accesses are in the third: loads may bring an operation's inputs while it runs, and its results
can be loaded from DRAM when it has ended, no sooner. But overwritten bytes belong to it from its
start on, so that this is held in the second of its parts too (:func:`bytes_held_early`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spmopt.core.schedule import Steps
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline

BEFORE, START, END = range(3)
PARTS = 3
"""Of each step."""


def by_instants(line: Timeline) -> Timeline:
    """Return accesses at instants; figures of mappings stay those of ``line``, a step each."""
    count = PARTS * line.steps + 1
    return replace(
        line,
        chosen=Steps.listed(np.full(count, -1, np.int64)),
        # Operands count at the end: a load may arrive while the operation runs.
        step=PARTS * line.step + END,
    )


def bytes_held_early(line: Timeline) -> Bools:
    """Return (a,) the accesses whose bytes are held in the part before theirs, too."""
    early: Bools = line.kind == Access.WRITE
    return early


def spread(before: Ints, start: Ints, end: Ints, after: int) -> Ints:
    """Return (3 n + 1,) values of the parts of each step (n,), and one for the end."""
    parts = np.stack((before, start, end), axis=1).ravel()
    return np.append(parts, after)
