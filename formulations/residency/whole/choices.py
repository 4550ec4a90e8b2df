"""What a whole-tensor schedule decides: where a tensor is resident, through which intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.residency.whole.decisions import YES, Decisions
from formulations.residency.whole.intervals import PagedIntervals
from formulations.solver.program import Floats
from spmopt.core.schedule import Plan, Residency, Stores
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline


@dataclass(frozen=True, kw_only=True, eq=False)
class Choices:
    """``resident`` (a,) in the access's step, ``kept`` (a,) through the interval before it."""

    resident: Bools
    kept: Bools

    @staticmethod
    def of(uses: PagedIntervals, resident: Bools, kept: Bools) -> Choices:
        """Make the two consistent: kept means resident at both ends.

        A tensor that is resident in two steps in a row has been kept.
        """
        resident = resident | uses.stationary
        before = np.concatenate(([False], resident[:-1]))
        neighbors = np.concatenate(([False], uses.step[1:] == uses.step[:-1] + 1))
        kept = uses.crossed & resident & before & (kept | neighbors)
        return Choices(resident=resident, kept=kept)

    @staticmethod
    def of_solution(uses: PagedIntervals, decisions: Decisions, values: Floats) -> Choices:
        """Read a solution of a program."""

        def chosen(state: Ints) -> Bools:
            value = np.append(values, 0.0)[np.maximum(state, -1)]
            result: Bools = (state == YES) | (value > 0.5)
            return result

        return Choices.of(uses, chosen(decisions.resident), chosen(decisions.kept))

    @staticmethod
    def of_plan(uses: PagedIntervals, plan: Plan) -> Choices:
        """What a plan in the same order has resident, and keeps, in full."""
        row, span = plan.residency, uses.steps + 1
        nothing = np.zeros(uses.step.size, bool)
        if not len(row):
            return Choices.of(uses, nothing, nothing)
        wanted = uses.tensor * span + uses.step
        place = np.searchsorted(row.tensor * span + row.begin, wanted, "right")
        at = np.maximum(place - 1, 0)
        inside = (place > 0) & (row.tensor[at] == uses.tensor) & (uses.step < row.end[at])
        resident = inside & (row.size_bytes[at] == uses.size_bytes)
        joined = (row.tensor[1:] == row.tensor[:-1]) & (row.end[:-1] == row.begin[1:])
        joined &= row.size_bytes[1:] == row.size_bytes[:-1]
        stretch = np.concatenate(([0], np.cumsum(~joined)))[at]
        kept = np.concatenate(([False], stretch[1:] == stretch[:-1]))
        return Choices.of(uses, resident, kept)

    def fits(self, uses: PagedIntervals) -> bool:
        """Whether everything fits in every step."""
        return bool((uses.pages_of(self.kept, self.resident) <= uses.capacity_pages).all())

    def dropped(self, uses: PagedIntervals) -> Bools:
        """(a,) Writing accesses whose version must be in DRAM later on."""
        interval = np.flatnonzero(uses.crossed & ~self.kept)
        version = uses.version[interval - 1]
        result = np.zeros(uses.step.size, bool)
        result[version[version >= 0]] = True
        result[uses.version[uses.final]] = True
        return result


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
