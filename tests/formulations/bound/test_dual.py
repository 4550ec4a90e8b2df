"""The Lagrangian dual, forward against backward; its value is tested with certificates."""

from __future__ import annotations

import numpy as np
import pytest

from formulations.residency.bound.duals import Multipliers
from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective
from spmopt.core.timeline import Access
from tests.formulations.priced import Case, cases, random_duals
from tests.strategies import random_problem
from tests.thorough import share
from tests.tiny import Op, tiny


def test_forward_and_backward_meet_at_every_access() -> None:
    """Best = forward + backward over the states of an access, arriving and after it."""
    for seed, case in enumerate(cases(share(100))):
        intervals, priced = case.intervals, case.priced(random_duals(case, seed))
        ahead, back = priced.ahead, priced.back
        best_of = dict(
            zip(
                intervals.tensor[intervals.next < 0].tolist(),
                ahead.best[intervals.next < 0].tolist(),
                strict=True,
            )
        )
        best = np.array([best_of[tensor] for tensor in intervals.tensor.tolist()])
        after = np.minimum(
            np.minimum(ahead.dirty + back.dirty, ahead.clean + back.clean), ahead.gone + back.gone
        )
        arriving = np.minimum(
            np.minimum(ahead.dirty_in + back.dirty_in, ahead.clean_in + back.clean_in),
            np.where(
                intervals.kind == Access.WRITE,
                ahead.bypass + back.bypass,
                ahead.gone_in + back.gone_in,
            ),
        )
        np.testing.assert_allclose(after, best, rtol=1e-9, atol=1e-12 * case.byte)
        np.testing.assert_allclose(arriving, best, rtol=1e-9, atol=1e-12 * case.byte)


@pytest.mark.parametrize(
    ("objective", "spm", "dma", "value"),
    [
        # Two reads of 8 bytes: streamed twice, or held at 3 x 8 less the 8 bytes there are.
        (TRAFFIC, 0.0, 0.0, 8.0),
        (TRAFFIC, 1 / 8, 0.0, 8 + 3 - 3),
        (TRAFFIC, 1 / 2, 0.0, 16 - 12),
        # A byte's time is worth 1/2, and so is a cycle of the 5 + 0 + 5 of computing.
        (MAKESPAN, 0.0, 1 / 2, 4 + 5),
        (MAKESPAN, 0.0, 1.0, 8.0),
        (MAKESPAN, 0.0, 0.0, 10.0),
    ],
)
def test_values_by_hand(objective: Objective, spm: float, dma: float, value: float) -> None:
    read = Op(reads="x", cycles=5)
    case = Case.of(tiny({"x": (8, "in")}, [read, Op(), read], spm=8), objective)
    duals = Multipliers.legal(case.coefficients, *(np.full(3, dual) for dual in (spm, dma, dma)))
    assert case.priced(duals).value == pytest.approx(value)


def test_a_gap_is_crossed_at_its_cheapest_steps() -> None:
    """y is written in step 0 and read in step 5; step 3 holds what makes it leave."""
    operations = [Op(writes="y"), Op(), Op(), Op(), Op(), Op(reads="y")]
    case = Case.of(tiny({"y": (1, "")}, operations, spm=4), TRAFFIC)
    nothing = np.zeros(6)
    for dual, best in ((1.0, 1.0), (3.0, 2.0)):
        spm = np.array([0, 0, 0, dual, 0, 0])
        priced = case.priced(Multipliers.legal(case.coefficients, spm, nothing, nothing))
        assert priced.ahead.best[1] == best
    assert priced.arc.drop_at[1] in (1, 2)  # before step 3
    assert priced.arc.load_at[1] == 4  # after it


def test_dear_duals_are_made_legal() -> None:
    for case in cases(share(30)):
        steps, limit = case.intervals.steps, case.coefficients.byte_time
        dear = np.full(steps, 3 * limit + 1)
        duals = Multipliers.legal(case.coefficients, -dear, dear, 2 * dear)
        assert (duals.spm == 0).all()
        total = duals.load + duals.store if case.coefficients.duplex else duals.load
        np.testing.assert_allclose(total, limit)
        np.testing.assert_allclose(
            duals.slack_dual(case.coefficients), 0, atol=1e-12 * case.coefficients.cycle
        )
        if not case.coefficients.duplex:
            assert duals.store is duals.load


def test_duals_that_are_no_numbers_are_made_legal() -> None:
    case = Case.of(random_problem(3), MAKESPAN)
    bad = np.full(case.intervals.steps, np.nan)
    duals = Multipliers.legal(case.coefficients, bad, bad, bad)
    assert not duals.spm.any()
    assert not duals.load.any()


def test_the_bound_is_concave_between_duals() -> None:
    for seed, case in enumerate(cases(share(40))):
        one, other = random_duals(case, seed), random_duals(case, seed + 1000)
        ends = case.priced(one).value, case.priced(other).value
        for weight in (0.25, 0.5):
            middle = case.priced(one.mix(other, weight)).value
            chord = (1 - weight) * ends[0] + weight * ends[1]
            assert middle >= chord - 1e-9 * max(case.scale, abs(chord)), seed
