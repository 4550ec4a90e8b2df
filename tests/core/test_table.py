"""Tables of columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spmopt.core.schedule import Residency, Stores
from spmopt.core.table import distinct


def stores(*rows: tuple[int, int, int]) -> Stores:
    step, tensor, size = np.array(rows, np.int64).reshape(-1, 3).T
    return Stores(step=step, tensor=tensor, size_bytes=size)


def test_tables_one_after_the_other() -> None:
    one, other = stores((1, 2, 3), (4, 5, 6)), stores((0, 0, 7))
    assert Stores.together(one, Stores.empty(), other) == stores((1, 2, 3), (4, 5, 6), (0, 0, 7))
    assert Stores.together(one) == one


def test_rows_by_index_and_by_mask() -> None:
    table = stores((1, 2, 3), (4, 5, 6))
    assert table.take(np.array([1, 0])) == stores((4, 5, 6), (1, 2, 3))
    assert table.take(table.step > 1) == stores((4, 5, 6))


def test_columns_of_other_lengths() -> None:
    two = np.zeros(2, np.int64)
    with pytest.raises(ValueError, match=r"columns differ in length, see begin"):
        Residency(tensor=two, begin=two[:1], end=two, size_bytes=two)


@given(st.lists(st.integers(0, 20) | st.integers(0, 2**63 - 1)))
def test_distinct_numbers_are_those_of_numpy(given: list[int]) -> None:
    values = np.array(given, np.int64)
    found, expected = distinct(values), np.unique(values)
    assert found.dtype == expected.dtype
    assert np.array_equal(found, expected)
