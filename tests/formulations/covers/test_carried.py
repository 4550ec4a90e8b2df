"""What segments carry across borders, at random prices: these cancel, whatever they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from formulations.covers.listed import Listed
from formulations.covers.rows import in_integers
from formulations.covers.segment import OPTIONS, SegmentProgram
from formulations.solver.highs import solve
from spmopt.core.errors import InputError
from spmopt.core.objective import objective_named
from spmopt.core.pieces.certificate import Row
from spmopt.core.pieces.segments import Segment
from spmopt.verifier.carried import Carried
from spmopt.verifier.segment_bound import segment_bound
from spmopt.verifier.segment_uses import Liveness
from tests.formulations.covers.random_listing import covers, random_listing
from tests.formulations.covers.test_segments import OBJECTIVES, relaxed
from tests.thorough import share, some

BITS = 80
Prices = dict[tuple[int, int], tuple[int, int]]


def random_prices(figures: Listed, random: np.random.Generator) -> Prices:
    """Return prices of all that is carried across borders, of a byte and of one newer than DRAM."""
    byte = figures.dearest_row * figures.listing.machine.clock_hz
    return {
        (border, group): (
            round(byte * random.uniform(-0.5, 2.0) * 2**BITS),
            round(byte * random.uniform(-0.5, 1.5) * 2**BITS),
        )
        for border, crossed in enumerate(figures.crossing)
        for group in crossed
    }


def priced(
    figures: Listed, segment: Segment, prices: Prices, *, fine: bool
) -> tuple[float, dict[Row, int]]:
    """Return the value of a segment at prices, and those of its rows."""
    own, ends = segment, (segment.begin, segment.end)
    if segment.bands > 1:
        figures, own = figures.of_bands(segment)
    program = SegmentProgram(figures, own, figures.capacity, carried=bool(prices), fine=fine)
    found = program.program()
    cost = found.cost.copy()
    for end, group, newer, column in program.ends.carried:
        price = prices[ends[end], group][newer] / 2**BITS / program.price
        cost[column] += price if (end == 0) != newer else -price
    answer = solve(replace(found, cost=cost), options=OPTIONS, brief=True)
    rows = in_integers(program.prices(answer), BITS, figures)
    return program.value(answer), rows


@pytest.mark.parametrize("fine", [False, True])
def test_no_cover_costs_less_than_its_segments_at_any_prices(fine: bool) -> None:
    """Prices of rows prove what the program says, in exact integers."""
    random, compared, changed = np.random.default_rng(3), 0, 0
    for seed in some(range(500, 540)):
        listed = random_listing(seed)
        objective = objective_named(OBJECTIVES[seed % 3], listed.machine)
        figures, live = Listed(listed, objective), Liveness(listed)
        byte = figures.dearest_row * listed.machine.clock_hz
        few = list(covers(listed))
        random.shuffle(few)
        for cover in few[:4]:
            value = relaxed(listed, cover, objective)
            if value is None:
                continue
            prices = random_prices(figures, random)
            carried, total = Carried(listed, prices), 0.0
            for segment in cover:
                found, rows = priced(figures, segment, prices, fine=fine)
                exact = segment_bound(
                    live, segment, objective, rows, BITS, carried=carried, fine=fine
                )
                scale = abs(found) + byte * figures.capacity
                assert exact / 2**BITS == pytest.approx(found, abs=1e-7 * scale), (seed, segment)
                total += exact / 2**BITS
            assert total <= value[1] * (1 + 1e-6) + 1e-15, (seed, cover)
            compared += 1
            changed += bool(prices)
    assert compared > share(60)
    assert changed > share(30)


def test_prices_of_what_is_not_carried_across_are_refused() -> None:
    listed = random_listing(500)
    with pytest.raises(InputError, match="border 0 has no price"):
        Carried(listed, {(0, -1): (1, 1)})
