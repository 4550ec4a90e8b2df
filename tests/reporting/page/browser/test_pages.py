"""Every page: nothing wrong for anybody, names as text, tables that are sorted and saved."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable
from functools import cache
from io import StringIO
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from spmopt.metrics import metrics
from spmopt.reporting.quantities import percent, si
from spmopt.reporting.tables import visible
from tests.reporting.page.browser.conftest import Show
from tests.reporting.page.browser.pages import Record, contrast, record
from tests.reporting.page.browser.screen import MAP, MAP_HEAD, Screen
from tests.reporting.page.browser.timing import drag
from tests.reporting.samples import awkward, picture, stored

PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
MOST_BYTES, PAINT_MS, FRAME_MS = 20_000_000, 20_000, 330
"""Of 30,000 operations: ten times as long as is wanted of a quiet machine."""


@cache
def axe() -> str:
    """The script of axe-core, from a folder of NODE_PATH or that of the tests."""
    own = Path.home() / ".cache" / "spmopt" / "node_modules"
    folders = filter(None, os.environ.get("NODE_PATH", "").split(os.pathsep))
    for folder in [*map(Path, folders), own]:
        path = folder / "axe-core" / "axe.min.js"
        if path.is_file():
            return path.read_text(encoding="utf-8")
    pytest.skip("no axe-core is installed (npm install --prefix ~/.cache/spmopt axe-core)")


@pytest.mark.parametrize(
    ("name", "theme", "size"),
    [
        ("one", "dark", DESK),
        ("two", "light", PHONE),
        ("sweep", "dark", PHONE),
        ("search", "light", DESK),
        ("ablation", "light", PHONE),
    ],
)
def test_axe_finds_nothing(show: Show, name: str, theme: str, size: dict[str, int]) -> None:
    screen = show(name, **size)
    dark = [{"name": "prefers-color-scheme", "value": theme}]
    screen.cdp("Emulation.setEmulatedMedia", features=dark)
    screen.settle()
    screen.run(f"{axe()}; window.axe = axe;")
    found = screen.driver.execute_async_script(
        "const done = arguments[0]; axe.run().then((r) => done(JSON.stringify(r.violations)))"
    )
    nodes = [
        (each["id"], node["html"][:200]) for each in json.loads(found) for node in each["nodes"]
    ]
    assert nodes == []


@pytest.mark.parametrize("name", ["one", "two", "awkward", "sweep", "search", "ablation"])
def test_a_phone_does_not_scroll_sideways_and_pictures_are_there(show: Show, name: str) -> None:
    screen = show(name, **PHONE)
    sideways = "return [document.documentElement.scrollWidth, innerWidth]"
    assert screen.run(sideways) == [PHONE["width"]] * 2
    broken = "return [...document.images].filter((each) => !each.naturalWidth).length"
    assert screen.run(broken) == 0
    assert screen.all("[data-table] tbody tr, #tables tbody tr")


def test_names_are_text_whatever_they_are(show: Show) -> None:
    screen, problem = show("awkward"), awkward("residency").problem
    assert screen.text("#title") == visible(problem.name)
    screen.hover(MAP, 0.5, MAP_HEAD + 100)
    screen.click("#tables input[value='tensor']")
    heads = screen.texts("#tables tbody th")
    assert heads[0] == visible(problem.tensors[0].name)
    assert len(heads[4]) <= 80
    assert screen.all("script[src], iframe, object") == []


def test_faults_of_a_page_are_seen(show: Show) -> None:
    """What the other tests rely on."""
    screen = show("one")
    screen.run("console.error('a fault'); fetch('https://example.invalid/x').catch(() => 0)")
    screen.settle()
    found = screen.problems()
    assert any("a fault" in message for message in found)
    assert any("example.invalid" in message for message in found)
    assert "JavaScript" in screen.text("noscript")


def test_many_operations(show: Show, written: Callable[[str], Path]) -> None:
    """30,000 of them: a small file, drawn at once, and smooth to move."""
    assert written("many").stat().st_size < MOST_BYTES
    screen = show("many")
    assert screen.run("return window.drawnAt")["pictures"] < PAINT_MS
    screen.press(MAP, 0.5, 200)
    screen.find("canvas:focus").send_keys("++")
    before = screen.view()
    assert median(drag(screen, sweeps=1)) < FRAME_MS
    assert screen.view()[0] > before[0]


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


def agree(rows: list[dict[str, str]], columns: list[Any], expected: list[Any]) -> None:
    """Every value of a file is that of the record, in full."""
    assert len(rows) == len(expected)
    for row, values in zip(rows, expected, strict=True):
        for column, value in zip(columns, values, strict=True):
            text = row[column["name"]]
            shown = float(text) if column["numeric"] and text else text
            assert shown == ("" if value is None else value)


@pytest.mark.parametrize("per", ["layer", "tensor", "operation"])
def test_a_table_is_sorted_searched_and_saved(show: Show, downloads: Path, per: str) -> None:
    screen, table = show("one"), record("residency")["tables"][per]
    holder, file, rows = "#tables .table", f"{per}.csv", table["rows"]
    screen.click(f"#tables input[value='{per}']")
    agree(saved(screen, downloads, holder, file), table["columns"], rows)
    names = [each["name"] for each in table["columns"]]
    column = names.index("size_bytes" if per == "tensor" else "cycles")
    falling = sorted(rows, key=lambda row: -row[column])
    screen.click(f"{holder} th button.head", column)
    head = screen.find(f"{holder} thead th:nth-child({column + 1})")
    assert head.get_attribute("aria-sort") == "descending"
    agree(saved(screen, downloads, holder, file), table["columns"], falling)
    screen.click(f"{holder} th button.head", column)
    assert head.get_attribute("aria-sort") == "ascending"
    screen.click(f"{holder} th button.head", column)
    word = rows[0][0][:6].lower()
    texts = [at for at, each in enumerate(table["columns"]) if not each["numeric"]]
    kept = [row for row in rows if any(word in row[at].lower() for at in texts)]
    screen.find(f"{holder} input[type=search]").send_keys(word.upper())
    shown = "return document.querySelectorAll('#tables tbody tr').length === arguments[0]"
    screen.until(shown, min(100, len(kept)))
    agree(saved(screen, downloads, holder, file), table["columns"], kept)


def test_figures_of_one_and_of_two_are_those_of_the_metrics(show: Show) -> None:
    screen, result, one = show("one"), stored("residency"), picture("residency")
    found = metrics(result.problem.machine, one.totals)
    assert result.result.gap is not None
    expected = {
        "makespan": si(found.time_s, "s"),
        "traffic": si(one.totals.traffic_bytes, "B"),
        "gap": percent(result.result.gap),
    }
    assert {key: screen.text(f"[data-key={key}] .value") for key in expected} == expected
    screen, both = show("two"), contrast()
    cells = screen.texts("#figures tbody tr > *")
    main = [figure for figure in both["figures"] if figure["is_main"]]
    for place, figure in enumerate([*main, *both["figures"]]):
        row = cells[4 * place : 4 * place + 3]
        assert row == [figure["label"], figure["text_a"], figure["text_b"]]


def test_rows_lead_to_the_pictures(show: Show) -> None:
    screen, found = show("one"), record("residency")
    screen.click("#tables input[value='tensor']")
    screen.click("#tables tbody button", 2)
    assert screen.text("#followed h3") == found["tables"]["tensor"]["rows"][2][0]
    screen.click("#tables input[value='operation']")
    screen.click("#tables tbody button", 5)
    assert screen.text("#followed h3") == found["steps"]["name"][5]
    require_in_view(screen, found, 5, 5)
    screen.click("#tables input[value='layer']")
    screen.click("#tables tbody button", len(found["tables"]["layer"]["rows"]) - 1)
    name, way = found["tables"]["layer"]["rows"][-1][:2]
    pairs = list(zip(found["steps"]["layer"], found["steps"]["pass"], strict=True))
    chosen = [step for step, pair in enumerate(pairs) if pair == (name, way)]
    require_in_view(screen, found, chosen[0], chosen[-1])
    assert screen.text("#said").startswith(f"{len(chosen)} step")
    screen.find("body").send_keys(Keys.ESCAPE)
    assert screen.texts("#followed h3") == []


def require_in_view(screen: Screen, found: Record, first: int, last: int) -> None:
    low, high = screen.view()
    steps = found["steps"]
    assert low <= steps["start"][first]
    assert steps["start"][last] + steps["cycles"][last] <= high


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


@pytest.mark.parametrize("name", ["two", "search"])
def test_every_head_has_its_words(show: Show, name: str) -> None:
    for title, words, entered, left in show(name).run(_HEADS):
        assert entered == [title, words]
        assert len(words) > len(title) / 2
        assert left == []
