"""Commands killed at random instants, resumed, and held against undisturbed runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import partial

from results.kills.commands import CAMPAIGNS, has_postgresql, postgresql, tune
from results.kills.kills import measure
from results.shared.bench import Bench, BenchLine, Figures, timed

PARTS, KILLS = 4, 25
"""Of each command, and kills of each part."""
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


def killed(name: str, seed: int, kills: int = KILLS) -> Figures:
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
    targets = {"kills": f"≥ {PARTS * KILLS}", **dict.fromkeys(WRONG, "≤ 0")}
    return [
        BenchLine(
            (name, held),
            {str(seed): partial(killed, name, seed) for seed in range(PARTS)},
            targets,
        )
        for name, held in HELD.items()
        if name != "tune, PostgreSQL" or has_postgresql
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
