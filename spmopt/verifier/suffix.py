"""How much of every tensor is valid in DRAM, step by step (the ``Z`` of rule R5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spmopt.core.schedule import Command, Commands
from spmopt.core.table import Ints
from spmopt.core.timeline import Access, Timeline
from spmopt.verifier.lookup import StepIndex, pick


@dataclass(frozen=True, kw_only=True, eq=False)
class Suffix:
    """The last ``Z`` bytes of a tensor are valid in DRAM.

    Attributes
    ----------
    index : over the changes of ``Z``, by the first step that they hold for.
    bytes_after : (changes,) ``Z`` after each.
    store : the commands that are stores, as rows of the command table.
    before_store : ``Z`` at each of these, the write of the same step included.
    """

    index: StepIndex
    bytes_after: Ints
    store: Ints
    before_store: Ints

    def valid(self, tensor: Ints, step: Ints) -> Ints:
        """Return ``Z_t`` at the start of ``step`` (``steps``: at the end), bytes per pair."""
        return pick(self.bytes_after, self.index.last(tensor, step), 0)


def track_suffix(line: Timeline, commands: Commands, resident: Ints) -> Suffix:
    """Follow ``Z`` through starts, writes and stores; ``resident`` is per access.

    ``Z_t(1) = s_t`` if ``in_dram``, else 0. A write leaves its streamed bytes, ``s_t - r_t``, or
    nothing when the result is dead and so not streamed. A store adds its bytes.
    """
    tensors = line.size_bytes.size
    write = np.flatnonzero(line.kind != Access.READ)
    store = np.flatnonzero(commands.kind == Command.STORE)
    streamed = np.where(line.live_after, line.size_bytes[line.tensor] - resident, 0)[write]
    tensor = np.concatenate((np.arange(tensors), line.tensor[write], commands.tensor[store]))
    # A start holds from step 0, what step i changes from step i + 1.
    since = np.concatenate(
        (np.zeros(tensors, np.int64), line.step[write] + 1, commands.step[store] + 1)
    )
    base = np.concatenate(
        (np.where(line.in_dram, line.size_bytes, 0), streamed, np.zeros(store.size, np.int64))
    )
    added = np.zeros(tensor.size, np.int64)
    added[tensors + write.size :] = (commands.end - commands.begin)[store]
    is_store = np.arange(tensor.size) >= tensors + write.size
    order = np.lexsort((is_store, since, tensor))
    total = np.cumsum(added[order])
    # The start or write that each change in ``order`` follows.
    root = np.maximum.accumulate(np.where(is_store[order], 0, np.arange(order.size)))
    after = base[order][root] + total - total[root]
    bytes_after = np.empty_like(after)
    bytes_after[order] = after
    before_store = bytes_after[is_store] - added[is_store]
    index = StepIndex.of(tensor, since, line.steps)
    return Suffix(index=index, bytes_after=bytes_after, store=store, before_store=before_store)
