"""Tables: sorted, searched and saved they have what the record has; totals are the metrics'."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path

import pytest

from spmopt.metrics import metrics
from spmopt.report.quantities import percent, share, si
from tests.report.page.browser.conftest import Show
from tests.report.page.browser.pages import Record, contrast, record
from tests.report.page.browser.screen import Screen
from tests.report.samples import picture, stored

TABLES = "#tables .table"


def saved(screen: Screen, downloads: Path, table: str, name: str) -> list[dict[str, str]]:
    """Press the button, and read the file that comes."""
    path = downloads / name
    path.unlink(missing_ok=True)
    screen.click(f"{table} [aria-label^='Save CSV']")
    for _ in range(600):
        if path.exists() and not list(downloads.glob("*.crdownload")):
            break
        screen.settle(50)
    return list(csv.DictReader(StringIO(path.read_text(encoding="utf-8"), newline="")))


def agree(rows: list[dict[str, str]], table: Record) -> None:
    """Every value of a file is that of the record, in full."""
    columns = table["columns"]
    assert len(rows) == len(table["rows"])
    for row, expected in zip(rows, table["rows"], strict=True):
        for column, value in zip(columns, expected, strict=True):
            text = row[column["name"]]
            assert (float(text) if column["numeric"] and text else text) == (
                "" if value is None else value
            )


@pytest.mark.parametrize("per", ["layer", "tensor", "operation", "cause"])
def test_a_file_has_what_the_table_has(show: Show, downloads: Path, per: str) -> None:
    screen, found = show("one"), record("page")
    if per != "layer":
        screen.click(f"#tables input[value='{per}']")
    table = found["tables"][per]
    assert len(screen.all(f"{TABLES} tbody tr")) == min(100, len(table["rows"]))
    agree(saved(screen, downloads, TABLES, f"{per}.csv"), table)


def test_rows_are_sorted_either_way_and_as_they_were(show: Show, downloads: Path) -> None:
    screen, table = show("one"), record("page")["tables"]["layer"]
    names = [row[0] for row in table["rows"]]
    column = [each["name"] for each in table["columns"]].index("time_s")
    rows = f"{TABLES} tbody th"
    falling = sorted(table["rows"], key=lambda row: -row[column])
    screen.click(f"{TABLES} th button.head", column)
    assert screen.texts(rows) == [row[0] for row in falling]
    head = f"{TABLES} thead th:nth-child({column + 1})"
    assert screen.find(head).get_attribute("aria-sort") == "descending"
    agree(saved(screen, downloads, TABLES, "layer.csv"), {**table, "rows": falling})
    screen.click(f"{TABLES} th button.head", column)
    rising = sorted(table["rows"], key=lambda row: row[column])
    assert screen.texts(rows) == [row[0] for row in rising]
    assert screen.find(head).get_attribute("aria-sort") == "ascending"
    screen.click(f"{TABLES} th button.head", column)
    assert screen.texts(rows) == names
    assert screen.find(head).get_attribute("aria-sort") is None


def test_search_leaves_the_rows_that_contain_the_words(show: Show, downloads: Path) -> None:
    screen, table = show("one"), record("page")["tables"]["operation"]
    screen.click("#tables input[value='operation']")
    word = table["rows"][0][0][:6]
    texts = [at for at, column in enumerate(table["columns"]) if not column["numeric"]]
    kept = [row for row in table["rows"] if any(word.lower() in row[at].lower() for at in texts)]
    assert 0 < len(kept) < len(table["rows"])
    screen.find(f"{TABLES} input[type=search]").send_keys(word.upper())
    shown = "return document.querySelectorAll('#tables tbody tr').length === arguments[0]"
    screen.until(shown, len(kept))
    assert screen.texts(f"{TABLES} tbody th") == [row[0] for row in kept]
    agree(saved(screen, downloads, TABLES, "operation.csv"), {**table, "rows": kept})
    screen.find(f"{TABLES} input[type=search]").send_keys("no such thing")
    screen.until(shown, 0)
    assert "no rows found" in screen.text(TABLES)


def test_a_row_leads_to_the_picture(show: Show) -> None:
    screen, found = show("one"), record("page")
    screen.click("#tables input[value='tensor']")
    screen.click(f"{TABLES} tbody button", 2)
    assert screen.text("#followed h3") == found["tables"]["tensor"]["rows"][2][0]
    screen.click("#tables input[value='operation']")
    screen.click(f"{TABLES} tbody button", 5)
    assert screen.text("#followed h3") == found["steps"]["name"][5]
    low, high = screen.view()
    start = found["steps"]["start"][5]
    assert low <= start <= start + found["steps"]["cycles"][5] <= high


def test_the_headline_is_that_of_the_metrics(show: Show) -> None:
    screen, result = show("one"), stored("page")
    one = picture("page")
    found = metrics(result.instance.machine, one.totals)
    assert result.result.gap is not None
    expected = {
        "makespan": si(found.time_s, "s"),
        "replay": si(found.replay_s, "s"),
        "traffic": si(one.totals.traffic_bytes, "B"),
        "energy": si(found.energy_j, "J"),
        "gap": percent(result.result.gap),
        "compute_busy": share(found.compute_busy),
        "dma_busy": share(found.dma_busy),
        "spm_peak": share(found.spm_peak),
        "verified": "yes",
    }
    assert {key: screen.text(f"[data-key={key}] .value") for key in expected} == expected


def test_sums_of_the_tables_are_the_totals(show: Show, downloads: Path) -> None:
    screen, totals = show("one"), picture("page").totals
    for per in ("layer", "operation"):
        screen.click(f"#tables input[value='{per}']")
        rows = saved(screen, downloads, TABLES, f"{per}.csv")
        sums = {
            name: sum(int(row[name]) for row in rows)
            for name in ("cycles", "compute_cycles", "dram_in_bytes", "dram_out_bytes")
        }
        assert sums == {
            "cycles": totals.makespan_cycles,
            "compute_cycles": totals.compute_cycles,
            "dram_in_bytes": totals.dram_in_bytes,
            "dram_out_bytes": totals.dram_out_bytes,
        }
    screen.click("#tables input[value='cause']")
    stalls = [int(row["stall_cycles"]) for row in saved(screen, downloads, TABLES, "cause.csv")]
    assert sum(stalls) == totals.makespan_cycles - totals.compute_cycles


def test_compare_mode_has_both_and_their_differences(show: Show, downloads: Path) -> None:
    screen, found = show("two"), contrast()
    marks = [text[:1] for text in screen.texts("#pictures h3")]
    assert marks == ["A", "B"]
    cells = screen.texts("#figures tbody tr > *")
    for place, figure in enumerate(found["figures"]):
        row = cells[4 * place : 4 * place + 4]
        assert row[:3] == [figure["label"], figure["text_a"], figure["text_b"]]
    gaps, a = found["gaps"], record("belady")
    assert len(gaps["tensor"]) > 0
    rows = saved(screen, downloads, "#contrast .table", "kept.csv")
    assert [
        (row["tensor"], int(row["kept_a_bytes"]), int(row["kept_b_bytes"])) for row in rows
    ] == [
        (a["tensors"]["name"][tensor], kept_a, kept_b)
        for tensor, kept_a, kept_b in zip(
            gaps["tensor"], gaps["kept_a"], gaps["kept_b"], strict=True
        )
    ]
    screen.click("#contrast tbody button")
    assert screen.text("#followed h3") == rows[0]["tensor"]
    assert screen.texts("#followed h4") == ["In A", "In B"]
    screen.click("#contrast input[value='operations']")
    both = saved(screen, downloads, "#contrast .table", "operations.csv")
    clock = a["clock_hz"]
    for name, side in (("time_a_s", "belady"), ("time_b_s", "page")):
        total = sum(float(row[name]) for row in both)
        assert total == pytest.approx(record(side)["cycles"] / clock)


def test_what_only_one_keeps_is_marked(show: Show) -> None:
    screen = show("two")
    shot = "return document.querySelectorAll('.stage canvas')[arguments[0]].toDataURL()"
    places = [0, 3]
    before = [screen.run(shot, place) for place in places]
    screen.click("#mark")
    screen.settle()
    marked = [screen.run(shot, place) for place in places]
    assert all(one != other for one, other in zip(before, marked, strict=True))
    screen.click("#mark")
    screen.settle()
    assert [screen.run(shot, place) for place in places] == before
