"""Rows that do not cancel, also where 64 bits do not hold all their columns side by side."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spmopt.verifier.lookup import find_unbalanced

_VALUES = st.sampled_from([-(2**60), -1, 0, 1, 2, 2**31, 2**61])


@given(st.lists(st.tuples(_VALUES, _VALUES, _VALUES, st.sampled_from([-1, 1])), max_size=12))
def test_groups_that_do_not_cancel_in_order(rows: list[tuple[int, int, int, int]]) -> None:
    table = np.array(rows, np.int64).reshape(-1, 4)
    found, left = find_unbalanced(tuple(table[:, :3].T), table[:, 3])
    weights: Counter[tuple[int, ...]] = Counter()
    for *columns, weight in rows:
        weights[tuple(columns)] += weight
    expected = sorted((columns, total) for columns, total in weights.items() if total)
    assert [
        (tuple(table[row, :3].tolist()), total)
        for row, total in zip(found.tolist(), left.tolist(), strict=True)
    ] == expected
