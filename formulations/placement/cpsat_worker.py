"""The model of :mod:`formulations.placement.cpsat` in CP-SAT; only for a process of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from ortools.sat.python import cp_model

from spmopt.core.result import Status
from spmopt.core.table import Ints

_PER_CONFLICT = 2e-4  # in the solver's deterministic seconds


def solve(
    buffers: tuple[Ints, Ints, Ints],
    apart: tuple[Sequence[Ints], Ints],
    order: Ints,
    capacity: int,
    limits: tuple[int, float],
) -> tuple[Status, Ints | None]:
    """Look for offsets (k,), lowest first in the ``order`` given, within conflicts and seconds.

    ``buffers`` are sizes, alignments and offsets (k,), -1 where one is free. ``apart`` are sections
    of which no two buffers overlap, and pairs (p, 4): columns i, j, up, down,
    ``o_j >= o_i + up`` or ``o_i >= o_j + down``.
    """
    (sections, pairs), (conflicts, time_limit_s) = apart, limits
    program = cp_model.CpModel()
    offsets, intervals = [], []
    for size, alignment, fixed in np.stack(buffers, axis=1).tolist():
        last = fixed if fixed >= 0 else capacity - size
        offset = program.new_int_var(max(fixed, 0), last, "")
        if alignment > 1:
            program.add(offset == alignment * program.new_int_var(0, 1 << 40, ""))
        offsets.append(offset)
        intervals.append(program.new_fixed_size_interval_var(offset, size, ""))
    for section in sections:
        program.add_no_overlap([intervals[k] for k in section])
    for one, other, up, down in pairs.tolist():
        over = program.new_bool_var("")
        program.add(offsets[other] >= offsets[one] + up).only_enforce_if(over)
        program.add(offsets[one] >= offsets[other] + down).only_enforce_if(~over)
    program.add_decision_strategy(
        [offsets[k] for k in order], cp_model.CHOOSE_LOWEST_MIN, cp_model.SELECT_MIN_VALUE
    )
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
        return Status.FEASIBLE, np.array([solver.value(v) for v in offsets], dtype=np.int64)
    return Status.INFEASIBLE if status == cp_model.INFEASIBLE else Status.UNKNOWN, None
