"""When DRAM has the whole of a tensor as it is now."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spmopt.core.table import Ints, Table
from spmopt.verify import View


@dataclass(frozen=True, kw_only=True, eq=False)
class Copies(Table):
    """All bytes of ``tensor`` are valid in DRAM at the start of steps [begin, end).

    Sorted by (tensor, begin). The end of the schedule counts as a step of its own.
    """

    tensor: Ints
    begin: Ints
    end: Ints


def copies(view: View) -> Copies:
    """Follow the suffix that is valid in DRAM (``Z`` of rule R5) of a legal schedule."""
    index, steps = view.suffix.index, view.timeline.steps
    tensor, since = index.tensor, index.key - index.tensor * index.stride - 1
    # Of changes for one step the last one holds.
    other = tensor[1:] != tensor[:-1]
    holds = np.concatenate((other | (since[1:] != since[:-1]), [True]))[: tensor.size]
    tensor, since, row = tensor[holds], since[holds], index.row[holds]
    whole = view.suffix.bytes_after[row] == view.timeline.size_bytes[tensor]
    # A stretch begins where the copy becomes whole, and ends with that of the tensor.
    first = np.concatenate(([True], tensor[1:] != tensor[:-1]))[: tensor.size]
    begins = np.flatnonzero(first | np.concatenate(([True], whole[1:] != whole[:-1]))[: whole.size])
    until = np.append(since, steps + 1)[np.append(begins[1:], tensor.size)[: begins.size]]
    next_tensor = np.append(tensor, -1)[np.append(begins[1:], tensor.size)[: begins.size]]
    end = np.where(next_tensor == tensor[begins], until, steps + 1)
    kept = whole[begins]
    return Copies(tensor=tensor[begins][kept], begin=since[begins][kept], end=end[kept])
