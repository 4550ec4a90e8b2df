"""Resident and dirty bytes of every tensor over the steps, whatever their bank."""

from __future__ import annotations

import numpy as np

from formulations.residency.banks.network import BankNetwork
from formulations.residency.bound.ranked import RankedIntervals
from formulations.residency.pages.profiles import Profiles
from formulations.solver.program import Floats


def profile(network: BankNetwork, intervals: RankedIntervals, amounts: Floats) -> Profiles:
    """Add up the bytes (c,) of arcs; a row for each cell, and one for the steps after it."""
    facts, cells, arcs = network.facts, network.cells, network.arcs
    count = len(cells)
    inside = (arcs.bank >= 0) & (arcs.state >= 0)
    between = (arcs.bank >= 0) & (arcs.state < 0)
    newer = (arcs.state > facts.bank_count) & ~cells.dead[arcs.cell]
    held, carried, dirty = (
        np.bincount(arcs.cell, np.where(which, amounts, 0.0), count).astype(np.float64)
        for which in (inside, between, newer)
    )
    before = np.where(cells.first, 0.0, np.roll(dirty, 1))
    nothing = np.full(count, -1)
    position = np.empty_like(intervals.access)
    position[intervals.access] = np.arange(intervals.access.size)
    access = np.where(cells.access >= 0, position[cells.access], -1)
    # The row after a cell is not needed where the next cell is one step on.
    tensor, step = np.tile(cells.tensor, 2), np.concatenate((cells.step, cells.step + 1))
    own = np.repeat([0, 1], count)
    order = np.lexsort((own, step, tensor))
    twice = np.zeros(order.size, bool)
    twice[1:] = (np.diff(tensor[order]) == 0) & (np.diff(step[order]) == 0)
    keep = order[~(twice & (own[order] == 1))]
    return Profiles.of(
        intervals,
        facts.line,
        tensor=tensor[keep],
        step=step[keep],
        resident=np.concatenate((held, carried))[keep],
        dirty=np.concatenate((before, dirty))[keep],
        access=np.concatenate((access, nothing))[keep],
    )
