"""Pages of a sweep and of a search: points say what they are."""

from __future__ import annotations

from pathlib import Path

from tests.reporting.page.browser.conftest import Show
from tests.reporting.page.browser.pages import sweep
from tests.reporting.page.browser.saved import saved

_TIP = "const t = document.getElementById('tip'); return t.hidden ? '' : t.innerText"


def test_rows_of_a_sweep_are_saved(show: Show, downloads: Path) -> None:
    screen, rows = show("sweep"), sweep().rows
    found = saved(screen, downloads, "[data-table=table-1] .table", "rows.csv")
    assert [row["scheduler"] for row in found] == [row["scheduler"] for row in rows]
    for name in ("time_s", "bound", "gap"):
        texts = ["" if row.get(name) is None else row[name] for row in rows]
        assert [float(row[name]) if row[name] else "" for row in found] == texts
