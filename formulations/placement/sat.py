"""Placements by CP-SAT: one dimension of no-overlap a section, in a given order of decisions.

Two-dimensional no-overlap solves none of the published instances in half a minute; sections,
lowest offsets first in an order that suits, and learning from conflicts solve most at once.
"""

from __future__ import annotations

from enum import Enum

import numpy as np
from ortools.sat.python import cp_model

from formulations.placement.orders import arranged
from formulations.placement.part import Part
from spmopt.core.table import Ints

_PER_CONFLICT = 2e-4  # in the solver's deterministic seconds


class Answer(Enum):
    """What came of a solve."""

    FOUND = "found"
    INFEASIBLE = "infeasible"  # proved
    STOPPED = "stopped"


def solve(
    part: Part, capacity: int, word: str, *, conflicts: int, time_limit_s: float
) -> tuple[Answer, Ints | None]:
    """Look for offsets (k,) under ``capacity``, in the order ``word``, up to a limit."""
    model, offsets = _model(part, capacity, word)
    if model is None:
        return Answer.INFEASIBLE, None
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.cp_model_presolve = False
    solver.parameters.linearization_level = 0
    solver.parameters.search_branching = cp_model.FIXED_SEARCH
    solver.parameters.max_number_of_conflicts = conflicts
    # Where much lives at once a conflict is dear, and the search is better.
    solver.parameters.max_deterministic_time = conflicts * _PER_CONFLICT
    solver.parameters.max_time_in_seconds = time_limit_s
    solver.parameters.catch_sigint_signal = False
    status = solver.solve(model)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Answer.FOUND, np.array([solver.value(v) for v in offsets], dtype=np.int64)
    return (Answer.INFEASIBLE if status == cp_model.INFEASIBLE else Answer.STOPPED), None


def _model(
    part: Part, capacity: int, word: str
) -> tuple[cp_model.CpModel | None, list[cp_model.IntVar]]:
    """Variables, then constraints, then the order; no model if a buffer alone does not fit."""
    if (part.size > capacity).any() or (part.fixed + part.size > capacity).any():
        return None, []
    model = cp_model.CpModel()
    offsets = _offsets(model, part, capacity)
    _align(model, part, offsets)
    _keep_sections_apart(model, part, offsets)
    _keep_windowed_apart(model, part, offsets)
    model.add_decision_strategy(
        [offsets[k] for k in arranged(part, word)],
        cp_model.CHOOSE_LOWEST_MIN,
        cp_model.SELECT_MIN_VALUE,
    )
    return model, offsets


def _offsets(model: cp_model.CpModel, part: Part, capacity: int) -> list[cp_model.IntVar]:
    """``0 <= o_k <= C - s_k``, or where ``k`` is fixed."""
    return [
        model.new_int_var(max(fixed, 0), fixed if fixed >= 0 else capacity - size, "")
        for fixed, size in zip(part.fixed.tolist(), part.size.tolist(), strict=True)
    ]


def _align(model: cp_model.CpModel, part: Part, offsets: list[cp_model.IntVar]) -> None:
    """``o_k = a_k x_k``."""
    for k in np.flatnonzero(part.alignment > 1).tolist():
        step = int(part.alignment[k])
        multiple = model.new_int_var(0, 1 << 40, "")
        model.add(offsets[k] == step * multiple)


def _keep_sections_apart(
    model: cp_model.CpModel, part: Part, offsets: list[cp_model.IntVar]
) -> None:
    """``[o_k, o_k + s_k)`` of the buffers of a section do not overlap."""
    intervals = [
        model.new_fixed_size_interval_var(offset, size, "")
        for offset, size in zip(offsets, part.size.tolist(), strict=True)
    ]
    inside = np.where(part.windowed[:, None], False, part.needs > 0)
    inside[part.size == 0] = False
    for section in range(inside.shape[1]):
        model.add_no_overlap([intervals[k] for k in np.flatnonzero(inside[:, section])])


def _keep_windowed_apart(
    model: cp_model.CpModel, part: Part, offsets: list[cp_model.IntVar]
) -> None:
    """``o_j >= o_i + d_ij`` or ``o_i >= o_j + d_ji``, where sizes alone do not say it."""
    special = part.windowed | (part.size == 0)
    for one in np.flatnonzero(special).tolist():
        for other in np.flatnonzero(part.meets[one]).tolist():
            if special[other] and other < one:
                continue
            up, down = int(part.apart[one, other]), int(part.apart[other, one])
            over = model.new_bool_var("")
            model.add(offsets[other] >= offsets[one] + up).only_enforce_if(over)
            model.add(offsets[one] >= offsets[other] + down).only_enforce_if(~over)
