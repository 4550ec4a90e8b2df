"""The worth of bytes by the plain model's relaxation, and problems with fewer mappings."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from formulations.residency.mapping_duals import Worth
from formulations.residency.plain.model import PlainModel
from formulations.solver.program import Floats
from spmopt.core.problem import Problem
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.table import Bools, Ints


def worth_in(model: PlainModel, row_dual: Floats) -> Worth:
    """Return the worth of bytes by the duals of a relaxation over all steps.

    The rows ``growth``, ``cleaning`` and ``no_lost_write`` say it of those before each step.
    """
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
    used = np.flatnonzero(cells.access >= 0)
    found = np.zeros((5, model.line.step.size))
    # The relaxation counts from the cost of N.
    found[:4, cells.access[used]] = clean[used], dirty[used], after[0, used], after[1, used]
    names = "clean", "dirty", "clean_after", "dirty_after", "gone"
    priced = replace(
        Worth(**dict(zip(names, found, strict=True))), begun=_begun_streams(model, row_dual)
    )
    if model.counts_commands:
        rate = float(model.machine.bytes_per_cycle)
        setup = model.machine.dma_setup_cycles * rate / model.line.size_bytes[model.line.tensor]
        priced = replace(priced, setup=setup)
    if model.families.pages:
        # A byte is held in pages by the first rows (P7), one a cell.
        rows = model.law_rows["whole_pages"]
        held = np.zeros(model.line.step.size)
        held[cells.access[used]] = -float(model.value) * row_dual[rows.start + used]
        priced = replace(priced, held=held)
    return priced


def _begun_streams(model: PlainModel, row_dual: Floats) -> Floats:
    """Return the dual value of a stream's command for each byte; all on chip needs none.

    By operation, operand and mapping of those that have several.
    """
    parts, streams = model.parts, model.stream_command >= 0
    split = np.flatnonzero(~parts.single)
    result = np.zeros(parts.cell.size)
    if model.counts_commands:
        end = model.law_rows["commands"].stop  # rows of streams are the last
        duals = row_dual[end - np.count_nonzero(streams) : end]
        result[streams] = model.value_of(1.0) * duals
        result /= model.size[parts.cell]
    # Parts are by cell, and cells by tensor.
    order = np.lexsort((parts.choice[split], model.cells.access[parts.cell[split]]))
    found: Floats = result[split][order]
    return found


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
