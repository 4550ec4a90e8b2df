"""Measure the source tree and hold it to its budget.

``python results/house/run.py`` prints a Markdown table of this checkout: the figures before the
redesign (``before.toml``), now, and the budget (``budget.toml``). ``--check`` exits with 1 and a
line for each figure over its budget; CI runs it so. ``--suite-cpu-s`` adds the CPU seconds of a
run of the tests, which CI measures, scaled to the speed of one machine (``yardstick.py``).

Code lines exclude blanks, comments, docstrings and imports.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

from results.house.prose import participle_share, private_words, what_rate
from results.house.source import (
    ROOT,
    circles,
    code_lines,
    count_lines,
    longest_sentence,
    tracked,
)
from results.house.yardstick import scaled

HERE = Path(__file__).parent
Figures = dict[str, float]
AT_LEAST = ("comments per 100 code lines",)
"""Figures that may not fall below their budget; all others may not rise above it."""


def main() -> int:
    """Print the table, or the figures over budget; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail where a figure is over budget")
    parser.add_argument("--suite-cpu-s", type=float, help="CPU seconds of a run of the tests")
    parser.add_argument("--yardstick", type=Path, help="the yardstick's seconds during that run")
    options = parser.parse_args()
    figures = measure()
    if options.suite_cpu_s is not None:
        seconds = scaled(options.suite_cpu_s, options.yardstick)
        figures["CPU seconds of the tests"] = round(seconds)
        print(f"house: the tests took {options.suite_cpu_s:,g} CPU seconds, {seconds:,.0f} scaled")
    budget = read("budget.toml")
    if options.check:
        excesses = list_excesses(figures, budget)
        print("\n".join(excesses) or f"house: {len(figures)} figures within their budget")
        return int(bool(excesses))
    before = read("before.toml")
    print("| | before | now | budget |\n|---|--:|--:|--:|")
    for name, value in figures.items():
        row = [f"{table[name]:,g}" if name in table else "" for table in (before, budget)]
        print(f"| {name} | {row[0]} | {value:,g} | {row[1]} |")
    return 0


def read(name: str) -> Figures:
    """Return the figures of a TOML file beside this script."""
    figures: Figures = tomllib.loads((HERE / name).read_text())
    return figures


def list_excesses(figures: Mapping[str, float], budget: Mapping[str, float]) -> list[str]:
    """Return a line for each figure that breaks its budget or has none."""
    lines = []
    for name, value in figures.items():
        limit = budget.get(name)
        if limit is None:
            lines.append(
                f"house: {name} is {value:,g} and has no line in results/house/budget.toml"
            )
        elif (value < limit) if name in AT_LEAST else (value > limit):
            relation = "below" if name in AT_LEAST else "over"
            lines.append(f"house: {name} is {value:,g}, {relation} its budget of {limit:,g}")
    return lines


def measure() -> Figures:
    """Return all figures of this checkout by name."""
    product = [path for path in tracked("*.py") if path.parts[0] in ("spmopt", "formulations")]
    texts = {path: (ROOT / path).read_text() for path in product}
    lines = {path: code_lines(text) for path, text in texts.items()}
    comments = sum(count_lines(text)[1] for text in texts.values())
    tests = [code_lines((ROOT / path).read_text()) for path in tracked("tests/*.py")]
    studies = [code_lines((ROOT / path).read_text()) for path in tracked("results/*.py")]
    folders: Figures = {}
    for path, count in lines.items():
        folder = "/".join(path.parts[: min(2, len(path.parts) - 1)])
        folders[folder] = folders.get(folder, 0) + count
    return {
        "code lines": sum(lines.values()),
        **{f"code lines of {folder}": count for folder, count in sorted(folders.items())},
        "code lines of tests": sum(tests),
        "code lines of results": sum(studies),
        "files of Python": len(product),
        "lines of JavaScript": text_lines("*.js"),
        "lines of C": text_lines("*.c") + text_lines("*.h"),
        "words of Markdown": sum(len((ROOT / p).read_text().split()) for p in tracked("*.md")),
        "words of the README": len((ROOT / "README.md").read_text().split()),
        "longest sentence of the README": longest_sentence((ROOT / "README.md").read_text()),
        "import circles": circles(),
        "'what' per 1,000 docstring words": what_rate(texts.values()),
        "functions named by a participle, percent": participle_share(texts.values()),
        "comments per 100 code lines": round(100 * comments / sum(lines.values()), 1),
        "private words in names and docstrings": private_words(texts.values()),
    }


def text_lines(pattern: str) -> int:
    """Count the lines of tracked files of our own."""
    own = (path for path in tracked(pattern) if "vendor" not in path.parts)
    return sum(len((ROOT / path).read_text().splitlines()) for path in own)


if __name__ == "__main__":
    sys.exit(main())
