"""Chromium without a window (Debian: chromium and chromium-driver)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

from tests.reporting.page.browser.screen import Screen

NEEDED = "Debian packages chromium and chromium-driver"


def installed() -> bool:
    """Whether there is a browser, and what drives it."""
    return all(shutil.which(name) for name in ("chromium", "chromedriver"))


@contextmanager
def chromium(downloads: Path) -> Iterator[Screen]:
    """Start a browser that saves files in ``downloads``, and end it."""
    options = ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    options.add_argument("--disable-dev-shm-usage")
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # Its path is given, so that nothing looks for a driver in the network.
    chrome = Chrome(
        options=options, service=Service(shutil.which("chromedriver") or "chromedriver")
    )
    try:
        yield Screen(chrome)
    finally:
        chrome.quit()
