"""Files that the browser saves."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path

from tests.reporting.page.browser.screen import Screen


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
