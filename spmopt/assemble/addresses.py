"""Page addresses for given residency (R8, ``paged``): one sweep over the steps."""

from __future__ import annotations

import numpy as np

from spmopt.assemble.extents import FreeExtents
from spmopt.assemble.index import neighbours
from spmopt.core.machine import Machine
from spmopt.core.plan import Residency
from spmopt.core.schedule import Placements
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline

SCRATCH = -1


class _Allocator:
    """Where the pages of each tensor lie now, and the finished placement rows.

    A tensor's pages form a stack of runs ``(tensor page, pages, SPM page, since)``: the prefix
    grows and shrinks at its end, and no page moves while it stays.
    """

    def __init__(self, pages: int) -> None:
        self._free = FreeExtents(pages)
        self._runs: dict[int, list[tuple[int, int, int, int]]] = {}
        self.rows: list[tuple[int, int, int, int, int, int]] = []

    def grow(self, step: int, tensor: int, held: int, wanted: int) -> None:
        """Add tensor pages [held, wanted) from ``step`` on."""
        runs = self._runs.setdefault(tensor, [])
        for spm_page, pages in self._free.take(wanted - held):
            runs.append((held, pages, spm_page, step))
            held += pages

    def shrink(self, step: int, tensor: int, wanted: int) -> None:
        """Free the tensor pages from ``wanted`` on, at the start of ``step``."""
        runs = self._runs[tensor]
        while runs and runs[-1][0] + runs[-1][1] > wanted:
            first, pages, spm_page, since = runs.pop()
            kept = max(0, wanted - first)
            if kept:
                runs.append((first, kept, spm_page, since))
            row = (tensor, first + kept, pages - kept, spm_page + kept, since, step)
            self.rows.append(row)
            self._free.give(spm_page + kept, pages - kept)


def place(machine: Machine, timeline: Timeline, residency: Residency) -> Placements:
    """Addresses of every resident page and of the scratch.

    In each step the pages that shrinking frees return first; then growing tensors take theirs,
    largest first, and the scratch comes last. A piece goes to the smallest free extent that
    holds it, else to the largest extents. Rows are sorted by (tensor, begin, tensor page).
    """
    allocator = _Allocator(machine.spm_pages)
    for step, owner, held, wanted in _events(machine.page_bytes, timeline, residency):
        if wanted > held:
            allocator.grow(step, owner, held, wanted)
        else:
            allocator.shrink(step, owner, wanted)
    table = np.array(allocator.rows, np.int64).reshape(-1, 6)
    table = table[np.lexsort((table[:, 1], table[:, 4], table[:, 0]))]
    names = ("tensor", "tensor_page", "pages", "spm_page", "begin", "end")
    return Placements(**{name: table[:, column] for column, name in enumerate(names)})


def _events(
    page_bytes: int, timeline: Timeline, residency: Residency
) -> list[tuple[int, int, int, int]]:
    """Changes (step, tensor, pages held, pages wanted) in the order of the sweep."""
    pages = -(-residency.size_bytes // page_bytes)
    before, after = neighbours(residency, pages)
    starts, ends = np.flatnonzero(pages != before), np.flatnonzero(after == 0)
    busy = np.flatnonzero(timeline.scratch_bytes)
    scratch = -(-timeline.scratch_bytes[busy] // page_bytes)
    nothing, nobody = np.zeros(busy.size, np.int64), np.full(busy.size, SCRATCH)
    step = np.concatenate((residency.begin[starts], residency.end[ends], busy, busy + 1))
    tensor = np.concatenate((residency.tensor[starts], residency.tensor[ends], nobody, nobody))
    held = np.concatenate((before[starts], pages[ends], nothing, scratch))
    wanted = np.concatenate((pages[starts], np.zeros(ends.size, np.int64), scratch, nothing))
    growth: Ints = np.maximum(wanted - held, 0)
    order = np.lexsort((tensor, -growth, tensor == SCRATCH, growth > 0, step))
    columns = (column[order].tolist() for column in (step, tensor, held, wanted))
    return list(zip(*columns, strict=True))
