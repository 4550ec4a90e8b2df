"""Commands killed at random instants, resumed, and held against undisturbed runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import partial

from results.kills.commands import CAMPAIGNS, has_postgresql, postgresql, tune
from results.kills.kills import measure
from results.shared.bench import Bench, BenchLine, Figures, timed

KILLS, PARTS, OF_PART = 25, 4, 25
"""Of each command; with ``--long``, in parts of other seeds, and of each part."""
# A fork of a process that has threads may hang; these libraries begin some where they may.
os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
WRONG = ("differing", "status", "left_behind", "other_files")
HELD = {
    "sweep": "rows in their order",
    "tune, SQLite": "all 8 machines once, values, their order",
    "tune, journal": "the same",
    "tune, PostgreSQL": "the same",
    "tiles": "rows in their order",
    "solve": "the file whole or none; schedule, status, bound",
    "results": "recorded rows and page",
}


def killed(name: str, seed: int, kills: int) -> Figures:
    """Kill a command so often."""
    if name == "tune, PostgreSQL":
        with postgresql() as url:
            found, taken = timed(partial(measure, tune(url), seed, kills))
    else:
        found, taken = timed(partial(measure, CAMPAIGNS[name], seed, kills))
    return {**found, "wall_s": taken["wall_s"]}


def _summed(figures: Figures) -> Mapping[str, float]:
    """Sum what all parts have found."""
    names = dict.fromkeys(name.partition(".")[2] for name in figures)
    return {
        name: sum(value for key, value in figures.items() if key.partition(".")[2] == name)
        for name in names
    }


def _lines() -> list[BenchLine]:
    right = dict.fromkeys(WRONG, "≤ 0")
    many = {"kills": f"≥ {PARTS * OF_PART}", **right}
    held = {k: text for k, text in HELD.items() if k != "tune, PostgreSQL" or has_postgresql}
    brief = [
        BenchLine((name, text), {"0": partial(killed, name, 0, KILLS)}, right)
        for name, text in held.items()
    ]
    parts = range(PARTS)
    return brief + [
        BenchLine(
            (f"{name}, often", text),
            {f"{seed}": partial(killed, name, seed, OF_PART) for seed in parts},
            many,
            long=True,
        )
        for name, text in held.items()
    ]


BENCH = Bench(
    file=__file__,
    lines=_lines(),
    quick=partial(killed, "sweep", 0, 1),
    derive=_summed,
    by_parts=True,
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
