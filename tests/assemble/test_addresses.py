"""Addresses: legal for any residency that fits, in few rows (R8)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spmopt.assemble import assemble
from spmopt.assemble.extents import FreeExtents
from spmopt.core.instance import Instance
from spmopt.core.plan import Plan
from spmopt.core.schedule import Placements
from tests.assemble.small import Op, data, plan, problem

SPM_PAGES = 12
PAGE = 4


def table(placements: Placements) -> list[tuple[int, ...]]:
    """Rows (tensor, tensor page, pages, SPM page, begin, end)."""
    names = ("tensor", "tensor_page", "pages", "spm_page", "begin", "end")
    return list(zip(*(getattr(placements, name).tolist() for name in names), strict=True))


def owners(placements: Placements, step: int) -> dict[int, tuple[int, int]]:
    """Owner (tensor, tensor page) of every SPM page in use; no page has two."""
    found: dict[int, tuple[int, int]] = {}
    for tensor, first, pages, spm_page, begin, end in table(placements):
        if begin <= step < end:
            for k in range(pages):
                assert spm_page + k not in found
                found[spm_page + k] = (tensor, first + k)
    return found


@st.composite
def fitting_plans(draw: st.DrawFn) -> tuple[Instance, Plan]:
    """Random prefixes of eight tensors over twelve steps, with scratch, within the SPM."""
    sizes = draw(st.lists(st.integers(1, 6 * PAGE), min_size=8, max_size=8))
    tensors = {f"t{k}": data(size) for k, size in enumerate(sizes)}
    rows: list[tuple[str, int, int, int]] = []
    free = [SPM_PAGES] * 12
    for name, tensor in tensors.items():
        step = 0
        while step < 12:
            step += draw(st.integers(0, 3))
            end = min(12, step + draw(st.integers(1, 5)))
            size = draw(st.integers(1, tensor.size_bytes))
            pages = -(-size // PAGE)
            if step < end and min(free[step:end]) >= pages:
                free[step:end] = [have - pages for have in free[step:end]]
                rows.append((name, step, end, size))
            step = end
    operations = [Op(scratch=draw(st.integers(0, have * PAGE))) for have in free]
    instance = problem(tensors, operations, spm=SPM_PAGES * PAGE + 3, page=PAGE)
    return instance, plan(instance, rows)


@given(fitting_plans())
def test_every_resident_page_has_one_place_and_keeps_it(case: tuple[Instance, Plan]) -> None:
    instance, chosen = case
    placements = assemble(instance, chosen).placements
    rows = chosen.residency
    before: dict[tuple[int, int], int] = {}
    for step, operation in enumerate(instance.operations):
        held = (rows.begin <= step) & (step < rows.end)
        expected = {
            (int(tensor), page)
            for tensor, size in zip(rows.tensor[held], rows.size_bytes[held], strict=True)
            for page in range(-(-int(size) // PAGE))
        }
        expected |= {(-1, page) for page in range(-(-operation.modes[0].scratch_bytes // PAGE))}
        where = owners(placements, step)
        assert set(where.values()) == expected
        assert all(0 <= page < SPM_PAGES for page in where)
        now = {owner: page for page, owner in where.items() if owner[0] >= 0}
        assert all(before.get(owner, page) == page for owner, page in now.items())
        before = now


def test_prefix_grows_at_its_end_and_shrinking_cuts_a_run() -> None:
    instance = problem({"x": data(10)}, [Op()] * 4, spm=10)
    chosen = plan(instance, [("x", 0, 1, 4), ("x", 1, 2, 9), ("x", 2, 4, 6)])
    assert table(assemble(instance, chosen).placements) == [
        (0, 0, 4, 0, 0, 4),
        (0, 4, 2, 4, 1, 4),
        (0, 6, 3, 6, 1, 2),
    ]


def test_pages_freed_by_shrinking_serve_the_same_step() -> None:
    instance = problem({"x": data(6), "y": data(6)}, [Op()] * 2, spm=6)
    chosen = plan(instance, [("x", 0, 1, 6), ("x", 1, 2, 2), ("y", 1, 2, 4)])
    assert (1, 0, 4, 2, 1, 2) in table(assemble(instance, chosen).placements)


def test_scratch_lasts_one_step_and_takes_the_smallest_hole() -> None:
    instance = problem(
        {"x": data(2), "y": data(3), "z": data(2)},
        [Op(), Op(scratch=2), Op(scratch=1)],
        spm=10,
    )
    chosen = plan(instance, [("x", 0, 1, 2), ("y", 0, 3, 3), ("z", 0, 3, 2)])
    rows = table(assemble(instance, chosen).placements)
    # Step 0: y at 0, x at 3, z at 5; then x leaves a hole of 2 before the free end of 3.
    assert rows[:2] == [(-1, 0, 2, 3, 1, 2), (-1, 0, 1, 3, 2, 3)]


def test_a_request_that_no_hole_holds_is_split_into_the_fewest_pieces() -> None:
    free = FreeExtents(20)
    assert free.take(20) == [(0, 20)]
    for start, pages in ((0, 2), (4, 5), (12, 3)):
        free.give(start, pages)
    assert free.take(7) == [(4, 5), (0, 2)]
    assert free.take(3) == [(12, 3)]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (0, 2, 1)])
def test_neighbouring_holes_join(order: tuple[int, int, int]) -> None:
    free = FreeExtents(9)
    free.take(9)
    for k in order:
        free.give(3 * k, 3)
    assert free.take(9) == [(0, 9)]


def test_overfull_plan_gets_addresses_beyond_the_scratchpad() -> None:
    instance = problem({"x": data(6), "y": data(6)}, [Op()], spm=8)
    chosen = plan(instance, [("x", 0, 1, 6), ("y", 0, 1, 6)])
    rows = table(assemble(instance, chosen).placements)
    assert rows == [(0, 0, 6, 0, 0, 1), (1, 0, 2, 6, 0, 1), (1, 2, 4, 8, 0, 1)]


def test_a_tensor_that_stays_has_one_row_however_its_residency_is_cut() -> None:
    instance = problem({"x": data(6)}, [Op()] * 3, spm=8)
    chosen = plan(instance, [("x", 0, 1, 6), ("x", 1, 2, 6), ("x", 2, 3, 6)])
    placements = assemble(instance, chosen).placements
    assert np.array_equal(placements.end - placements.begin, [3])
