"""Curves: what is laid out over what, bands that hold the optimum, accounts of schedulers."""

from pathlib import Path

import numpy as np
import pytest

from spmopt.core.errors import InputError
from spmopt.reporting.curves import Panel, curves_of
from spmopt.sweeps.stored import read_stored_sweep
from tests.reporting.curves.rows import curves, relaxed, schedule

RESULTS = Path(__file__).parents[3] / "results"
SIZES = (4096, 8192, 65536)


def test_a_band_is_from_the_highest_bound_to_the_best_schedule_of_its_order() -> None:
    found = curves(
        relaxed(1.1, 1.0),
        schedule("residency", 1.3, 1.05),
        schedule("belady", 1.5, 1.0),
        schedule("tsai", 0.9, 0.8, order="depth-first"),
        relaxed(0.95, 0.9, spm_bytes=8192),
    )
    (panel,) = found.views[0].panels
    band = panel.band
    assert band is not None
    assert band.order == "listed"
    assert band.x.tolist() == [4096, 8192]
    assert band.low.tolist() == [1.05, 0.9]
    assert band.high[0] == 1.3
    assert np.isnan(band.high[1])
    assert [line.label for line in panel.lines] == ["residency", "belady", "tsai (depth-first)"]
    assert [line.rank for line in panel.lines] == [0, 1, 2]


def test_only_what_was_minimized_has_a_band() -> None:
    found = curves(
        *(schedule("residency", size / 1e4, size / 2e4, spm_bytes=size) for size in SIZES)
    )
    labels = [(view.y.label, view.x.label) for view in found.views]
    assert labels == [
        ("time", "scratchpad"),
        ("traffic", "scratchpad"),
        ("gap to bound", "scratchpad"),
    ]
    assert [view.panels[0].band is not None for view in found.views] == [True, False, False]
    assert found.view(y="gap").panels[0].lines[0].y.tolist() == [1.0, 1.0, 1.0]
    assert found.views[0].is_log
    with pytest.raises(InputError, match="no curves of energy over anything: there are time over"):
        found.view(y="energy")


def test_panels_are_told_apart_by_what_differs_but_x() -> None:
    found = curves(
        *(
            schedule(
                "residency", 1.0, 1.0, spm_bytes=size, dram_bytes_per_s=rate, training=training
            )
            for training in (False, True)
            for rate in (10**9, 2 * 10**9)
            for size in SIZES
        )
    )
    view = found.views[0]
    assert [panel.title for panel in view.panels] == [
        "inference, 1 GB/s",
        "inference, 2 GB/s",
        "training, 1 GB/s",
        "training, 2 GB/s",
    ]
    assert view.x.key == "spm_bytes"
    other = found.view(x="bandwidth")
    assert [panel.title for panel in other.panels][:2] == [
        "inference, SPM 4 KiB",
        "inference, SPM 8 KiB",
    ]
    assert found.conditions == (
        "batch 4, mapper panel, npu, 1 TFLOP/s, 1 GHz, pages of 16 B, objective time"
    )


def test_a_rate_that_follows_from_the_rest_makes_no_panels() -> None:
    rates = {4096: 10**9, 8192: 2 * 10**9, 65536: 3 * 10**9}
    rows = [
        schedule("residency", 1.0, 1.0, spm_bytes=size, dram_bytes_per_s=rate)
        for size, rate in rates.items()
    ]
    (panel,) = curves(*rows).views[0].panels
    assert panel.title == ""
    assert panel.lines[0].x.tolist() == list(SIZES)


def test_names_are_places_where_no_number_varies() -> None:
    rows = [
        schedule("residency", time, 0.5, network=name) for name, time in (("b", 1.0), ("a", 2.0))
    ]
    view = curves(*rows).views[0]
    assert (view.x.label, view.categories, view.is_log) == ("network", ("b", "a"), False)
    assert view.panels[0].lines[0].x.tolist() == [0.0, 1.0]


def test_settings_swept_are_axes_if_they_are_numbers() -> None:
    rows = [
        schedule("residency", float(place + 1), 1.0, **{"energy.mac_pj": text, "technology": name})
        for name in ("sram", "stt")
        for place, text in enumerate(("0.5", "1"))
    ]
    view = curves(*rows, extra=("energy.mac_pj", "technology")).views[0]
    assert view.x.key == "energy.mac_pj"
    assert [panel.title for panel in view.panels] == ["technology sram", "technology stt"]
    assert view.panels[0].lines[0].x.tolist() == [0.5, 1.0]


def test_accounts_and_remarks() -> None:
    found = curves(
        schedule("residency", 1.0, 1.0, status="optimal"),
        schedule("residency", 1.5, 1.0, spm_bytes=8192),
        schedule("belady", 2.0, None),
        {**schedule("belady", 0.0, None, spm_bytes=8192), "status": "infeasible", "time_s": None}
        | {"value": None, "verified": None},
        relaxed(1.5, 1.0, order="listed"),
    )
    page, belady = found.accounts
    assert page == {
        **{"scheduler": "residency", "schedules": 2, "optimal": 1},
        **{"mean_gap": 0.25, "worst_gap": 0.5, "worst_at": "SPM 8 KiB"},
    }
    assert (belady["schedules"], belady["mean_gap"], belady["worst_at"]) == (1, None, "")
    said = "\n".join(found.remarks)
    assert "3 schedules, all verified" in said
    assert "1 of 5 rows (20 %) are infeasible." in said


def test_nothing_to_draw_is_said() -> None:
    row = {
        **schedule("residency", 0.0, None),
        "time_s": None,
        "traffic_bytes": None,
        "verified": None,
    }
    with pytest.raises(InputError, match="nothing can be drawn"):
        curves(row)


@pytest.mark.parametrize("name", ["capacity", "speedup"])
def test_every_point_is_a_row_of_the_file(name: str) -> None:
    stored = read_stored_sweep(RESULTS / name / "rows.csv")
    found = curves_of(stored.rows, stored.names, stored.extra)
    view = found.views[0]
    drawn = [
        (line.label.split(" (")[0], x, y)
        for panel in view.panels
        for line in panel.lines
        for x, y in zip(line.x.tolist(), line.y.tolist(), strict=True)
    ]
    assert sorted(drawn) == sorted(
        (row["scheduler"], row["spm_bytes"], row["time_s"])
        for row in stored.rows
        if row["verified"] is not None and row["objective"] == "time"
    )
    for panel in view.panels:
        _require_enclosed(panel)


def _require_enclosed(panel: Panel) -> None:
    """No schedule of the band's order is outside of it."""
    assert panel.band is not None
    low = dict(zip(panel.band.x.tolist(), panel.band.low.tolist(), strict=True))
    high = dict(zip(panel.band.x.tolist(), panel.band.high.tolist(), strict=True))
    for line in panel.lines:
        for x, y in zip(line.x.tolist(), line.y.tolist(), strict=True):
            if not line.label.endswith(")"):
                assert low[x] <= high[x] <= y


def test_the_band_of_fusion_plans_is_below_every_schedule() -> None:
    """The bound layer by layer stood above fused schedules."""
    rows = (
        schedule("residency", 3.0, 2.5, order="listed"),
        schedule("fusion", 2.0, 1.5, order="fusion_plan"),
    )
    (panel,) = curves(*rows).views[0].panels
    band = panel.band
    assert band is not None
    assert (band.order, band.low.tolist(), band.high.tolist()) == ("fusion_plan", [1.5], [2.0])
    assert [line.label for line in panel.lines] == ["residency", "fusion"]
