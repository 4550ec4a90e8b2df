"""The figures of pages: one small page is measured whole, what is recorded is in its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spmopt.bench.small import TINY
from spmopt.bench.suite import Case
from tests.report.page.browser import record, timing
from tests.report.page.browser.chromium import installed
from tests.report.page.browser.record import main, pages

SMALL = pages([Case(network="mlp", spm="1024", parameters={"training": 1}, machine=TINY)])


@pytest.mark.skipif(not installed(), reason="no Chromium is installed")
def test_a_small_page_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "FOLDER", tmp_path)
    monkeypatch.setattr(record, "RUNS", 1)
    monkeypatch.setattr(timing, "MOVES", 8)
    main([], SMALL)
    found = json.loads((tmp_path / "pages.json").read_text(encoding="utf-8"))
    assert found["versions"]["chromium"].split(".")[0].isdigit()
    assert [row["case"]["network"] for row in found["rows"]] == ["mlp", "mlp"]
    one, two = (row["figures"] for row in found["rows"])
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
    text = (tmp_path / "pages.md").read_text(encoding="utf-8")
    assert text.startswith(f"    {record.COMMAND}\n")
    assert "| mlp, training=1 | 1024 | two compared |" in text
    assert f"chromium {found['versions']['chromium']}" in text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pages.json", "pages.md"]


@pytest.mark.parametrize(("arguments", "code"), [(["--help"], 0), (["--only", "magic"], 2)])
def test_help_and_mistakes_measure_nothing(
    capsys: pytest.CaptureFixture[str], arguments: list[str], code: int
) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == code
    said = capsys.readouterr()
    assert ("resnet50" in said.out) == (code == 0)
    assert ("magic" in said.err) == (code == 2)
