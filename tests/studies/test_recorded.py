"""Pages in results/ are what the recorded rows say."""

from pathlib import Path

import pytest

from spmopt.studies.page import markdown
from spmopt.studies.record import read
from spmopt.studies.registry import STUDIES
from spmopt.studies.study import Study

RESULTS = Path(__file__).parents[2] / "results"
RECORDED = [
    pytest.param(study, id=name)
    for name, study in STUDIES.items()
    if (RESULTS / f"{name}.csv").exists()
]


@pytest.mark.parametrize("study", RECORDED)
def test_the_page_is_made_of_the_rows(study: Study) -> None:
    recorded = read(study, RESULTS)
    findings = study.find(recorded.rows, recorded.figures)
    page = (RESULTS / f"{study.name}.md").read_text()
    assert page == markdown(study, recorded.head, findings)
    assert page.startswith(f"    spmopt study {study.name}\n")
    if study.draw is not None:
        assert (RESULTS / f"{study.name}.png").exists()


@pytest.mark.parametrize("study", RECORDED)
def test_rows_are_verified_and_hold_to_their_bounds(study: Study) -> None:
    for row in read(study, RESULTS).rows:
        assert row["verified"] in (True, None)
        if isinstance(row["value"], float) and isinstance(row["bound"], float):
            assert row["value"] >= row["bound"] * (1 - 1e-12)
