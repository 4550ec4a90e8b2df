"""Some steps to be decided anew while the others stay as they are."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from formulations.residency.cells import Cells
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline

_BY_STEP = (
    *("operation", "mode", "compute_cycles", "scratch_bytes"),
    *("macs", "spm_read_bytes", "spm_write_bytes"),
)
_BY_ACCESS = ("tensor", "kind", "passes", "stationary", "live_after")


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Steps ``[begin, end)`` of ``steps``, and the ones before and after them, its *edges*.

    What is resident at an edge stays so, at the same addresses, and no more of it is dirty after.
    """

    begin: int
    end: int
    steps: int

    @property
    def first(self) -> int:
        """First step, the edge if there is one."""
        return max(self.begin - 1, 0)

    @property
    def last(self) -> int:
        """One past the last step, the edge if there is one."""
        return min(self.end + 1, self.steps)

    def edges(self, step: Ints) -> Bools:
        """Which of these steps are edges."""
        result: Bools = (step < self.begin) | (step >= self.end)
        return result

    def part_of(self, line: Timeline) -> Timeline:
        """The steps and their accesses by themselves; tensors know no accesses outside."""
        steps = slice(self.first, self.last)
        accesses = slice(int(line.first[self.first]), int(line.first[self.last]))
        none = np.full(accesses.stop - accesses.start, -1, np.int64)
        nowhere = np.full(line.size_bytes.size, -1, np.int64)
        return replace(
            line,
            **{name: getattr(line, name)[steps] for name in _BY_STEP},
            **{name: getattr(line, name)[accesses] for name in _BY_ACCESS},
            step=line.step[accesses] - self.first,
            first=line.first[self.first : self.last + 1] - accesses.start,
            previous=none,
            next=none,
            first_access=nowhere,
            last_access=nowhere,
        )

    def cells_of(self, line: Timeline, cells: Cells) -> Cells:
        """``cells`` of its steps, counted from :attr:`first`; at the edges as they must be."""
        before, after = cells.step < self.begin, cells.step >= self.end
        access = cells.access - int(line.first[self.first])
        return replace(
            cells,
            step=cells.step - self.first,
            # What comes from before comes as if it were written there.
            access=np.where((cells.access < 0) | before, -1, access),
            loads=cells.loads & ~before,
            blind=cells.blind | before,
            written=cells.written | before,
            last=cells.last & ~before & ~after,
        )


def whole(line: Timeline) -> Window:
    """All steps, no edges."""
    return Window(begin=0, end=line.steps, steps=line.steps)
