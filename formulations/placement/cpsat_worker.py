"""The model of :mod:`formulations.placement.cpsat` in CP-SAT; only for a process of its own."""

from __future__ import annotations

import numpy as np
from ortools.sat.python import cp_model

from formulations.placement.cpsat import OffsetModel
from spmopt.core.table import Ints

_PER_CONFLICT = 2e-4  # in the solver's deterministic seconds


def solve(
    model: OffsetModel, order: Ints, capacity: int, conflicts: int, time_limit_s: float
) -> tuple[str, Ints | None]:
    """Look for offsets (k,), lowest first in the order given."""
    program, offsets = _program(model, order, capacity)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.cp_model_presolve = False
    solver.parameters.linearization_level = 0
    solver.parameters.search_branching = cp_model.FIXED_SEARCH
    solver.parameters.max_number_of_conflicts = conflicts
    # Where much lives at once a conflict is dear, and the search is better.
    solver.parameters.max_deterministic_time = conflicts * _PER_CONFLICT
    solver.parameters.max_time_in_seconds = time_limit_s
    status = solver.solve(program)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return "found", np.array([solver.value(v) for v in offsets], dtype=np.int64)
    return ("infeasible" if status == cp_model.INFEASIBLE else "open"), None


def _program(
    model: OffsetModel, order: Ints, capacity: int
) -> tuple[cp_model.CpModel, list[cp_model.IntVar]]:
    """Variables, then constraints, then the order."""
    program = cp_model.CpModel()
    offsets = _offsets(program, model, capacity)
    _align(program, model, offsets)
    _keep_sections_apart(program, model, offsets)
    _keep_pairs_apart(program, model, offsets)
    program.add_decision_strategy(
        [offsets[k] for k in order],
        cp_model.CHOOSE_LOWEST_MIN,
        cp_model.SELECT_MIN_VALUE,
    )
    return program, offsets


def _offsets(program: cp_model.CpModel, model: OffsetModel, capacity: int) -> list[cp_model.IntVar]:
    """``0 <= o_k <= C - s_k``, or where ``k`` is fixed."""
    return [
        program.new_int_var(max(fixed, 0), fixed if fixed >= 0 else capacity - size, "")
        for fixed, size in zip(model.fixed.tolist(), model.size.tolist(), strict=True)
    ]


def _align(program: cp_model.CpModel, model: OffsetModel, offsets: list[cp_model.IntVar]) -> None:
    """``o_k = a_k x_k``."""
    for k in np.flatnonzero(model.alignment > 1).tolist():
        multiple = program.new_int_var(0, 1 << 40, "")
        program.add(offsets[k] == int(model.alignment[k]) * multiple)


def _keep_sections_apart(
    program: cp_model.CpModel, model: OffsetModel, offsets: list[cp_model.IntVar]
) -> None:
    """``[o_k, o_k + s_k)`` of the buffers of a section do not overlap."""
    intervals = [
        program.new_fixed_size_interval_var(offset, size, "")
        for offset, size in zip(offsets, model.size.tolist(), strict=True)
    ]
    for section in model.sections:
        program.add_no_overlap([intervals[k] for k in section])


def _keep_pairs_apart(
    program: cp_model.CpModel, model: OffsetModel, offsets: list[cp_model.IntVar]
) -> None:
    """``o_j >= o_i + up`` or ``o_i >= o_j + down``."""
    for one, other, up, down in model.pairs.tolist():
        over = program.new_bool_var("")
        program.add(offsets[other] >= offsets[one] + up).only_enforce_if(over)
        program.add(offsets[one] >= offsets[other] + down).only_enforce_if(~over)
