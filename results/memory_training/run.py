"""STT-MRAM as a scratchpad for training, and what relaxed writes save (Roy et al.)."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).parents[2]))

from results.shared import memory
from results.shared.common import MB, Table, in_percent
from results.shared.memory import BANKS, SERIAL, TITLES, Claim, best, less, more, relative
from results.shared.plots import bar_panels

SIZES = {3 * MB: "same capacity", 7 * MB: "same area"}  # of STT-MRAM, beside 3 MB of SRAM


def at(rows: pd.DataFrame, size: int) -> pd.DataFrame:
    """SRAM, and STT-MRAM of one capacity."""
    return rows[(rows.role == "sram") | (rows.spm_bytes == size)]


CLAIMS = [
    *(
        Claim(
            text=f"{title}: {what}, times less, at best (15 to 22)",
            paper=15.0,
            found=lambda rows, size=size, column=column: best(  # type: ignore[misc]
                relative(at(rows, size), "stt", column)
            ),
            is_less=True,
        )
        for size, title in SIZES.items()
        for what, column in (("system energy", "system"), ("energy of the scratchpad", "energy"))
    ),
    Claim(
        text="density, times SRAM's (3 to 4)",
        paper=3.0,
        found=lambda rows: less(relative(at(rows, 3 * MB), "stt", "area_mm2")),
        is_input=True,
    ),
    Claim(
        text="relaxed writes: write energy, times less (over 2)",
        paper=2.0,
        found=lambda rows: less(relative(at(rows, 3 * MB), "relaxed", "spm_write_j", "stt")),
        is_less=True,
        is_input=True,
    ),
]
SAVED = {
    "write energy": "spm_write_j",
    "dynamic energy": "dynamic",
    "energy of the scratchpad": "energy",
    "system energy": "system",
    "time": "delay",
}


def ratios(rows: pd.DataFrame, column: str) -> dict[str, pd.Series]:
    """Of STT-MRAM without and with relaxed writes in terms of SRAM, at both capacities."""
    return {
        f"{TITLES[role]}, {size // MB} MB": relative(at(rows, size), role, column)
        for size in SIZES
        for role in ("stt", "relaxed")
    }


def tables(rows: pd.DataFrame, figures: Mapping[str, float]) -> Iterator[Table]:
    """Claims in every reading, then networks, then what relaxed writes save."""
    rows = memory.measures(rows)
    yield memory.claimed(rows, CLAIMS)
    saved = []
    for reading in rows.reading.unique():
        own = memory.optimal(rows, reading)
        found = {
            f"{what}, {name}": of
            for what, column in (
                ("system energy", "system"),
                ("scratchpad", "energy"),
                ("time", "delay"),
            )
            for name, of in ratios(own, column).items()
        }
        title = f"In terms of 3 MB of SRAM, {reading}, page"
        yield memory.by_workload(found, title, "workload")
        for size, name in SIZES.items():
            means = (more(relative(at(own, size), "relaxed", c, "stt")) for c in SAVED.values())
            saved.append([reading, name, *(in_percent(1 - mean) for mean in means)])
    yield Table(
        title="What relaxed writes save of STT-MRAM's, mean of networks, %",
        heads=["reading", "scratchpad", *SAVED],
        lines=saved,
        left=2,
    )


def draw(rows: pd.DataFrame, figures: Mapping[str, float]) -> Figure:
    """Energy of the scratchpad, and time with banks."""
    rows = memory.measures(rows)
    panels = {
        title: memory.with_mean(ratios(memory.optimal(rows, reading), column), lambda w: w[0])
        for title, reading, column in (
            ("energy of the scratchpad, one by one", SERIAL, "energy"),
            ("energy of the scratchpad, banks", BANKS, "energy"),
            ("time, banks", BANKS, "delay"),
        )
    }
    title = (
        "Training with a scratchpad of STT-MRAM, and with relaxed writes, against SRAM\n"
        "batch 64, GTX 1080 Ti, table II of DeepNVM++, optimal schedules"
    )
    return bar_panels(title, panels, "SRAM of 3 MB = 1", 1.0)


STUDY = memory.memory_study(
    __file__,
    memory.Assumptions(),
    {3 * MB: ("sram", "stt", "relaxed"), 7 * MB: ("stt", "relaxed")},
    tables,
    draw,
    stages=((True, 64),),
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
