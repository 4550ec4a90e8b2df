"""Addresses: legal for any residency that fits, in few rows (R8)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spmopt.assemble import assemble
from spmopt.assemble.addresses import Allocator, allocate_in_time
from spmopt.core.problem import Problem
from spmopt.core.schedule import Placements, ResidencyPlan, Stores
from spmopt.core.timeline import timeline
from tests.assemble.small import make_problem, residency_plan
from tests.thorough import share
from tests.tiny import Op

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
def fitting_residency_plans(draw: st.DrawFn) -> tuple[Problem, ResidencyPlan]:
    """Random prefixes of eight tensors over twelve steps, with scratch, within the SPM."""
    sizes = draw(st.lists(st.integers(1, 6 * PAGE), min_size=8, max_size=8))
    tensors = {f"t{k}": (size, "in") for k, size in enumerate(sizes)}
    rows: list[tuple[str, int, int, int]] = []
    free = [SPM_PAGES] * 12
    for name, (most, _) in tensors.items():
        step = 0
        while step < 12:
            step += draw(st.integers(0, 3))
            end = min(12, step + draw(st.integers(1, 5)))
            size = draw(st.integers(1, most))
            pages = -(-size // PAGE)
            if step < end and min(free[step:end]) >= pages:
                free[step:end] = [have - pages for have in free[step:end]]
                rows.append((name, step, end, size))
            step = end
    operations = [Op(scratch=draw(st.integers(0, have * PAGE))) for have in free]
    problem = make_problem(tensors, operations, spm=SPM_PAGES * PAGE + 3, page=PAGE)
    return problem, residency_plan(problem, rows)


@settings(max_examples=share(200), deadline=None)
@given(fitting_residency_plans())
def test_every_resident_page_has_one_place_and_keeps_it(
    case: tuple[Problem, ResidencyPlan],
) -> None:
    problem, chosen = case
    placements = assemble(problem, chosen).placements
    rows = chosen.residency
    before: dict[tuple[int, int], int] = {}
    for step, operation in enumerate(problem.operations):
        held = (rows.begin <= step) & (step < rows.end)
        expected = {
            (int(tensor), page)
            for tensor, size in zip(rows.tensor[held], rows.size_bytes[held], strict=True)
            for page in range(-(-int(size) // PAGE))
        }
        expected |= {(-1, page) for page in range(-(-operation.mappings[0].scratch_bytes // PAGE))}
        where = owners(placements, step)
        assert set(where.values()) == expected
        assert all(0 <= page < SPM_PAGES for page in where)
        now = {owner: page for page, owner in where.items() if owner[0] >= 0}
        assert all(before.get(owner, page) == page for owner, page in now.items())
        before = now


def test_a_tensor_goes_on_behind_its_last_page() -> None:
    allocator = Allocator(20)
    # 0 at the low end; those that leave before it at the high one: 1 at 18, 2 at 15, 3 at 14.
    for tensor, pages, leaves in ((0, 4, 9), (1, 2, 5), (2, 3, 5), (3, 1, 6)):
        allocator.grow(0, tensor, 0, pages, leaves)
    allocator.shrink(1, 2, 0, 5)
    # The hole of 3 that 2 leaves would fit better; then, of 8 pages behind and that hole, none
    # holds 10.
    allocator.grow(1, 0, 4, 6, 9)
    allocator.grow(2, 0, 6, 16, 9)
    allocator.shrink(9, 0, 0, 9)
    assert sorted(row[1:4] for row in allocator.placements().rows() if row[0] == 0) == [
        (0, 4, 0),
        (4, 2, 4),
        (6, 8, 6),
        (14, 2, 15),
    ]


def test_what_leaves_together_lies_together() -> None:
    # In step 1 a and c are gone: b and d lie side by side, and e finds one range.
    problem = make_problem(dict.fromkeys("abcd", (3, "in")) | {"e": (6, "in")}, [Op()] * 2, spm=12)
    rows = [("a", 0, 1, 3), ("b", 0, 2, 3), ("c", 0, 1, 3), ("d", 0, 2, 3), ("e", 1, 2, 6)]
    placed = table(assemble(problem, residency_plan(problem, rows)).placements)
    assert [row[0] for row in placed] == [0, 1, 2, 3, 4]
    assert placed[-1][2] == 6


def test_a_request_that_no_hole_holds_is_split_into_the_fewest_pieces() -> None:
    allocator = Allocator(13)
    sizes = (5, 1, 2, 1, 3, 1)
    for tensor, size in enumerate(sizes):
        allocator.grow(0, tensor, 0, size, 1)
    for tensor in (0, 2, 4):
        allocator.shrink(1, tensor, 0, 1)
    # Holes of 5, 2 and 3 pages: the largest, and of the others the one that is just enough.
    allocator.grow(1, 6, 0, 7, 2)
    allocator.shrink(2, 6, 0, 2)
    assert sorted(row[1:4] for row in allocator.placements().rows() if row[0] == 6) == [
        (0, 5, 0),
        (5, 2, 6),
    ]


def test_overfull_plan_gets_addresses_beyond_the_scratchpad() -> None:
    problem = make_problem({"x": (6, "in"), "y": (6, "in")}, [Op()], spm=8)
    chosen = residency_plan(problem, [("x", 0, 1, 6), ("y", 0, 1, 6)])
    rows = table(assemble(problem, chosen).placements)
    assert rows == [(0, 0, 6, 0, 0, 1), (1, 0, 2, 6, 0, 1), (1, 2, 4, 8, 0, 1)]


@settings(max_examples=share(200), deadline=None)
@given(fitting_residency_plans(), st.lists(st.tuples(st.integers(0, 11), st.integers(0, 7))))
def test_places_in_time_are_places(
    case: tuple[Problem, ResidencyPlan], stored: list[tuple[int, int]]
) -> None:
    """Whatever was stored when, every resident page has one place."""
    problem, chosen = case
    stores = Stores.of_rows([(*each, 1) for each in sorted(set(stored))])
    line = timeline(problem, chosen.steps)
    placements = allocate_in_time(problem.machine, line, chosen.residency, stores)
    for step in range(line.steps):
        found = owners(placements, step)
        assert all(page < SPM_PAGES for page in found)
        for tensor, begin, end, size in chosen.residency.rows():
            if begin <= step < end:
                pages = [(tensor, page) for page in range(-(-size // PAGE))]
                assert set(pages) <= set(found.values())


@pytest.mark.parametrize(("pages", "waits"), [(4, False), (3, True)])
def test_an_operation_overwrites_what_no_store_empties(pages: int, waits: bool) -> None:
    """x leaves and is stored; y is written then, z loaded: z takes the pages of x, y others."""
    sizes = dict.fromkeys(("x", "y", "z"), (2 * PAGE, "in"))
    operations = [Op(writes="x"), Op(reads="z", writes="y"), Op(reads="y z")]
    problem = make_problem(sizes, operations, spm=pages * PAGE, page=PAGE)
    rows = [("x", 0, 1, 8), ("y", 1, 3, 8), ("z", 1, 3, (pages - 2) * PAGE)]
    chosen = residency_plan(problem, rows)
    names = [tensor.name for tensor in problem.tensors]
    x, y = names.index("x"), names.index("y")
    stores = Stores.of_rows([(0, x, 8)])
    line = timeline(problem, chosen.steps)
    placements = allocate_in_time(problem.machine, line, chosen.residency, stores)
    emptied = {page for page, (tensor, _) in owners(placements, 0).items() if tensor == x}
    overwritten = {page for page, (tensor, _) in owners(placements, 1).items() if tensor == y}
    assert bool(emptied & overwritten) == waits
