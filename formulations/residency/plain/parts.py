"""Parts of cells: what is on chip of a tensor in a step under each mapping of its operation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.residency.plain.cells import Cells
from spmopt.core.mappings import fits_alone
from spmopt.core.objective import Objective
from spmopt.core.operands import ranges
from spmopt.core.operation import FIGURES
from spmopt.core.problem import Problem
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline


@dataclass(frozen=True, kw_only=True, eq=False)
class Choices:
    """Mappings (c,) to choose among, of the steps that have several.

    Attributes
    ----------
    step, mapping : (c,)
    compute_cycles, scratch_bytes : (c,)
    costs
        Objective units that each mapping costs beside time and traffic.
    row : (c,)
        Of each mapping in the problem's table.
    fits : (c,) bool
        Its scratch and required operands fit the scratchpad.
    """

    step: Ints
    mapping: Ints
    compute_cycles: Ints
    scratch_bytes: Ints
    costs: tuple[float, ...]
    row: Ints
    fits: Bools

    def __len__(self) -> int:
        return int(self.step.size)

    def take(self, some: Bools) -> Choices:
        """Return some of them (c,)."""
        costs = tuple(cost for cost, taken in zip(self.costs, some.tolist(), strict=True) if taken)
        return Choices(
            step=self.step[some],
            mapping=self.mapping[some],
            compute_cycles=self.compute_cycles[some],
            scratch_bytes=self.scratch_bytes[some],
            costs=costs,
            row=self.row[some],
            fits=self.fits[some],
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Parts:
    """Parts (q,) of cells, one for each mapping to choose; of other cells there is one.

    Attributes
    ----------
    cell, choice : (q,)
        Place of the cell, and of the mapping; -1 where there is nothing to choose.
    fetches_in, fetches_out : (q,)
        Bytes streamed per byte that is not resident (R3, R4): live partial sums of a result come
        in again for each fetch but the first.
    required : (q,) bool
        The mapping needs all of the tensor on chip.
    """

    cell: Ints
    choice: Ints
    fetches_in: Ints
    fetches_out: Ints
    required: Bools

    @property
    def single(self) -> Bools:
        """(q,) Parts that are all of a cell."""
        single: Bools = self.choice < 0
        return single


def choices_of(problem: Problem, line: Timeline, objective: Objective) -> Choices:
    """Return the mappings of steps that have several."""
    table, operation = problem.operands, line.order
    several = np.diff(table.first_mapping)[operation]
    steps = np.flatnonzero(several > 1)
    count = several[steps]
    mapping = ranges(np.zeros_like(count), count)
    row = table.mapping[np.repeat(table.first_mapping[operation[steps]], count) + mapping]
    figures = dict(zip(FIGURES, table.mappings.figures[:, row], strict=True))
    names = ("spm_read_bytes", "spm_write_bytes", "macs", "own_picojoules")
    costs = zip(*(figures[name].tolist() for name in names), strict=True)
    step = np.repeat(steps, count)
    return Choices(
        step=step,
        mapping=mapping,
        compute_cycles=figures["compute_cycles"],
        scratch_bytes=figures["scratch_bytes"],
        costs=tuple(float(objective.of_mappings(*each)) for each in costs),
        row=row,
        fits=fits_alone(problem)[table.first_mapping[operation[step]] + mapping],
    )


def parts_of(
    problem: Problem, line: Timeline, cells: Cells, choices: Choices, inside: Bools
) -> Parts:
    """Return the parts of cells; nothing streams in those that are not ``inside`` (k,)."""
    table = problem.operands.mappings
    first = np.searchsorted(choices.step, cells.step, "left")
    count = np.searchsorted(choices.step, cells.step, "right") - first
    split = (cells.access >= 0) & (count > 0)
    several = np.where(split, count, 1)
    cell = np.repeat(np.arange(len(cells)), several)
    number = ranges(np.zeros_like(several), several)
    choice = np.where(split[cell], first[cell] + number, -1)
    access = cells.access[cell]
    used = (access >= 0) & inside[cell]
    fetches = np.where(used, line.fetches[access], 0)
    required = (access >= 0) & line.required_resident[access]
    chosen = choice >= 0
    if len(choices):
        operand = line.step[access]
        place = table.first[choices.row[choice]] + access - line.first[operand]
        place = np.where(chosen, place, 0)
        fetches = np.where(chosen & used, table.fetches[place], fetches)
        required = np.where(chosen, table.required_resident[place], required)
    kind, live = line.kind[access], line.live_after[access]
    streams = used & ~required
    partial = np.where(live, fetches - 1, 0)
    return Parts(
        cell=cell,
        choice=choice,
        fetches_in=np.where(streams, np.where(kind == Access.WRITE, partial, fetches), 0),
        fetches_out=np.where(streams & (kind != Access.READ) & live, fetches, 0),
        required=required,
    )
