"""What fused groups carry across boundaries, at random duals: these cancel, whatever they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from formulations.fusion.fused_group import OPTIONS, FusedGroupProgram
from formulations.fusion.rows import in_integers
from formulations.fusion.tileable import Listed
from formulations.solver.highs import solve
from spmopt.core.errors import InputError
from spmopt.core.fusion.certificate import Row
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.verifier.carried import Carried
from tests.formulations.fusion.random_tileable_graph import (
    random_tileable_graph,
)

BITS = 80
Duals = dict[tuple[int, int], tuple[int, int]]


def random_duals(figures: Listed, random: np.random.Generator) -> Duals:
    """Return duals of all that is carried across boundaries.

    Of a byte and of one newer than DRAM.
    """
    byte = figures.dearest_row * figures.tileable.machine.clock_hz
    return {
        (boundary, group): (
            round(byte * random.uniform(-0.5, 2.0) * 2**BITS),
            round(byte * random.uniform(-0.5, 1.5) * 2**BITS),
        )
        for boundary, crossed in enumerate(figures.crossing)
        for group in crossed
    }


def priced(
    figures: Listed, fused_group: FusedGroup, duals: Duals, *, fine: bool
) -> tuple[float, dict[Row, int]]:
    """Return the value of a fused group at dual values, and those of its rows."""
    own, ends = fused_group, (fused_group.begin, fused_group.end)
    if fused_group.stripes > 1:
        figures, own = figures.of_stripes(fused_group)
    program = FusedGroupProgram(figures, own, figures.capacity, carried=bool(duals), fine=fine)
    found = program.program()
    cost = found.cost.copy()
    for end, group, newer, column in program.ends.carried:
        dual = duals[ends[end], group][newer] / 2**BITS / program.dual
        cost[column] += dual if (end == 0) != newer else -dual
    answer = solve(replace(found, cost=cost), options=OPTIONS, brief=True)
    rows = in_integers(program.duals(answer), BITS, figures)
    return program.value(answer), rows


def test_duals_of_what_is_not_carried_across_are_refused() -> None:
    listed = random_tileable_graph(500)
    with pytest.raises(InputError, match="boundary 0 has no dual value"):
        Carried(listed, {(0, -1): (1, 1)})
