"""Commands against rules R2 to R5 and R10, each on a problem written by hand."""

from __future__ import annotations

import pytest

from spmopt.assemble import assemble
from spmopt.core.errors import ScheduleError
from tests.assemble.small import make_problem, residency_plan
from tests.tiny import Op


def test_store_of_more_than_dram_lacks_cannot_be_expressed() -> None:
    problem = make_problem({"y": (5, "keep")}, [Op(writes="y"), Op()])
    chosen = residency_plan(problem, [("y", 0, 2, 5)], [(0, "y", 3), (1, "y", 3)])
    with pytest.raises(ScheduleError, match=r"more bytes than DRAM lacks.*row 1"):
        assemble(problem, chosen)
