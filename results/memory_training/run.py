"""STT-MRAM as a scratchpad for training, and what relaxed writes save (Roy et al.)."""

from __future__ import annotations

import sys
from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from results.shared import memory
from results.shared.common import MB, Tables, in_percent, tabulated
from results.shared.memory import (
    BANKS,
    EQUAL,
    SERIAL,
    TITLES,
    PaperFigure,
    best,
    less,
    more,
    relative,
)
from results.shared.plots import bar_panels

SIZES = {3 * MB: "same capacity", 7 * MB: "same area"}  # of STT-MRAM, beside 3 MB of SRAM


def at(rows: pd.DataFrame, size: int) -> pd.DataFrame:
    """Return rows of SRAM, and of STT-MRAM of one capacity."""
    return rows[(rows.role == "sram") | (rows.spm_bytes == size)]


def at_best(size: int, column: str, rows: pd.DataFrame) -> float:
    """Return how many times less than SRAM an STT-MRAM of a capacity takes where that is most."""
    return best(relative(at(rows, size), "stt", column))


def less_of(size: int, role: str, column: str, base: str, rows: pd.DataFrame) -> float:
    """Return how many times less than a base a role takes beside SRAM and MRAM of a capacity."""
    return less(relative(at(rows, size), role, column, base))


WRITES = "relaxed writes: write energy, times less (over 2)"
RELAXED = partial(less_of, 3 * MB, "relaxed", "spm_write_j", "stt")
DENSITY = partial(less_of, 3 * MB, "stt", "area_mm2", "sram")
CLAIMS = [
    *(
        PaperFigure(
            f"{title}: {what}, times less, at best (15 to 22)",
            15.0,
            partial(at_best, size, column),
            is_less=True,
            why="table II allows no such factor, whatever is counted (What table II allows, below)",
        )
        for size, title in SIZES.items()
        for what, column in (("system energy", "system"), ("energy of the scratchpad", "energy"))
    ),
    PaperFigure(
        "density, times SRAM's (3 to 4)",
        3.0,
        DENSITY,
        why="table II has whole memories; of cells alone its table I has SRAM's 2.9 times as dense",
    ),
    PaperFigure(WRITES, 2.0, RELAXED, is_less=True, is_input=True),
]
PARTS = {"read": "read_j", "write": "write_j", "leakage": "leakage_w"}
SHOWN = {"system energy": "system", "scratchpad": "energy", "time": "delay"}
SAVED = {
    "write energy": "spm_write_j",
    "dynamic energy": "dynamic",
    "energy of the scratchpad": "energy",
    "system energy": "system",
    "time": "delay",
}


def ratios(rows: pd.DataFrame, column: str) -> dict[str, pd.Series]:
    """Compare STT-MRAM without and with relaxed writes to SRAM, at both capacities."""
    return {
        f"{TITLES[role]}, {size // MB} MB": relative(at(rows, size), role, column)
        for size in SIZES
        for role in ("stt", "relaxed")
    }


def allowed(rows: pd.DataFrame, size: int, role: str) -> pd.Series:
    """Return how many times less a byte read, one written and a second of leakage take.

    No mix of them, in the same time or in more, can save more than the largest; nor can what else
    there is, as DRAM and arithmetic, if it takes the same.
    """
    own = at(rows, size)
    per = own.assign(
        read_j=own.spm_read_j / own.read_bytes,
        write_j=own.spm_write_j / own.write_bytes,
        leakage_w=own.leakage_j / own.time_s,
    )
    return pd.Series({part: less(relative(per, role, column)) for part, column in PARTS.items()})


def ceilings(rows: pd.DataFrame) -> pd.DataFrame:
    """Tabulate what parts of a scratchpad's energy, and so all of it, can fall by."""
    own = memory.optimal(rows, EQUAL)
    lines = [
        [f"{TITLES[role]}, {size // MB} MB", *map("{:.2f}".format, [*parts, parts.max()])]
        for size in SIZES
        for role in ("stt", "relaxed")
        for parts in [allowed(own, size, role)]
    ]
    return tabulated(["scratchpad", *PARTS, "at most"], lines)


def tables(rows: pd.DataFrame) -> Tables:
    """Tabulate claims, what bounds them, networks in every reading, what relaxed writes save."""
    rows, saved = memory.measures(rows), []
    found = {
        "Figures of the paper": memory.beside_paper(rows, CLAIMS),
        "What table II allows, times less than 3 MB of SRAM": ceilings(rows),
    }
    for reading in rows.reading.unique():
        own, shown = memory.optimal(rows, reading), dict[str, pd.Series]()
        for what, column in SHOWN.items():
            shown |= {f"{what}, {name}": of for name, of in ratios(own, column).items()}
        found[f"In terms of 3 MB of SRAM, {reading}, page"] = memory.by_workload(shown, "workload")
        for size, name in SIZES.items():
            means = (more(relative(at(own, size), "relaxed", c, "stt")) for c in SAVED.values())
            saved.append([reading, name, *(in_percent(1 - mean) for mean in means)])
    title = "What relaxed writes save of STT-MRAM's, mean of networks, %"
    return {**found, title: tabulated(["reading", "scratchpad", *SAVED], saved, left=2)}


def draw(rows: pd.DataFrame) -> Figure:
    """Draw energy of the scratchpad, and time with banks."""
    rows, panels = memory.measures(rows), {}
    for title, reading, column in (
        ("energy of the scratchpad, one by one", SERIAL, "energy"),
        ("energy of the scratchpad, banks", BANKS, "energy"),
        ("time, banks", BANKS, "delay"),
    ):
        found = ratios(memory.optimal(rows, reading), column)
        panels[title] = memory.with_mean(found, lambda workload: workload[0])
    return bar_panels(panels, "SRAM of 3 MB = 1", 1.0)


STUDY = memory.memory_study(
    __file__,
    {3 * MB: ("sram", "stt", "relaxed"), 7 * MB: ("stt", "relaxed")},
    tables,
    draw,
    stages=((True, 64),),
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
