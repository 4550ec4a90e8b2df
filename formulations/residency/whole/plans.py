"""From choices to a plan that moves every tensor as late, and stores it as early, as can be."""

from __future__ import annotations

import numpy as np

from formulations.residency.whole.choices import Choices
from formulations.residency.whole.intervals import PagedIntervals
from spmopt.core.schedule import Plan, Residency, Stores
from spmopt.core.timeline import Timeline


def plan_of(line: Timeline, uses: PagedIntervals, choices: Choices) -> Plan:
    """Load in the step of the use, store in the step of the write."""
    here = np.flatnonzero(choices.resident)
    interval = np.flatnonzero(choices.kept)
    tensor = np.concatenate((uses.tensor[here], uses.tensor[interval]))
    begin = np.concatenate((uses.step[here], uses.begin[interval]))
    end = np.concatenate((uses.step[here] + 1, uses.step[interval]))
    size = np.concatenate((uses.size_bytes[here], uses.size_bytes[interval]))
    some = np.flatnonzero(begin < end)
    order = some[np.lexsort((begin[some], tensor[some]))]
    tensor, begin, end, size = tensor[order], begin[order], end[order], size[order]
    # Rows that touch become one.
    first = np.ones(order.size, bool)
    first[1:] = (tensor[1:] != tensor[:-1]) | (begin[1:] != end[:-1])
    last = np.append(first[1:], True)[: order.size]
    stored = np.flatnonzero(choices.dropped(uses) & choices.resident)
    stored = stored[np.lexsort((uses.tensor[stored], uses.step[stored]))]
    return Plan(
        operation=line.operation,
        mode=line.mode,
        residency=Residency(
            tensor=tensor[first], begin=begin[first], end=end[last], size_bytes=size[first]
        ),
        stores=Stores(
            step=uses.step[stored], tensor=uses.tensor[stored], size_bytes=uses.size_bytes[stored]
        ),
    )
