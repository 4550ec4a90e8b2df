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
from spmopt.core.objective import objective_named
from spmopt.verifier.carried import Carried
from spmopt.verifier.fused_group_bound import fused_group_bound
from spmopt.verifier.fused_group_uses import Liveness
from tests.formulations.fusion.random_tileable_graph import fusion_plans, random_tileable_graph
from tests.formulations.fusion.test_fused_groups import OBJECTIVES, relaxed
from tests.thorough import share, some

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


@pytest.mark.parametrize("fine", [False, True])
def test_no_fusion_plan_costs_less_than_its_fused_groups_at_any_duals(fine: bool) -> None:
    """Dual values of rows prove what the program says, in exact integers."""
    random, compared, changed = np.random.default_rng(3), 0, 0
    for seed in some(range(500, 540)):
        listed = random_tileable_graph(seed)
        objective = objective_named(OBJECTIVES[seed % 3], listed.machine)
        figures, live = Listed(listed, objective), Liveness(listed)
        byte = figures.dearest_row * listed.machine.clock_hz
        few = list(fusion_plans(listed))
        random.shuffle(few)
        for fusion_plan in few[:4]:
            value = relaxed(listed, fusion_plan, objective)
            if value is None:
                continue
            duals = random_duals(figures, random)
            carried, total = Carried(listed, duals), 0.0
            for fused_group in fusion_plan:
                found, rows = priced(figures, fused_group, duals, fine=fine)
                exact = fused_group_bound(
                    live, fused_group, objective, rows, BITS, carried=carried, fine=fine
                )
                scale = abs(found) + byte * figures.capacity
                assert exact / 2**BITS == pytest.approx(found, abs=1e-7 * scale), (
                    seed,
                    fused_group,
                )
                total += exact / 2**BITS
            assert total <= value[1] * (1 + 1e-6) + 1e-15, (seed, fusion_plan)
            compared += 1
            changed += bool(duals)
    assert compared > share(60)
    assert changed > share(30)


def test_duals_of_what_is_not_carried_across_are_refused() -> None:
    listed = random_tileable_graph(500)
    with pytest.raises(InputError, match="boundary 0 has no dual value"):
        Carried(listed, {(0, -1): (1, 1)})
