"""Pages of a sweep and of a search: points say what they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from selenium.webdriver.common.keys import Keys

from spmopt.reporting.search.front import front_record
from tests.reporting.page.browser.conftest import Show
from tests.reporting.page.browser.pages import sweep
from tests.reporting.page.browser.saved import saved
from tests.reporting.page.browser.screen import Screen
from tests.reporting.samples import AWKWARD
from tests.reporting.search.fronts import front

_TIP = "const t = document.getElementById('tip'); return t.hidden ? '' : t.innerText"


def points(screen: Screen, chart: str, keys: str) -> str:
    """What a chart says after these keys."""
    picture = screen.find(f"{chart} .plot")
    screen.run("arguments[0].scrollIntoView({block: 'center'}); arguments[0].focus()", picture)
    screen.frames()  # a page that still scrolls takes down what is said
    picture.send_keys(keys)
    screen.frames()
    said: str = screen.run(_TIP)
    return said


def test_points_of_a_sweep_say_what_schedules_take(show: Show) -> None:
    screen = show("sweep")
    said = points(screen, "#panels", Keys.HOME)
    assert "scratchpad 4 KiB" in said
    seen = [points(screen, "#panels", Keys.ARROW_RIGHT) for _ in range(11)]
    assert any("page" in text and "1.1 s" in text for text in [said, *seen])
    assert any(AWKWARD[1] in text for text in seen)
    assert any("certified bound" in text for text in [said, *seen])


def test_rows_of_a_sweep_are_saved(show: Show, downloads: Path) -> None:
    screen, rows = show("sweep"), sweep().rows
    found = saved(screen, downloads, "#rows .table", "rows.csv")
    assert [row["scheduler"] for row in found] == [row["scheduler"] for row in rows]
    for name in ("time_s", "bound", "gap"):
        texts = ["" if row.get(name) is None else row[name] for row in rows]
        assert [float(row[name]) if row[name] else "" for row in found] == texts


def test_points_of_a_front_say_what_trials_are(show: Show) -> None:
    screen = show("search")
    seen = [points(screen, "#front", Keys.HOME)]
    seen += [points(screen, "#front", Keys.ARROW_RIGHT) for _ in range(5)]
    for number in (0, 1, 2):
        assert any(f"trial {number}: " in text for text in seen)
    assert any("gap of its schedule +25 %" in text for text in seen)
    assert any(AWKWARD[0] in text for text in seen)


def test_a_trial_is_shown_with_all_its_texts(show: Show) -> None:
    screen = show("search")
    screen.click("#trials tbody button", 0)
    facts: Any = front_record(front(AWKWARD[0]))["trials"]
    assert all(text in screen.text("#trial") for text in facts[0]["texts"].values())
