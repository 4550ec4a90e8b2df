"""From the bytes that stay in each gap to a plan."""

from __future__ import annotations

import numpy as np

from formulations.residency.flow.stays import Stays
from spmopt.core.plan import Plan, Residency, Stores
from spmopt.core.table import Ints
from spmopt.core.timeline import Access, Timeline


def kept_plan(line: Timeline, stays: Stays, kept_bytes: Ints) -> Plan:
    """Plan in which ``kept_bytes`` (k,) of each stay are resident, and of other gaps nothing.

    What leaves dirty, and the last version of a tensor to be kept, is stored by the step that
    writes it.
    """
    return Plan(
        operation=line.operation,
        mode=line.mode,
        residency=_residency(line, stays, kept_bytes),
        stores=_stores(line, stays, kept_bytes),
    )


def _residency(line: Timeline, stays: Stays, kept_bytes: Ints) -> Residency:
    some = kept_bytes > 0
    tensor = np.concatenate((line.tensor, line.tensor[stays.access[some]]))
    begin = np.concatenate((line.step, stays.begin[some]))
    end = np.concatenate((line.step + 1, stays.end[some]))
    size = np.concatenate((line.size_bytes[line.tensor], kept_bytes[some]))
    order = np.lexsort((begin, tensor))
    tensor, begin, end, size = tensor[order], begin[order], end[order], size[order]
    joined = (tensor[1:] == tensor[:-1]) & (begin[1:] == end[:-1]) & (size[1:] == size[:-1])
    first = np.concatenate(([True], ~joined))
    last = np.concatenate((~joined, [True]))
    return Residency(
        tensor=tensor[first], begin=begin[first], end=end[last], size_bytes=size[first]
    )


def _stores(line: Timeline, stays: Stays, kept_bytes: Ints) -> Stores:
    """Bytes that leave in some gap before the next write, all of them in the end if kept."""
    writer = _writer(line)
    stored = np.zeros(line.step.size, np.int64)
    size = line.size_bytes[line.tensor]
    np.maximum.at(stored, writer[line.previous[stays.access]], stays.size_bytes - kept_bytes)
    last = np.flatnonzero((line.next < 0) & line.keep[line.tensor])
    stored[writer[last]] = size[last]
    written = np.flatnonzero((line.kind != Access.READ) & (stored > 0))
    order = written[np.lexsort((line.tensor[written], line.step[written]))]
    return Stores(step=line.step[order], tensor=line.tensor[order], size_bytes=stored[order])


def _writer(line: Timeline) -> Ints:
    """(a,) The access that wrote what each access leaves; its tensor's first one if none did."""
    order = np.argsort(line.tensor, kind="stable")
    begins = (line.kind != Access.READ) | (line.previous < 0)
    place = np.maximum.accumulate(np.where(begins[order], np.arange(order.size), 0))
    writer = np.empty_like(order)
    writer[order] = order[place]
    return writer
