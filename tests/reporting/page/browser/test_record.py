"""One small page is measured whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from results.pages import run
from results.shared.bench import TINY
from tests.reporting.page.browser import timing
from tests.reporting.page.browser.chromium import installed
from tests.thorough import nightly


@nightly
@pytest.mark.skipif(not installed(), reason="no Chromium is installed")
def test_a_small_page_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "KEPT", tmp_path)
    monkeypatch.setattr(timing, "MOVES", 8)
    one, two = (run.page(TINY, schedulers) for schedulers in run.PAGES.values())
    assert one["operations"] == two["operations"] > 5
    assert two["rectangles"] > one["rectangles"] > 0
    assert 0.01 < one["mb"] < two["mb"] < 1
    for figures in (one, two):
        assert figures["write_s"] > 0
        assert 0 < figures["painted_ms"] < 60_000
        assert 0 < figures["pictures_ms"] < 60_000
        for zoom in timing.ZOOMS:
            assert 1 < figures[f"frames_{zoom}"] < 200
            assert figures[f"frame_{zoom}_ms"] > 1000 / figures[f"frames_{zoom}"] / 2
    assert run.browser()["chromium"].split(".")[0].isdigit()
