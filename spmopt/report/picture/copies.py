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
    # A stretch begins where the copy becomes whole or broken, and ends where the next one begins.
    other, change = tensor[1:] != tensor[:-1], whole[1:] != whole[:-1]
    first = np.concatenate(([True], other | change))[: tensor.size]
    tensor, begin, whole = tensor[first], since[first], whole[first]
    follows = np.append(tensor[1:] == tensor[:-1], False)[: tensor.size]
    end = np.where(follows, np.append(begin[1:], 0)[: tensor.size], steps + 1)
    return Copies(tensor=tensor[whole], begin=begin[whole], end=end[whole])
