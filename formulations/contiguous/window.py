"""Some steps to be decided anew while the others remain as they are."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from formulations.residency.cells import Cells, change
from spmopt.core.operands import FIGURES
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline

_BY_ACCESS = ("tensor", "kind", "fetches", "required_resident", "live_after")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepWindow:
    """Steps ``[begin, end)`` of ``steps``, and the ones before and after them, its *edges*.

    Bytes resident at an edge remain so, at the same addresses, and no more of them are dirty after.
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
            chosen=line.chosen.take(steps),
            **{name: getattr(line, name)[steps] for name in FIGURES},
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


def whole(line: Timeline) -> StepWindow:
    """All steps, no edges."""
    return StepWindow(begin=0, end=line.steps, steps=line.steps)


def keep_cells(line: Timeline, window: StepWindow, tensor: Ints, spans: Ints) -> Cells:
    """Cells of the ``spans`` (s, 2) of ``tensor``, which do not overlap, and of all uses.

    Where a span ends and the contents live on, ``last`` is set: nothing may be dirty after it.
    Spans lie in ``window``, of which other uses are left out.
    """
    steps = line.steps
    begin, length = spans[:, 0], spans[:, 1] - spans[:, 0]
    inside = np.repeat(begin - np.cumsum(length) + length, length) + np.arange(length.sum())
    uses = slice(int(line.first[window.begin]), int(line.first[window.last]))
    key = np.unique(
        np.concatenate(
            (
                np.repeat(tensor, length) * steps + inside,
                line.tensor[uses] * steps + line.step[uses],
            )
        )
    )
    owner, step = key // steps, key % steps
    access, used = _latest_access(line, key)
    before = access < 0
    first = line.first_access[owner]
    following = np.where(before, first, line.next[np.maximum(access, 0)])
    written = np.where(before, False, change(line)[np.maximum(access, 0)])
    live = np.where(before, line.live_before[owner], line.live_after[np.maximum(access, 0)])
    # Contents that are dead, or final and as they are in DRAM, are not worth a page.
    of_use = used | (live & (written | (following >= 0)))
    owner, step, access, following = (c[of_use] for c in (owner, step, access, following))
    used, dirty = used[of_use], (written & live)[of_use]
    access = np.where(used, access, -1)
    kind = np.where(used, line.kind[np.maximum(access, 0)], -1)
    blind = kind == Access.WRITE
    inherits = np.zeros(owner.size, bool)
    inherits[1:] = (owner[1:] == owner[:-1]) & (step[1:] == step[:-1] + 1) & ~blind[1:]
    followed = np.append(inherits[1:], False)[: owner.size]
    cells = Cells(
        tensor=owner,
        step=step,
        access=access,
        previous=np.where(inherits, np.arange(owner.size) - 1, -1),
        loads=np.where(used, kind != Access.WRITE, following >= 0),
        blind=blind,
        written=blind | (kind == Access.UPDATE),
        dirty=dirty,
        last=dirty & ~followed,
    )
    return window.cells_of(line, cells)


def _latest_access(line: Timeline, key: Ints) -> tuple[Ints, Bools]:
    """Each cell's access, or else the one before it (-1: none), and whether it is its own."""
    keys = line.tensor * line.steps + line.step
    order = np.argsort(keys, kind="stable")
    at = np.searchsorted(keys[order], key, side="right") - 1
    access = np.where(at >= 0, order[np.maximum(at, 0)], -1)
    same = (access >= 0) & (line.tensor[np.maximum(access, 0)] == key // line.steps)
    access = np.where(same, access, -1)
    return access, same & (keys[np.maximum(access, 0)] == key)
