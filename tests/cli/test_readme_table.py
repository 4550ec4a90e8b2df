"""The tables and figures of README and manual are those of the program."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cli.run import Run

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LINE = "mobilenetv2 --batch 1 --dtype int8 --machine ethos-u65"
OPTIMIZERS = ("residency", "fusion")
COMMAND = re.compile(rf"spmopt compare {re.escape(LINE)} --time-limit \d+ -s (\S+)")


def names() -> list[str]:
    found = COMMAND.search(README)
    assert found is not None
    return found[1].split(",")


def rows() -> list[list[str]]:
    """Cells of the first table: words, time in ms, traffic in MB, percent above the bound."""
    table = re.findall(r"^\| (.+) \|$", README.split("## In one minute")[1], re.MULTILINE)
    return [[cell.strip("* ") for cell in row.split("|")] for row in table[1:6]]


def test_the_command_of_the_first_page_has_a_row_for_each_scheduler() -> None:
    assert len(rows()) == len(names())
    assert tuple(names()[-2:]) == OPTIMIZERS


def test_rows_of_heuristics_are_those_of_the_program(run: Run) -> None:
    policies = [name for name in names() if name not in OPTIMIZERS]
    results = run(f"compare {LINE} --fusion none --json -s {','.join(policies)}").record["results"]
    for row, result in zip(rows(), results, strict=False):
        assert row[1] == f"{1000 * result['time_s']:.2f} ms"
        assert row[2] == f"{result['traffic_bytes'] / 1e6:.2f} MB"


def test_percentages_above_the_bound_follow_from_times() -> None:
    """All rows share the bound over the fusion space, which the text states."""
    stated = re.search(r"is faster than ([\d.]+) ms: that is certified", README)
    assert stated is not None
    for row in rows():
        time, gap = float(row[1].removesuffix(" ms")), float(row[3].strip("+ %"))
        assert abs(100 * (time / float(stated[1]) - 1) - gap) < 0.7
