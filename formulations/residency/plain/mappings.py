"""Dual values of mappings, by those of the plain model's relaxation.

A byte of tensor t that is resident before a step is worth something, as is one that DRAM lacks: the
dual values of the rows ``growth``, ``cleaning`` and ``no_lost_write`` say how much. With these as
potentials of the states N, R and D, ``nu_tim`` is the least number that makes no arc of mapping m
shorter than the potentials allow. Then the shortest path of a byte costs as much as they say, and
its step pays the rest of each mapping (spmopt/verifier/mappings.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from formulations.residency.bound.duals import CostCoefficients, MoveDuals, Multipliers
from formulations.residency.plain.model import PlainModel
from formulations.solver.program import Floats
from spmopt.core.problem import Problem
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access


@dataclass(frozen=True, kw_only=True, eq=False)
class Potentials:
    """Of a byte in R and in D against one in N, before and after the step of each cell (k,).

    Infinite where no byte can be in that state: no arc leaves it, or enters it.
    """

    clean: Floats
    dirty: Floats
    clean_after: Floats
    dirty_after: Floats


def potentials(model: PlainModel, row_dual: Floats) -> Potentials:
    """Return the potentials of cells by the duals of a relaxation, in objective units."""
    cells = model.cells
    before = cells.previous >= 0

    def by_cell(law: str, where: Bools) -> Floats:
        values = np.zeros(len(cells))
        rows = model.law_rows[law]
        values[where] = float(model.value) * row_dual[rows.start : rows.stop]
        return values

    grown = -by_cell("growth", ~cells.blind & model.inside)
    cleaned = by_cell("cleaning", cells.dirty & model.inside)
    was_dirty = before & (np.append(model.dirty, -1)[cells.previous] >= 0)
    lost = by_cell("no_lost_write", was_dirty & model.inside)
    clean = np.where(before, grown, np.inf)
    dirty = np.where(was_dirty, grown - np.where(cells.written, 0.0, cleaned) - lost, np.inf)
    follows = np.flatnonzero(before)
    after = np.zeros((2, len(cells)))
    # No byte can get into a state that no cell has.
    reachable = np.where(was_dirty, dirty, -np.inf)
    after[:, cells.previous[follows]] = clean[follows], reachable[follows]
    # A kept tensor may not end dirty.
    after[1, cells.last] = -np.inf
    return Potentials(clean=clean, dirty=dirty, clean_after=after[0], dirty_after=after[1])


def mapping_uses(
    model: PlainModel,
    row_dual: Floats,
    coefficients: CostCoefficients,
    duals: Multipliers,
    rooms: Floats,
) -> Floats:
    """Return ``nu`` by operation, operand and mapping, of operations that have several.

    Parameters
    ----------
    row_dual
        Of the model's relaxation with mappings, over all steps.
    duals
        The same of capacity and channels, as a certificate has them.
    rooms : (c,)
        The same of the room of each mapping.
    """
    parts, cells, line = model.parts, model.cells, model.line
    split = np.flatnonzero(~parts.single)
    cell, required = parts.cell[split], parts.required[split]
    access, step = cells.access[cell], cells.step[cell]
    state = potentials(model, row_dual)
    moves = MoveDuals(coefficients, duals)
    hold, loaded, stored = (each[step] for each in (moves.held, moves.loaded, moves.stored))
    hold = hold + rooms[parts.choice[split]]
    read, written = line.kind[access] != Access.WRITE, line.kind[access] != Access.READ
    load = np.where(required & read, moves.loaded_fixed, loaded)
    store = np.where(required & written, moves.stored_fixed, stored)
    stream = parts.fetches_in[split] * loaded + parts.fetches_out[split] * stored
    stream = np.where(required, np.inf, stream)
    live = line.live_after[access]
    r, d = state.clean[cell], state.dirty[cell]
    to_r, to_d = state.clean_after[cell], state.dirty_after[cell]
    # What may follow a byte that is resident in the step; dead contents cost nothing.
    as_clean = np.where(live, to_r, 0.0) - hold
    as_dirty = np.where(live, np.maximum(to_d, to_r - store), 0.0) - hold
    held = np.where(written, as_dirty, as_clean)
    arcs = np.stack(
        (
            -stream,
            np.where(read, held - load, held),
            np.where(read, held - r, -np.inf),
            np.where(read, as_dirty - d, -np.inf),
        )
    )
    least: Floats = arcs.max(axis=0)
    # Cells are by tensor; the certificate is by step, operand and mapping.
    order = np.lexsort((parts.choice[split], access))
    return least[order]


class FewerMappings:
    """A problem with some of the mappings of each operation, and its plans in both numberings.

    Attributes
    ----------
    problem
        With the mappings ``taken`` alone.
    taken, number : (k,)
        Row of each of its mappings among all of the whole problem, and number in its operation.
    """

    def __init__(self, problem: Problem, taken: Bools) -> None:
        """Take some of all mappings (k,), one of each operation at least."""
        self.taken, self._before = np.flatnonzero(taken), problem.operands.first_mapping
        self._first = np.searchsorted(self.taken, self._before)
        self.number: Ints = self.taken - np.repeat(self._before[:-1], np.diff(self._first))
        operations = tuple(
            replace(each, mappings=tuple(each.mappings[m] for m in self.number[begin:end].tolist()))
            for each, (begin, end) in zip(
                problem.operations, pairwise(self._first.tolist()), strict=True
            )
        )
        # Fusion tiles are of the whole problem.
        self.problem = replace(
            problem, operations=operations, listed=None, fused_from=None, fusion_plan=()
        )

    def outside(self, plan: ResidencyPlan) -> ResidencyPlan:
        """Return a plan in the numbers of the whole problem."""
        steps = plan.steps
        mapping = self.number[self._first[steps.operation] + steps.mapping]
        return replace(plan, steps=replace(steps, mapping=mapping))

    def inside(self, plan: ResidencyPlan) -> ResidencyPlan | None:
        """Return a plan of the whole problem in these numbers; None if it runs another mapping."""
        steps = plan.steps
        inside = np.full(int(self._before[-1]), -1, np.int64)
        inside[self.taken] = np.arange(self.number.size)
        place = inside[self._before[steps.operation] + steps.mapping]
        if (place < 0).any():
            return None
        return replace(plan, steps=replace(steps, mapping=place - self._first[steps.operation]))


def cheapest_mappings(problem: Problem, own: Ints, reduced: Floats, count: int) -> Bools:
    """Return (k,) the mappings ``own`` (n,), and so many of each operation of least cost.

    Parameters
    ----------
    reduced : (k,)
        By how much each mapping costs more than the cheapest of its operation, at dual values.
    """
    first = problem.operands.first_mapping
    operation = np.repeat(np.arange(first.size - 1), np.diff(first))
    order = np.lexsort((reduced, operation))
    taken = np.zeros(reduced.size, bool)
    taken[order] = np.arange(reduced.size) - first[operation] < count
    taken[first[:-1] + own] = True
    return taken
