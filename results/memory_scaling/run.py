"""Technologies from 1 to 32 MiB (figures 9 and 10 of DeepNVM++), by another source of figures."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import pandas as pd
from matplotlib.figure import Figure

from results.shared import memory
from results.shared.common import MB, Tables, in_percent, texts
from results.shared.memory import (
    MIB,
    OPTIMAL,
    READINGS,
    RIVALS,
    TITLES,
    PaperFigure,
    both,
    relative,
)
from results.shared.plots import line_panels

ROLES = ("sram", *RIVALS)
MEASURES = {
    "energy": "energy",
    "time": "time_s",
    "EDP": "edp",
    "energy with DRAM and arithmetic": "system",
}


def means(rows: pd.DataFrame, role: str, column: str, *by: str) -> pd.Series:
    """Return ratios to SRAM, means of workloads by capacity and what else is asked for."""
    ratios = relative(rows, role, column, by=(*memory.WORKLOAD, "spm_bytes"))
    return ratios.groupby(level=["spm_bytes", *by]).mean()


def at_best(column: str) -> Callable[[str, pd.DataFrame], float]:
    """Return how many times less than SRAM where that is most, of means of workloads, by stage."""
    return lambda role, rows: float(1 / means(rows, role, column, "training").min())


def at_worst(column: str) -> Callable[[str, pd.DataFrame], float]:
    """Return how many times as much as SRAM where that is most, of means of workloads, by stage."""
    return lambda role, rows: float(means(rows, role, column, "training").max())


def area_saved(role: str, rows: pd.DataFrame) -> float:
    """Return the percentage of SRAM's area that is saved, mean of capacities."""
    return float(100 * (1 - means(rows, role, "area_mm2", "training").mean()))


SOURCE = "another source: NVSim at 22 nm, where SRAM leaks far less (Source, below)"
CLAIMS = [
    *both("energy, times less, at best", (31.2, 36.4), at_best("energy"), is_less=True, why=SOURCE),
    *both("latency, times less, at best", (2.1, 2.6), at_best("time_s"), is_less=True, why=SOURCE),
    *both("latency, times SRAM's, at worst", (3.2, 2.0), at_worst("time_s"), why=SOURCE),
    *both("EDP, times less, at best", (65.0, 95.0), at_best("edp"), is_less=True, why=SOURCE),
    *both("area saved, mean, %", (58.0, 65.0), area_saved, is_percent=True, why=SOURCE),
]


def tables(rows: pd.DataFrame, claims: Sequence[PaperFigure] = CLAIMS) -> Tables:
    """Tabulate claims in every reading, then means by capacity."""
    rows = memory.measures(rows)
    found = {"Figures of the paper": memory.beside_paper(rows, claims)}
    for reading in rows.reading.unique():
        own = memory.optimal(rows, reading)
        shown = {
            f"{title}: {TITLES[role]}": texts(means(own, role, column), "{:.3f}")
            for title, column in MEASURES.items()
            for role in RIVALS
        }
        leaked = (own.leakage_j / own.energy).groupby([own.role, own.spm_bytes]).mean()
        for role in ROLES:
            shown[f"leakage of energy, %: {TITLES[role]}"] = texts(leaked[role], in_percent)
        title = f"In terms of SRAM, mean of workloads, {reading}, {OPTIMAL}"
        table = pd.DataFrame(shown).rename(index=named)
        found[title] = table.rename_axis("capacity")
    return found


def named(size: int) -> str:
    """Return a capacity in the unit of its study: MiB of NVSim, MB of DeepNVM++."""
    return f"{size / MIB:g} MiB" if size % MIB == 0 else f"{size / MB:g} MB"


def by_capacity(rows: pd.DataFrame, role: str, column: str) -> pd.Series:
    """Return how many times less than SRAM a role takes, mean of workloads, by MiB or MB."""
    found = 1 / means(rows, role, column)
    return found.set_axis([float(named(size).split()[0]) for size in found.index])


def draw(rows: pd.DataFrame, unit: str = "MiB") -> Figure:
    """Draw energy and EDP of SRAM over those of MRAM, over the capacity."""
    own = {name: memory.optimal(memory.measures(rows), name) for name in READINGS}
    panels = {
        f"{measure}, SRAM over MRAM": {
            name: {TITLES[role]: by_capacity(some, role, column) for role in RIVALS}
            for name, some in own.items()
        }
        for measure, column in (("energy", "energy"), ("EDP", "edp"))
    }
    return line_panels(panels, f"scratchpad, {unit}", (1, 2, 4, 8, 16, 32), ratios=True)


STUDY = memory.memory_study(
    __file__,
    {2**power * MIB: ROLES for power in range(6)},
    tables,
    draw,
    assumed=memory.Assumptions(sram="nvsim-sram", stt="nvsim-stt", sot="nvsim-sot"),
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
