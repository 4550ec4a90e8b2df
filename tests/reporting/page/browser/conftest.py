"""A browser for all tests of a process, and its pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from tests.reporting.page.browser.chromium import NEEDED, chromium, installed
from tests.reporting.page.browser.pages import html
from tests.reporting.page.browser.screen import Screen


class Show(Protocol):
    """Opens a page in a window of some size."""

    def __call__(self, name: str, *, width: int = 1280, height: int = 900) -> Screen: ...


@pytest.fixture(scope="session")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the browser saves files."""
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="session")
def browser(downloads: Path) -> Iterator[Screen]:
    if not installed():
        pytest.skip(f"no Chromium is installed ({NEEDED})")
    with chromium(downloads) as screen:
        yield screen


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The file of a page; each is made once."""
    folder = tmp_path_factory.mktemp("pages")

    def path_of(name: str) -> Path:
        path = folder / f"{name}.html"
        if not path.exists():
            path.write_text(html(name), encoding="utf-8")
        return path

    return path_of


@pytest.fixture
def show(browser: Screen, written: Callable[[str], Path]) -> Iterator[Show]:
    """Open a page; afterwards nothing was complained of, and nothing asked of any network."""

    def opened(name: str, *, width: int = 1280, height: int = 900) -> Screen:
        browser.open(written(name), width=width, height=height)
        return browser

    yield opened
    assert browser.problems() == []
