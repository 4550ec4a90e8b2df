"""A study as view data has the figures of ``tune show``."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from optuna.study import Study

from spmopt.reporting.search.view import front_view
from spmopt.reporting.search.words import STATES
from spmopt.search.findings import findings_of, rows, study_json
from spmopt.search.setup import Setup
from tests.search.study import journal, search, small_setup, small_space


def told(study: Study, setup: Setup, top: int | None = None) -> tuple[Any, Any, list[Any]]:
    """View, record and rows of the same study, all as a file has them."""
    found = findings_of(study, setup, top)
    view = asdict(front_view(found))
    record = study_json(found)
    return json.loads(json.dumps(view)), json.loads(json.dumps(record)), rows(found)


def test_figures_are_those_of_the_record(tmp_path: Path) -> None:
    setup = small_setup(small_space(constraints=["gbps <= 1.5"]))
    study = search(journal(tmp_path, "s"), setup, sampler="brute-force")
    view, record, table = told(study, setup)
    assert [axis["label"] for axis in view["axes"]] == [
        "time",
        "cost",
        "DRAM bandwidth, GB/s",
        "scratchpad, MB",
        "trial",
    ]
    assert [axis["key"] for axis in view["axes"] if axis["is_objective"]] == list(setup.objectives)
    assert view["axes"][2]["limits"] == [{"text": "DRAM bandwidth, GB/s <= 1.5", "value": 1.5}]
    assert view["members"] == [each["trial"] for each in record["front"]]
    for own, each in zip(view["trials"], record["trials"], strict=True):
        assert own["number"] == each["trial"]
        assert own["state"] == STATES[each["state"]]
        assert own["gap"] == each["gap"]
        assert (each["figures"] or {}).items() <= own["figures"].items()
        bounds = (each["proof"] or {}).get("bounds", {})
        assert bounds.items() <= own["least"].items()
        assert bool(own["said"]) >= bool(each["proof"])
        assert own["figures"]["spm_mb"] == each["parameters"]["spm"] / 1e6
    by_number = {own["number"]: own for own in view["trials"]}
    for row, each in zip(table, record["front"], strict=True):
        own = by_number[row["trial"]]
        for name in setup.objectives:
            assert own["figures"][name] == row[name] == each["values"][name]
            assert own["least"][name] <= own["figures"][name]
        assert bool(each["merged"]) == any("as good" in text for text in own["said"])


def test_bounds_are_said_to_be(tmp_path: Path) -> None:
    setup = small_setup(scheduler="bound")
    view, _, _ = told(search(journal(tmp_path, "s"), setup, trials=3), setup)
    assert view["bounds_only"]


@pytest.mark.parametrize("top", [1, 3])
def test_the_best_take_the_place_of_the_front(tmp_path: Path, top: int) -> None:
    setup = small_setup(objectives=("time_s",))
    view, record, _ = told(search(journal(tmp_path, "s"), setup, trials=5, prune=False), setup, top)
    assert view["top"] == top
    assert len(view["members"]) == top
    assert view["members"] == [each["trial"] for each in record["front"]]
