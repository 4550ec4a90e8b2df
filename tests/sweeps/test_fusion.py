"""Rows of the scheduler of tiles.

Held against the bound over the fusion space, not that of the list.
"""

from __future__ import annotations

import pytest

from spmopt.hardware.machines import load_machine
from spmopt.solving import solve
from spmopt.sweeps.cases import Network, SweepCase, sections
from spmopt.sweeps.curve import Between
from spmopt.sweeps.rows import row_of
from spmopt.sweeps.work import SolveOptions, enclose, point

CASE = SweepCase(
    network=Network(name="alexnet", batch=4),
    machine=load_machine("rtx2080ti"),
    capacities=(1_000_000,),
)
SEARCH = SolveOptions(tolerance=1e-2, time_limit_s=5.0)


def test_a_row_in_pieces_may_beat_the_bound_of_the_list() -> None:
    (section,) = sections(CASE, lambda text: None)
    (size,) = CASE.capacities
    solved = enclose(section, None, size, SEARCH)
    listed = Between(
        lower=solved.lower, upper=solved.upper, cut=solved, chord=(solved.capacity_bytes,)
    )
    names = ("belady", "residency", "fusion", "fusion:space=single-product")
    belady, page, fusion, fuse = point(section, size, names, {None: listed}, SEARCH)
    assert page.bound is not None
    assert page.value is not None
    assert fusion.value is not None
    assert fusion.bound is not None
    assert fuse.bound is not None
    assert belady.bound is not None
    assert float(belady.bound) == pytest.approx(float(page.bound), rel=1e-3)
    assert fusion.bound <= fusion.value < page.bound
    assert fusion.bound <= fuse.bound
    assert fusion.verified
    row = row_of(CASE, size, fusion, "time")
    assert (row["order"], row["bound_from"]) == ("fusion_plan", "dual values of fused groups")
    again = solve(section.problem(size), "fusion", SEARCH.request(section.problem(size)))
    assert again.fusion_bound is not None
    assert again.fusion_bound <= fusion.value
