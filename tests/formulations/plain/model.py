"""The plain (tensor, step) model: the rules as they stand, a reference for the priced model.

A fixed order; with several mappings the least of each figure, so that the value bounds them all.
``lambda`` and the rounding of transfer times to cycles are left out. As a linear program the
value is the ``fluid`` bound. With ``pages`` it is the ``page`` optimum wherever times are exact:
one mapping, no command set-up, a whole number of cycles a byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np

from formulations.solver import highs
from formulations.solver.program import Floats, Program, SolverResult
from spmopt.core.errors import InputError
from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.timeline import Timeline, relax_timeline
from tests.formulations.plain import rows
from tests.formulations.plain.arrays import (
    byte_unit,
    byte_value,
    constant,
    cost,
    in_whole_pages,
    number_columns,
    program,
)
from tests.formulations.plain.cells import Cells, plain_cells

SETTINGS: Mapping[str, Mapping[str, highs.Option]] = {
    "simplex": {"solver": "simplex"},
    "ipm": {"solver": "ipm", "run_crossover": "on"},
    "ipm without crossover": {"solver": "ipm", "run_crossover": "off"},
    "pdlp": {"solver": "pdlp", "run_crossover": "off"},
}
"""Ways to solve the linear program with HiGHS."""

_EXACT: Mapping[str, highs.Option] = {"presolve": "off", "mip_rel_gap": 0.0}
"""For whole pages: with presolve HiGHS 1.15 proved 19 where 18 is feasible, once in 4,500."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PlainModel:
    """The model as arrays, and how to read them.

    Attributes
    ----------
    program
        In units of ``byte_unit`` bytes and of ``byte_value * byte_unit`` of the objective.
    byte_unit
        A power of two.
    byte_value
        The dearest byte's dual value, objective units.
    constant
        Part of the objective that no schedule changes, objective units.
    capacity_rows, channel_rows
        First row of (P4) and first rows of (P5): one, two with ``duplex``, or none where time
        costs nothing.
    """

    program: Program
    line: Timeline
    cells: Cells
    columns: rows.Columns
    byte_unit: int
    byte_value: Fraction
    constant: Fraction
    capacity_rows: int
    channel_rows: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class PlainAnswer:
    """The value in objective units, and the dual values of PROBLEM.md, section 5.

    Dual values are the duals as the solver gave them: clamp before use in a bound.

    Attributes
    ----------
    value
        None where the solver found nothing.
    spm_dual, dram_in_dual, dram_out_dual : (n,) or None
        Objective units per byte held, and per byte of DMA time, in each step.
    """

    value: float | None
    answer: SolverResult
    spm_dual: Floats | None
    dram_in_dual: Floats | None
    dram_out_dual: Floats | None


def plain_model(problem: Problem, objective: Objective, *, pages: bool = False) -> PlainModel:
    """Build the model, with ``r`` in whole pages and stores in whole bytes if ``pages``."""
    machine, line = problem.machine, relax_timeline(problem)
    cells = plain_cells(line)
    timed = objective.cycle > 0
    columns = number_columns(line, cells, timed=timed, pages=pages)
    streams = rows.Streams.of(line, cells)
    context = rows.Context(
        machine=machine, line=line, cells=cells, columns=columns, streams=streams
    )
    families = [
        rows.growth(context),
        rows.dirt(context),
        rows.no_lost_write(context),
        rows.capacity(context),
        *([*rows.channel(context), rows.serial(context)] if timed else []),
        *(rows.whole_pages(context) if pages else []),
    ]
    first = [0, *accumulate(family.lower.size for family in families)]
    unit = 1 if pages else byte_unit(machine.spm_bytes)
    value = byte_value(context, objective)
    fluid = program(context, families, cost(context, objective, value), unit)
    return PlainModel(
        program=in_whole_pages(context, fluid) if pages else fluid,
        line=line,
        cells=cells,
        columns=columns,
        byte_unit=unit,
        byte_value=value,
        constant=constant(context, objective),
        capacity_rows=first[3],
        channel_rows=tuple(first[4 : 6 if machine.duplex else 5]) if timed else (),
    )


def solve_plain(
    problem: Problem,
    objective: Objective,
    *,
    pages: bool = False,
    setting: str = "simplex",
    options: Mapping[str, highs.Option] | None = None,
    time_limit_s: float = float("inf"),
    threads: int = 1,
) -> PlainAnswer:
    """Solve with HiGHS; ``setting`` is one of :data:`SETTINGS`, for ``pages`` not used.

    Raises
    ------
    InputError
        No such setting.
    """
    if setting not in SETTINGS:
        raise InputError(f"setting {setting!r}: choose one of {', '.join(SETTINGS)}")
    model = plain_model(problem, objective, pages=pages)
    chosen = {**(_EXACT if pages else SETTINGS[setting]), **(options or {})}
    answer = highs.solve(model.program, options=chosen, time_limit_s=time_limit_s, threads=threads)
    return read_answer(model, answer)


def read_answer(model: PlainModel, answer: SolverResult) -> PlainAnswer:
    """Put a solver's answer into objective units."""
    free, dual = np.zeros(model.line.steps), float(model.byte_value)
    if not model.columns.count:  # nothing to decide: HiGHS has no solution of an empty program
        return PlainAnswer(
            value=float(model.constant),
            answer=answer,
            spm_dual=free,
            dram_in_dual=free,
            dram_out_dual=free,
        )
    value = None
    if answer.objective is not None:
        value = answer.objective * dual * model.byte_unit + float(model.constant)
    if answer.row_dual is None:
        return PlainAnswer(
            value=value, answer=answer, spm_dual=None, dram_in_dual=None, dram_out_dual=None
        )
    row_duals, steps = answer.row_dual, model.line.steps
    channels = [dual * row_duals[first : first + steps] for first in model.channel_rows]
    return PlainAnswer(
        value=value,
        answer=answer,
        spm_dual=-dual * row_duals[model.capacity_rows : model.capacity_rows + steps],
        dram_in_dual=channels[0] if channels else free,
        dram_out_dual=channels[-1] if channels else free,
    )
