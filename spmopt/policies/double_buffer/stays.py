"""How long tensors stay: the residency rows that batches make."""

from __future__ import annotations

import numpy as np

from spmopt.core.machine import Machine
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline
from spmopt.policies.double_buffer.batches import Batches
from spmopt.policies.transfers.rows import NEVER, WholeRows


def rows_of_batches(
    machine: Machine, timeline: Timeline, batches: Batches, *, shared: bool
) -> WholeRows:
    """Rows from the first to the last use that a tensor stays for.

    Between two uses in one batch it stays; with ``shared`` also from one batch to the next. Else
    it leaves, if there is a step for it to be away in: contents that are there cannot be loaded
    (R2), so a tensor of two batches with one operation between them stays where it is.
    """
    held = np.flatnonzero(batches.held)
    held = held[np.argsort(timeline.tensor[held], kind="stable")]
    first, last = _ends(timeline, batches, held, shared=shared)
    written = np.where(timeline.kind[held] != Access.READ, np.arange(held.size), NEVER)
    # Accesses of a row follow one another: the last write of a row is the greatest so far.
    last_write = np.maximum.reduceat(written, first) if held.size else written
    tensor, step = timeline.tensor[held], timeline.step[held]
    size = timeline.size_bytes[tensor[first]]
    follows = np.append(False, tensor[first[1:]] == tensor[first[:-1]])[: first.size]
    earlier = timeline.previous[held[first]]
    return WholeRows(
        tensor=tensor[first],
        size_bytes=size,
        pages=-(-size // machine.page_bytes),
        first_use=step[first],
        last_use=step[last],
        end=step[last] + 1,
        last_write=np.where(last_write == NEVER, NEVER, step[last_write]),
        previous_use=np.where(earlier >= 0, timeline.step[earlier], NEVER),
        previous_row=np.where(follows, np.arange(first.size) - 1, NEVER),
        loads=timeline.kind[held[first]] != Access.WRITE,
        stores=(last_write != NEVER) & timeline.live_after[held[last]],
        pinned_load=timeline.stationary[held[first]],
        pinned_store=(last_write != NEVER) & timeline.stationary[held[last_write]],
    )


def _ends(timeline: Timeline, batches: Batches, held: Ints, *, shared: bool) -> tuple[Ints, Ints]:
    """Where the rows begin and end among the accesses ``held``, by tensor and time."""
    tensor, step = timeline.tensor[held], timeline.step[held]
    batch = batches.of_step[step]
    away: Bools = batch[1:] > batch[:-1] + (1 if shared else 0)
    away &= step[:-1] + 2 <= batches.last_chance[batch[1:]]
    starts = np.flatnonzero(np.append(True, away | (tensor[1:] != tensor[:-1])))
    first = starts[: starts.size if held.size else 0]
    return first, np.append(first[1:], held.size)[: first.size] - 1
