"""Tables: sorted, searched and saved they have what the record has; totals are the metrics'."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from spmopt.metrics import metrics
from spmopt.reporting.quantities import percent, share, si
from tests.reporting.page.browser.conftest import Show
from tests.reporting.page.browser.pages import Record, record
from tests.reporting.page.browser.saved import saved
from tests.reporting.samples import picture, stored

TABLES = "#tables .table"


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
    screen, found = show("one"), record("residency")
    if per != "layer":
        screen.click(f"#tables input[value='{per}']")
    table = found["tables"][per]
    assert len(screen.all(f"{TABLES} tbody tr")) == min(100, len(table["rows"]))
    agree(saved(screen, downloads, TABLES, f"{per}.csv"), table)


def test_rows_are_sorted_either_way_and_as_they_were(show: Show, downloads: Path) -> None:
    screen, table = show("one"), record("residency")["tables"]["layer"]
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
    screen, table = show("one"), record("residency")["tables"]["operation"]
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
    screen, found = show("one"), record("residency")
    screen.click("#tables input[value='tensor']")
    screen.click(f"{TABLES} tbody button", 2)
    assert screen.text("#followed h3") == found["tables"]["tensor"]["rows"][2][0]
    screen.click("#tables input[value='operation']")
    screen.click(f"{TABLES} tbody button", 5)
    assert screen.text("#followed h3") == found["steps"]["name"][5]
    low, high = screen.view()
    start = found["steps"]["start"][5]
    assert low <= start <= start + found["steps"]["cycles"][5] <= high


def test_a_layer_is_brought_into_view_and_its_steps_are_marked(show: Show) -> None:
    screen, found = show("one"), record("residency")
    steps, table = found["steps"], found["tables"]["layer"]
    names = [column["name"] for column in table["columns"]]
    layer, which = (names.index(name) for name in ("name", "pass"))
    row = table["rows"][-1]
    chosen = [
        step
        for step, pair in enumerate(zip(steps["layer"], steps["pass"], strict=True))
        if pair == (row[layer], row[which])
    ]
    shot = "return document.querySelectorAll('.stage canvas')[1].toDataURL()"
    screen.click(f"{TABLES} tbody button", len(table["rows"]) - 1)
    screen.settle()
    low, high = screen.view()
    assert low <= steps["start"][chosen[0]]
    assert steps["start"][chosen[-1]] + steps["cycles"][chosen[-1]] <= high
    assert screen.text("#said").startswith(f"{len(chosen)} step")
    marked = screen.run(shot)
    screen.run("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))")
    screen.settle()
    assert screen.run(shot) != marked


def test_the_headline_is_that_of_the_metrics(show: Show) -> None:
    screen, result = show("one"), stored("residency")
    one = picture("residency")
    found = metrics(result.problem.machine, one.totals)
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
    screen, totals = show("one"), picture("residency").totals
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


_HEADS = """
const tip = document.getElementById("tip");
const say = (head, event) => {
  head.dispatchEvent(new PointerEvent(event, {clientX: 300, clientY: 300}));
  return tip.hidden ? [] : [...tip.children].map((line) => line.textContent);
};
return [...document.querySelectorAll("thead th")]
  .map((head) => head.querySelector("button") || head)
  .map((head) => [head.textContent, head.getAttribute("aria-description"),
    say(head, "pointerenter"), say(head, "pointerleave")]);
"""
"""Title and description of each head, and what is said when a pointer enters and leaves it."""


@pytest.mark.parametrize(
    ("name", "least"), [("one", 60), ("two", 90), ("sweep", 39), ("search", 18)]
)
def test_every_head_has_its_words(show: Show, name: str, least: int) -> None:
    """Of all tables of a page, whichever of them is shown."""
    screen, seen = show(name), 0
    choices: list[Any] = [None]
    for group in ("#contrast", "#tables", "#trials"):
        choices += screen.all(f"{group} input[type=radio]")
    for radio in choices:
        if radio is not None:
            screen.run("arguments[0].click()", radio)
        for title, words, entered, left in screen.run(_HEADS):
            assert entered == [title, words]
            assert len(words) > len(title) / 2
            assert left == []
            seen += 1
    assert seen >= least


def test_heads_say_their_words_to_keys(show: Show) -> None:
    screen = show("one")
    screen.find("#tables input[type=search]").send_keys(Keys.TAB * 3)
    tip = "const t = document.getElementById('tip'); return !t.hidden && t.textContent"
    said = screen.until(tip)
    assert said.startswith(screen.run("return document.activeElement.textContent"))
