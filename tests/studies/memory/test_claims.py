"""Which figures of a paper count as met."""

import pytest

from spmopt.studies.memory.claim import Claim, claimed, inputs
from spmopt.studies.memory.iso_area import CLAIMS
from spmopt.studies.memory.iso_capacity import CLAIMS as SAME


def claim(paper: float | None, *, is_percent: bool = False) -> Claim:
    return Claim(text="a", paper=paper, found=lambda rows: 1.0, is_percent=is_percent)


def test_inputs_and_figures_that_the_paper_lacks_are_not_counted() -> None:
    own, (given,), alone = claim(2.0), inputs([claim(2.0)]), claim(None, is_percent=True)
    assert claimed([own, given, alone]) == [own]
    assert (own.title, given.title) == ("a", "a (input)")


@pytest.mark.parametrize("value", [0.0, 17.44, 100.0])
def test_what_the_paper_lacks_is_neither_met_nor_missed(value: float) -> None:
    alone = claim(None, is_percent=True)
    assert alone.cell(value) == f"{value:.1f}"
    assert not alone.is_missed_by(value)


def test_capacities_areas_and_means_over_other_workloads_are_not_claimed() -> None:
    for claims in (CLAIMS, SAME):
        counted = claimed(claims)
        assert 0 < len(counted) < len(claims)
        for one in counted:
            assert not any(word in one.text for word in ("capacity", "area", "mean"))
    assert len(claimed(CLAIMS)) == len(CLAIMS) - 2 - 2
