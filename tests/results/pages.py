"""Pages of results/, taken apart: tables, prose, and the figures that prose quotes."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[2] / "results"
BEGIN, END = "<!-- tables, written by run.py -->", "<!-- end of tables -->"
FOLDERS = sorted(path.parent.name for path in RESULTS.glob("*/run.py"))
_NUMBER = re.compile(r"(?<![\w.,/-])[+-]?(\d+(?:,\d{3})*(?:\.\d+)?)( %|%)?(?![\w/])")


def tables(folder: str) -> str:
    """What stands between the marks, with them."""
    text = (RESULTS / folder / "README.md").read_text(encoding="utf-8")
    return BEGIN + text.partition(BEGIN)[2].partition(END)[0] + END


def csv_tables(folder: str) -> dict[str, str]:
    """Texts of the tables that are files of their own, by name."""
    files = (RESULTS / folder / "tables").glob("*.csv")
    return {path.name: path.read_text(encoding="utf-8") for path in files}


def prose(folder: str) -> str:
    """What is written by hand below the tables, without code and addresses of links."""
    text = (RESULTS / folder / "README.md").read_text(encoding="utf-8").partition(END)[2]
    return re.sub(r"`[^`]*`|\]\([^)]*\)", "", text)


def numbers(text: str) -> list[str]:
    """Numbers of a text as they are written, without signs and separators."""
    return [found.replace(",", "") for found, _ in _NUMBER.findall(text)]


def figures(text: str) -> list[str]:
    """Numbers that are measured, by their look: with a fraction, or in percent."""
    return [found for found, percent in _NUMBER.findall(text) if "." in found or percent]


def claims(folder: str) -> dict[str, Any]:
    """What the prose says beyond the tables, and how it follows from the rows."""
    path = RESULTS / folder / "claims.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def shown(values: Any, text: str) -> list[str]:
    """Values as a text quotes them: as many digits, in percent if it says so."""
    wanted = numbers(text)
    found = list(values) if hasattr(values, "__iter__") else [values]
    scale = 100 if "%" in text else 1
    digits = [len(number.partition(".")[2]) for number in wanted]
    assert len(found) == len(wanted), (text, found)
    pairs = zip(found, digits, strict=True)
    return [f"{abs(scale * value):.{digit}f}" for value, digit in pairs]
