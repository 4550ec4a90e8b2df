"""Profiles: columns added up step by step."""

from __future__ import annotations

import numpy as np

from formulations.residency.pages.profiles import Profiles, profiles
from formulations.residency.program.columns import ColumnKind, Usage
from formulations.solver.program import Floats
from tests.formulations.priced import all_columns, cases
from tests.thorough import share


def dense(profile: Profiles, column: Floats, tensors: int, steps: int) -> Floats:
    """(tensors, steps) of a step function."""
    table = np.zeros((tensors, steps + 2))
    for tensor, step, value in zip(profile.tensor, profile.step, column, strict=True):
        table[tensor, step:] = value
    return table[:, :steps]


def test_resident_and_dirty_bytes_of_every_step() -> None:
    for seed, case in enumerate(cases(share(60))):
        intervals, columns = case.intervals, all_columns(case.intervals)
        amounts = np.random.default_rng(seed).random(len(columns)).round(1)
        profile = profiles(intervals, columns, amounts)
        use, tensors = Usage(intervals, columns), case.line.size_bytes.size
        resident, dirty = np.zeros((tensors, intervals.steps)), np.zeros((tensors, intervals.steps))
        for k, kind in enumerate(columns.kind.tolist()):
            access = columns.access[k]
            resident[intervals.tensor[access], use.begin[k] : use.end[k]] += amounts[k]
            if kind in (ColumnKind.HOLD_DIRTY, ColumnKind.DROP, ColumnKind.CLEAN):
                # Dirty at the start of every step up to the access, or to that of the store.
                last = intervals.step[access] if kind == ColumnKind.HOLD_DIRTY else columns.step[k]
                dirty[intervals.tensor[access], intervals.begin[access] : last + 1] += amounts[k]
            elif kind == ColumnKind.FINAL:
                span = slice(intervals.step[access] + 1, columns.step[k] + 1)
                dirty[intervals.tensor[access], span] += amounts[k]
        got = [
            dense(profile, c, tensors, intervals.steps) for c in (profile.resident, profile.dirty)
        ]
        np.testing.assert_allclose(got, [resident, dirty], atol=1e-9)
