"""Dual values of one fusion plan, all at once, and bounds of groups that are means of two."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
import pytest

from formulations.fusion.agreement import Agreement
from formulations.fusion.paths import FusedGroupArcs
from formulations.fusion.uniform import single_operations
from formulations.solver.program import Floats
from spmopt.core.fusion.certificate import FusionCertificate
from spmopt.verifier import fusion_bound as verifier
from tests.formulations.fusion.random_tileable_graph import drawn
from tests.thorough import share, some


def run_to_its_end(steps: Generator[float, None, Floats | None]) -> Floats | None:
    """Return the result of a search in steps."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: Floats | None = end.value
            return found


def test_single_operations_at_the_dual_values_cost_as_much_as_in_one_program() -> None:
    """Strong duality: there are none at which they cost more."""
    compared = 0
    for seed in some(range(120)):
        _, _, figures = drawn(seed, most=6, mappings=1 + seed % 2)
        search = Agreement(FusedGroupArcs(figures, float(figures.capacity), split=True))
        found = run_to_its_end(search._agree_along(single_operations(figures)))
        if found is None:
            continue
        for times in (1.0, 1.1, 0.9):
            total = 0.0
            for each in single_operations(figures):
                priced = search._program_of(each)
                priced.solve(times * found)
                total += priced.value
            assert total <= search.least * (1 + 1e-6) + 1e-12, seed
            # Dual values below 0, or above what a certificate may have, are cut off.
            same = total == pytest.approx(search.least, rel=1e-6)
            compared += times == 1 and same and bool(found.any())
    assert compared > share(20)


def test_groups_without_dual_values_take_the_best_mean_of_their_bounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the verifier as by the search; of computing or of bytes alone they prove less."""
    raised = 0
    for seed in some(range(40)):
        listed, objective, figures = drawn(seed, most=6)
        arcs = FusedGroupArcs(figures, float(figures.capacity), split=True)
        search = Agreement(arcs)
        if not any(search._costs):
            continue
        prices = np.full(search.duals.count, 0.5 * search.planes.unit)
        certificate = FusionCertificate(
            fusion_space=figures.fusion_space,
            objective=objective,
            bits=60,
            duals={},
            carried={
                place: (round(held * 2**60), round(newer * 2**60))
                for place, (held, newer) in search.duals.with_name(prices).items()
            },
        )
        bound = float(verifier.FusionPlanPath(listed, certificate).value())
        value = search._path(prices)[0]
        assert bound >= value * (1 - 1e-6) - 1e-9, seed
        with monkeypatch.context() as patch:
            patch.setattr(verifier, "PARTS", 1)
            least = float(verifier.FusionPlanPath(listed, certificate).value())
        assert bound >= least * (1 - 1e-9) - 1e-9, seed
        raised += bound > least * 1.001
    assert raised
