"""Rows of banks: every page in one bank at a time, as many as were chosen, and few that move."""

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from formulations.residency.banks.layout import bank_rows
from spmopt.core.table import Ints

BANKS, FIRST = 3, 2


def where(chosen: Ints) -> Ints:
    """Return the bank (g, p) of each page of a tensor in segments that last a step each."""
    count, pages = len(chosen), int(chosen[0].sum())
    segments = SimpleNamespace(
        tensor=np.zeros(1, np.int64),
        first=np.array([FIRST]),
        interval=np.zeros(count, np.int64),
        begin=np.arange(count),
        end=np.arange(count) + 1,
    )
    found: Any = SimpleNamespace(
        segments=segments, pages=chosen, scratch=np.zeros((count, BANKS), np.int64)
    )
    rows = bank_rows(found)
    times = np.zeros((count, pages), np.int64)
    bank = np.zeros((count, pages), np.int64)
    for page, size, place, begin, end in zip(
        rows.tensor_page - FIRST, rows.pages, rows.bank, rows.begin, rows.end, strict=True
    ):
        assert page >= 0
        assert page + size <= pages
        times[begin:end, page : page + size] += 1
        bank[begin:end, page : page + size] = place
    assert (times == 1).all()
    return bank


@pytest.mark.parametrize("seed", range(20))
def test_only_as_many_pages_move_as_have_to(seed: int) -> None:
    generator = np.random.default_rng(seed)
    chosen = generator.multinomial(7, np.full(BANKS, 1 / BANKS), size=5)
    bank = where(chosen)
    counts = [np.bincount(row, minlength=BANKS).tolist() for row in bank]
    assert counts == chosen.tolist()
    for (before, after), (one, other) in zip(pairwise(chosen), pairwise(bank), strict=True):
        assert np.count_nonzero(one != other) == np.maximum(before - after, 0).sum()
