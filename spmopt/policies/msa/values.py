"""The values of a schedule, and the order in which they are given room."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spmopt.core.table import Ints
from spmopt.core.timeline import Access, Timeline
from spmopt.policies.msa.costs import Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class Values:
    """Contents of tensors, each from its definition to its last use.

    A value is what one blind write defines, or what DRAM holds at the start; updates in place
    belong to the value they change, as XLA colocates the buffers of such a chain.

    Attributes
    ----------
    access : (a,)
        Accesses by value, in time order.
    first : (v + 1,)
        Value ``k`` has the accesses ``access[first[k]:first[k + 1]]``.
    """

    access: Ints
    first: Ints


def values(timeline: Timeline) -> Values:
    """Split the accesses of every tensor at its blind writes."""
    access = np.lexsort((timeline.step, timeline.tensor))
    begins = (timeline.previous[access] < 0) | (timeline.kind[access] == Access.WRITE)
    return Values(access=access, first=np.append(np.flatnonzero(begins), access.size))


def boundedness(timeline: Timeline, found: Values, benefit: Floats) -> Floats:
    """(v,) How much a value on chip helps: its benefits over the root of its size.

    The benefits of a value are added up where they are positive (operations that wait for
    DRAM); without any such, the largest counts (the operation nearest to that).
    """
    if not found.access.size:
        return np.empty(0, np.float64)
    starts = found.first[:-1]
    ordered = benefit[found.access]
    helps = np.add.reduceat(np.maximum(ordered, 0), starts)
    nearest = np.maximum.reduceat(ordered, starts)
    size = timeline.size_bytes[timeline.tensor[found.access[starts]]]
    result: Floats = np.where(helps > 0, helps, nearest) / np.sqrt(size)
    return result


def by_boundedness(timeline: Timeline, found: Values, benefit: Floats) -> Ints:
    """(v,) Values, the most bounded by DRAM first; then the larger, then by tensor."""
    size = timeline.size_bytes[timeline.tensor[found.access[found.first[:-1]]]]
    order: Ints = np.lexsort((-size, -boundedness(timeline, found, benefit)))
    return order
