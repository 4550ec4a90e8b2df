"""Cheapest paths of bytes at given dual values: the bound that these prove, and cells to choose."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from formulations.residency.banks.cells import Boundary, Field
from formulations.residency.banks.duals import BankMultipliers
from formulations.residency.banks.facts import BankCoefficients
from formulations.residency.banks.transitions import Transitions
from formulations.solver.program import Floats
from spmopt.core.shares import STREAM_BANK
from spmopt.core.table import Bools
from spmopt.core.timeline import Access


class Paths:
    """Least costs of a byte of each tensor (m), in each state (s) before each step.

    Attributes
    ----------
    ahead, back : (n + 1, s, m)
        From the start of its life, and to the end of it; infinite where it has none.
    bound
        Bound at the dual values, in objective units (floating point).
    """

    def __init__(
        self, facts: BankCoefficients, duals: BankMultipliers, boundary: Boundary | None = None
    ) -> None:
        """Walk forth and back through the steps, all tensors together.

        ``boundary``: of a window of steps; then the bound is the sum of payments in it, and of
        fixed costs of its steps.
        """
        line, self.costs = facts.line, Transitions(facts, duals)
        boundary = ends(facts) if boundary is None else boundary
        self.back, births = _backward(facts, self.costs, boundary.back)
        self.ahead = _forward(facts, self.costs, boundary.ahead)
        # Bytes that exist before the first step; blind writes begin the others.
        start = (boundary.ahead + self.back[0]).min(axis=0)
        value = float(line.size_bytes[np.isfinite(start)] @ start[np.isfinite(start)])
        blind = line.kind == Access.WRITE
        value += float(line.size_bytes[line.tensor[blind]] @ births[blind])
        self.bound = value + fix(facts, duals)


def ends(facts: BankCoefficients) -> Boundary:
    """Return payments of bytes before the first step, and after the last."""
    line = facts.line
    ahead = np.full((2 * facts.bank_count + 1, line.size_bytes.size), np.inf)
    back = ahead.copy()
    ahead[0, line.in_dram & line.live_before] = 0.0
    back[: facts.bank_count + 1, line.keep] = 0.0
    return Boundary(ahead, back)


def fix(facts: BankCoefficients, duals: BankMultipliers) -> float:
    """Return the part of the bound that is not in paths."""
    channel = duals.load + (duals.store if facts.duplex else 0.0) + duals.port.sum(axis=0)
    left = facts.byte_time - channel
    loose = (
        facts.read_ratio[STREAM_BANK] * facts.loose_read
        + facts.write_ratio[STREAM_BANK] * facts.loose_write
    )
    value = left @ facts.computing_bytes - duals.hold.sum(axis=1) @ facts.capacity_bytes
    value += duals.hold.min(axis=0) @ facts.scratch_bytes
    value += duals.port[STREAM_BANK] @ loose
    return float(value) + facts.constant


def _backward(facts: BankCoefficients, costs: Transitions, end: Floats) -> tuple[Floats, Floats]:
    """Find costs to go; of each access that overwrites its tensor the cost of all that follows."""
    line = facts.line
    states = costs.waiting.shape[1]
    back = np.full((line.steps + 1, states, line.size_bytes.size), np.inf)
    back[-1] = end
    births = np.zeros(line.step.size)
    for step in range(line.steps - 1, -1, -1):
        later = back[step + 1]
        back[step] = (costs.waiting[step][:, :, None] + later[None, :, :]).min(axis=1)
        for access in range(int(line.first[step]), int(line.first[step + 1])):
            tensor = int(line.tensor[access])
            rest = later[:, tensor] if line.live_after[access] else np.zeros(states)
            least = (costs.access[access] + rest).min(axis=1)
            if line.kind[access] == Access.WRITE:
                births[access], least = least[0], np.full(states, np.inf)
            back[step, :, tensor] = least
    return back, births


def _forward(facts: BankCoefficients, costs: Transitions, start: Floats) -> Floats:
    """Return the costs so far."""
    line = facts.line
    states = costs.waiting.shape[1]
    ahead = np.full((line.steps + 1, states, line.size_bytes.size), np.inf)
    ahead[0] = start
    for step in range(line.steps):
        before = ahead[step]
        ahead[step + 1] = (costs.waiting[step][:, :, None] + before[:, None, :]).min(axis=0)
        for access in range(int(line.first[step]), int(line.first[step + 1])):
            tensor = int(line.tensor[access])
            blind = line.kind[access] == Access.WRITE
            old = np.zeros(states) if blind else before[:, tensor]
            now = (costs.access[access] + old[:, None]).min(axis=0)
            ahead[step + 1, :, tensor] = now if line.live_after[access] else np.inf
    return ahead


def promising(field: Field, found: Paths, chosen: Bools, limit: float) -> Bools:
    """Find further cells (cells,): of each interval those where each kind of action costs least.

    ``limit``: how much more than a best path a path may cost that acts there.
    """
    cells = field.cells
    open_cells = np.flatnonzero(~chosen)
    if not open_cells.size:
        return np.zeros(len(cells), bool)
    # Cells of one interval follow each other; an access, or another life, ends it.
    interval = np.cumsum((cells.access >= 0) | (cells.previous < 0))[open_cells]
    starts = np.flatnonzero(np.diff(interval, prepend=-1))
    step, tensor = cells.step[open_cells], cells.tensor[open_cells]
    ahead, back = found.ahead[step, :, tensor], found.back[step + 1, :, tensor]
    best = (found.ahead[step, :, tensor] + found.back[step, :, tensor]).min(axis=1)
    result = np.zeros(len(cells), bool)
    for source, target in _actions((ahead.shape[1] - 1) // 2):
        through = ahead[:, source] + found.costs.waiting[step, source, target] + back[:, target]
        more = through - best
        least = np.minimum.reduceat(more, starts)
        group = np.cumsum(np.diff(interval, prepend=-1) != 0) - 1
        good = (more <= least[group]) & (more <= limit)
        _, first = np.unique(group[good], return_index=True)
        result[open_cells[np.flatnonzero(good)[first]]] = True
    return result


def _actions(banks: int) -> Iterator[tuple[int, int]]:
    """Return pairs of states between which a waiting byte goes by a load, a store or a move."""
    clean = range(1, banks + 1)
    dirty = range(banks + 1, 2 * banks + 1)
    for block in (clean, dirty):
        yield from ((one, other) for one in block for other in block if one != other)
    yield from ((0, one) for one in clean)
    yield from ((one, other) for one in dirty for other in clean)
