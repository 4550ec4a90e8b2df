"""For all readers: keys alone, dark and light, names of all kinds, a phone, screen readers."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from spmopt.reporting.tables import visible
from tests.reporting.page.browser.conftest import Show
from tests.reporting.page.browser.pages import record
from tests.reporting.page.browser.screen import MAP, MAP_HEAD, Screen
from tests.reporting.samples import AWKWARD, awkward

PHONE = {"width": 390, "height": 844}
WHERE = "NODE_PATH"


@cache
def axe() -> str:
    """The script of axe-core, from a folder of NODE_PATH or that of the tests."""
    own = Path.home() / ".cache" / "spmopt" / "node_modules"
    folders = [*map(Path, filter(None, os.environ.get(WHERE, "").split(os.pathsep))), own]
    for folder in folders:
        path = folder / "axe-core" / "axe.min.js"
        if path.is_file():
            return path.read_text(encoding="utf-8")
    pytest.skip("no axe-core is installed (npm install --prefix ~/.cache/spmopt axe-core)")


def violations(screen: Screen) -> list[str]:
    """What axe-core finds, a line each."""
    screen.settle()
    screen.run(f"{axe()}; window.axe = axe;")
    found = screen.driver.execute_async_script(
        "const done = arguments[0]; axe.run().then((r) => done(JSON.stringify(r.violations)))"
    )
    return [
        f"{each['id']}: {node['html'][:200]}"
        for each in json.loads(found)
        for node in each["nodes"]
    ]


@pytest.mark.parametrize(
    ("name", "theme", "width"),
    [
        ("one", "light", 1280),
        ("one", "dark", 1280),
        ("one", "light", PHONE["width"]),
        ("two", "light", 1280),
        ("two", "dark", PHONE["width"]),
        ("sweep", "light", 1280),
        ("sweep", "dark", PHONE["width"]),
        ("search", "light", PHONE["width"]),
        ("search", "dark", 1280),
        ("ablation", "light", 1280),
        ("ablation", "dark", PHONE["width"]),
    ],
)
def test_axe_finds_nothing(show: Show, name: str, theme: str, width: int) -> None:
    screen = show(name, state=f"#theme={theme}&tensor=2", width=width)
    assert violations(screen) == []


@pytest.mark.parametrize("name", ["one", "two", "awkward", "sweep", "search"])
def test_a_phone_does_not_scroll_sideways(show: Show, name: str) -> None:
    screen = show(name, state="#tensor=2", **PHONE)
    sideways = "return [document.documentElement.scrollWidth, innerWidth]"
    assert screen.run(sideways) == [PHONE["width"], PHONE["width"]]
    for choice in screen.all("#tables input[type=radio]"):
        screen.run("arguments[0].click()", choice)
        assert screen.run(sideways) == [PHONE["width"], PHONE["width"]]


def test_every_part_is_reached_by_keys_alone(show: Show) -> None:
    screen = show("one")
    screen.run(
        "window.reached = []; document.addEventListener('focusin', ({target: t}) =>"
        "window.reached.push(t.getAttribute('aria-label') || t.id || t.textContent))"
    )
    ActionChains(screen.driver, duration=0).send_keys(Keys.TAB * 120).perform()
    seen: list[str] = screen.run("return window.reached")
    assert seen[0] == "Skip to the content"
    for part in ("theme", "Zoom in", "All of the time", "find-name"):
        assert part in seen
    assert any(name.startswith(MAP) for name in seen)
    assert any(name.startswith("Save CSV") for name in seen)


def test_keys_pan_zoom_and_follow(show: Show) -> None:
    screen, found = show("one"), record("residency")
    canvas = screen.canvas(MAP)
    screen.run("arguments[0].focus()", canvas)
    canvas.send_keys("++")
    before = screen.view()
    canvas.send_keys(Keys.ARROW_RIGHT)
    after = screen.view()
    assert after[0] > before[0]
    assert after[1] - after[0] == pytest.approx(before[1] - before[0], abs=2)
    canvas.send_keys(Keys.HOME)
    assert screen.view()[0] == 0
    canvas.send_keys("0")
    assert screen.view() == (0, float("inf"))
    name = found["tensors"]["name"][4]
    screen.find("#find-name").send_keys(name + Keys.ENTER)
    assert screen.text("#followed h3") == name
    screen.find("#find-name").send_keys(Keys.ESCAPE)
    assert screen.texts("#followed h3") == []


def test_themes_change_the_page_and_its_pictures(show: Show) -> None:
    screen = show("one")
    ground = "return getComputedStyle(document.body).backgroundColor"
    shot = "return document.querySelector('.stage canvas').toDataURL()"
    seen = {}
    for theme in ("system", "light", "dark"):
        assert screen.text("#theme") == f"Theme: {theme}"
        screen.settle()
        seen[theme] = (screen.run(ground), screen.run(shot))
        screen.click("#theme")
    assert screen.text("#theme") == "Theme: system"
    assert seen["system"] == seen["light"]
    assert seen["dark"][0] != seen["light"][0]
    assert seen["dark"][1] != seen["light"][1]
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    screen.cdp("Emulation.setEmulatedMedia", features=dark)
    screen.settle()
    assert (screen.run(ground), screen.run(shot)) == seen["dark"]


def test_names_are_text_whatever_they_are(show: Show) -> None:
    screen, problem = show("awkward"), awkward("page").problem
    scripts = screen.run("return document.scripts.length")
    assert screen.text("#title") == visible(problem.name)
    assert screen.run("return document.title") == " ".join(visible(problem.name).split())
    for number in range(len(AWKWARD)):
        tensor = problem.tensors[number].name
        screen.run("location.hash = ''")
        show("awkward", state=f"#tensor={number}")
        assert screen.text("#followed h3") == visible(tensor)
        screen.hover(MAP, 0.5, MAP_HEAD + 100)
    screen.click("#tables input[value='tensor']")
    heads = screen.texts("#tables tbody th")
    assert heads[0] == visible(problem.tensors[0].name)
    assert len(heads[4]) <= 80
    assert screen.run("return document.scripts.length") == scripts
    assert screen.all("script[src], img, iframe, object") == []


def test_what_a_page_complains_of_is_seen(show: Show) -> None:
    """What the other tests rely on."""
    screen = show("one")
    screen.run("console.error('a fault'); fetch('https://example.invalid/x').catch(() => 0)")
    screen.settle()
    found = screen.problems()
    assert any("a fault" in message for message in found)
    assert any("example.invalid" in message for message in found)


def test_without_scripts_the_page_says_what_it_needs(show: Show) -> None:
    assert "JavaScript" in show("one").text("noscript")
