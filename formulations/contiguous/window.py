"""Some steps to be decided anew while the others remain as they are."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from formulations.residency.plain.cells import Cells, find_changes
from spmopt.core.operands import ranges
from spmopt.core.operation import FIGURES
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline

_BY_ACCESS = ("tensor", "kind", "fetches", "required_resident", "live_after")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepWindow:
    """Steps ``[begin, end)`` of ``steps``, and the ones before and after them, its *edges*.

    Bytes resident at an edge remain so, at the same addresses, and as many of them dirty after.
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


def whole(line: Timeline) -> StepWindow:
    """All steps, no edges."""
    return StepWindow(begin=0, end=line.steps, steps=line.steps)


def cells_of(line: Timeline, window: StepWindow, tensor: Ints, spans: Ints) -> Cells:
    """Cells of the ``spans`` (s, 2) of ``tensor``, which do not overlap, and of all uses.

    They are those of the plain model, of which a long list has too many: GNMT 49 million. Where a
    span ends and the contents live on, nothing may be dirty after it.
    """
    steps = line.steps
    length = spans[:, 1] - spans[:, 0]
    uses = slice(int(line.first[window.first]), int(line.first[window.last]))
    held = np.repeat(tensor, length) * steps + ranges(spans[:, 0], length)
    key = np.unique(np.concatenate((held, line.tensor[uses] * steps + line.step[uses])))
    owner, step = key // steps, key % steps
    access = _latest_access(line, key)
    latest = np.maximum(access, 0)
    before = access < 0
    used = ~before & (line.step[latest] == step)
    following = np.where(before, line.first_access[owner], line.next[latest])
    written = ~before & find_changes(line)[latest]
    live = np.where(before, line.live_before[owner], line.live_after[latest])
    # Contents that are dead, or final and as they are in DRAM, are not worth a page.
    some = np.flatnonzero(used | (live & (written | (following >= 0))))
    owner, step, used = owner[some], step[some], used[some]
    kind = np.where(used, line.kind[latest[some]], -1)
    blind, dirty = kind == Access.WRITE, (written & live)[some]
    inherits = np.zeros(owner.size, bool)
    inherits[1:] = (np.diff(owner) == 0) & (np.diff(step) == 1) & ~blind[1:]
    return Cells(
        tensor=owner,
        step=step,
        end=step + 1,
        access=np.where(used, access[some], -1),
        previous=np.where(inherits, np.arange(owner.size) - 1, -1),
        loads=np.where(used, ~blind, following[some] >= 0),
        blind=blind,
        written=blind | (kind == Access.UPDATE),
        dirty=dirty,
        last=dirty & ~np.append(inherits[1:], False)[: owner.size],
    )


def _latest_access(line: Timeline, key: Ints) -> Ints:
    """Each cell's access, or else the one before it; -1 for none."""
    keys = line.tensor * line.steps + line.step
    order = np.argsort(keys, kind="stable")
    at = np.searchsorted(keys[order], key, side="right") - 1
    access = order[np.maximum(at, 0)]
    same = (at >= 0) & (line.tensor[access] == key // line.steps)
    result: Ints = np.where(same, access, -1)
    return result
