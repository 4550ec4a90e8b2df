"""What the batch size changes between memory technologies (figure 5 of DeepNVM++)."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).parents[2]))

from results.shared import memory
from results.shared.common import MB, Table, in_percent
from results.shared.memory import OPTIMAL, READINGS, RIVALS, TITLES, Claim
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
    """SRAM's energy-delay product over that of ``role``, by batch size."""
    found = 1 / memory.relative(rows[rows.training == training], role, "edp")
    return found.droplevel(["network", "training"]).sort_index()


def extreme(end: str, training: bool, role: str, rows: pd.DataFrame) -> float:
    """Least or most of a curve."""
    return float(getattr(curve(rows, training, role), end)())


CLAIMS = [
    Claim(
        text=f"{TITLES[role]}, {STAGES[training]}: EDP, times less, {word}",
        paper=paper,
        found=partial(extreme, end, training, role),
        is_less=True,
    )
    for (training, role), papers in PAPER.items()
    for word, end, paper in zip(("least", "most"), ("min", "max"), papers, strict=True)
]


def reads(rows: pd.DataFrame, training: bool) -> pd.Series:
    """Part of reads in SRAM's dynamic energy, by batch size."""
    own = rows[(rows.training == training) & (rows.role == "sram")].set_index("batch")
    return (own.spm_read_j / own.dynamic).sort_index()


def tables(rows: pd.DataFrame, figures: Mapping[str, float]) -> Iterator[Table]:
    """Claims in every reading, what blocks change of them, then batch sizes."""
    rows = memory.measures(rows)
    yield memory.claimed(rows, CLAIMS)
    if figures:
        yield memory.by_blocks(figures, CLAIMS)
    for reading in rows.reading.unique():
        own = memory.optimal(rows, reading)
        found = {
            f"{STAGES[training]}: {TITLES[role]}": curve(own, training, role).map("{:.2f}".format)
            for training in STAGES
            for role in RIVALS
        } | {
            f"{stage}: reads of SRAM's dynamic energy, %": reads(own, training).map(in_percent)
            for training, stage in STAGES.items()
        }
        table = pd.DataFrame(found).reset_index(names="batch").astype(str)
        yield Table(
            title=f"EDP of SRAM over the MRAM's, {reading}, {OPTIMAL}",
            heads=list(table),
            lines=table.to_numpy().tolist(),
        )


def draw(rows: pd.DataFrame, figures: Mapping[str, float]) -> Figure:
    """EDP over the batch size, of both stages in every reading."""
    own = {name: memory.optimal(memory.measures(rows), name) for name in READINGS}
    panels = {
        f"{stage}: EDP, SRAM over MRAM": {
            name: {TITLES[role]: curve(some, training, role) for role in RIVALS}
            for name, some in own.items()
        }
        for training, stage in STAGES.items()
    }
    title = (
        "Energy-delay product of the scratchpad alone (without DRAM): SRAM over MRAM, by batch "
        f"size\nAlexNet, 3 MB, GTX 1080 Ti, optimal schedules; {memory.OVER_ONE}\n"
        f"{memory.READINGS_SHOWN}"
    )
    return line_panels(title, panels, "batch", (1, 4, 16, 64, 256), ratios=True)


STUDY = memory.memory_study(
    __file__,
    memory.Assumptions(),
    {3 * MB: ("sram", "stt", "sot")},
    tables,
    draw,
    networks=("alexnet",),
    stages=tuple((training, batch) for training in STAGES for batch in BATCHES),
    blocks=CLAIMS,
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
