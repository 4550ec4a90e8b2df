"""What the batch size changes between memory technologies (figure 5 of DeepNVM++)."""

from __future__ import annotations

import sys
from functools import partial

import pandas as pd
from matplotlib.figure import Figure

from results.shared import memory
from results.shared.common import MB, Tables, in_percent, texts
from results.shared.memory import OPTIMAL, READINGS, RIVALS, TITLES, PaperFigure
from results.shared.plots import line_panels

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
STAGES = {True: "training", False: "inference"}
# Least and most over the batch sizes, which the paper shows in a picture only.
PAPER = {
    (True, "stt"): (2.3, 4.6),
    (True, "sot"): (7.2, 7.6),
    (False, "stt"): (4.1, 5.4),
    (False, "sot"): (7.1, 7.3),
}


def curve(rows: pd.DataFrame, training: bool, role: str) -> pd.Series:
    """Return SRAM's energy-delay product over that of ``role``, by batch size."""
    found = 1 / memory.relative(rows[rows.training == training], role, "edp")
    return found.droplevel(["network", "training"]).sort_index()


def extreme(end: str, training: bool, role: str, rows: pd.DataFrame) -> float:
    """Return the least or most of a curve."""
    return float(getattr(curve(rows, training, role), end)())


CLAIMS = [
    PaperFigure(
        f"{TITLES[role]}, {STAGES[training]}: EDP, times less, {word}",
        paper,
        partial(extreme, end, training, role),
        is_less=True,
        why="reads weigh more here than in its profile: met with blocks of 256, below",
    )
    for (training, role), papers in PAPER.items()
    for word, end, paper in zip(("least", "most"), ("min", "max"), papers, strict=True)
]


def reads(rows: pd.DataFrame, training: bool) -> pd.Series:
    """Return the part of reads in SRAM's dynamic energy, by batch size."""
    own = rows[(rows.training == training) & (rows.role == "sram")].set_index("batch")
    return (own.spm_read_j / own.dynamic).sort_index()


def tables(rows: pd.DataFrame) -> Tables:
    """Tabulate claims in every reading, what blocks change of them, then batch sizes."""
    measured = memory.measures(rows)
    found = {"Figures of the paper": memory.beside_paper(measured, CLAIMS)}
    found |= memory.by_blocks(rows, CLAIMS)
    for reading in rows.reading.unique():
        own, shown = memory.optimal(measured, reading), {}
        for training, stage in STAGES.items():
            for role in RIVALS:
                ratios = curve(own, training, role)
                shown[f"{stage}: {TITLES[role]}"] = texts(ratios, "{:.2f}")
        for training, stage in STAGES.items():
            head = f"{stage}: reads of SRAM's dynamic energy, %"
            shown[head] = texts(reads(own, training), in_percent)
        table = pd.DataFrame(shown).rename(index=str).rename_axis("batch")
        found[f"EDP of SRAM over the MRAM's, {reading}, {OPTIMAL}"] = table
    return found


def draw(rows: pd.DataFrame) -> Figure:
    """Draw EDP over the batch size, of both stages in every reading."""
    own = {name: memory.optimal(memory.measures(rows), name) for name in READINGS}
    panels = {
        f"{stage}: EDP, SRAM over MRAM": {
            name: {TITLES[role]: curve(some, training, role) for role in RIVALS}
            for name, some in own.items()
        }
        for training, stage in STAGES.items()
    }
    return line_panels(panels, "batch", (1, 4, 16, 64, 256), ratios=True)


STUDY = memory.memory_study(
    __file__,
    {3 * MB: ("sram", "stt", "sot")},
    tables,
    draw,
    networks=("alexnet",),
    stages=tuple((training, batch) for training in STAGES for batch in BATCHES),
    blocks=CLAIMS,
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
