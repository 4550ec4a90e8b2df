"""SRAM, STT-MRAM and SOT-MRAM of about the same area (figures 6 to 8 of DeepNVM++)."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).parents[2]))

from results.shared import memory
from results.shared.common import MB, Table, in_percent
from results.shared.memory import BANKS, OPTIMAL, RIVALS, SERIAL, TITLES, both, factor, more


def saved(rows: pd.DataFrame, role: str) -> pd.Series:
    """Of each workload the part of SRAM's traffic to the DRAM that is saved."""
    return 1 - memory.relative(rows, role, "dram_bytes")


CLAIMS = [
    *both(  # the paper simulates the traffic of AlexNet alone
        "DRAM traffic saved, AlexNet I, %",
        (14.6, 19.8),
        lambda role, rows: 100 * float(saved(rows, role).at["alexnet", False, 4]),
        is_percent=True,
    ),
    *both(
        "DRAM traffic saved, mean, %",
        (None, None),
        lambda role, rows: 100 * float(saved(rows, role).mean()),
        is_percent=True,
    ),
    *both("dynamic energy, times SRAM's", (2.5, 1.4), factor("dynamic", more)),
    *both("leakage, times less", (2.1, 2.3), factor("leakage_j"), is_less=True),
    *both("energy, times less", (2.0, 2.3), factor("energy"), is_less=True),
    *both("EDP without DRAM, times less", (1.1, 1.2), factor("edp"), is_less=True),
    *both("EDP with DRAM, times less", (2.0, 2.3), factor("edp_dram"), is_less=True),
    *both("capacity, times SRAM's", (2.3, 3.3), factor("spm_bytes", more), is_input=True),
]


def tables(rows: pd.DataFrame, figures: Mapping[str, float]) -> Iterator[Table]:
    """Claims in every reading, traffic to the DRAM, then workloads."""
    rows = memory.measures(rows)
    yield memory.claimed(rows, CLAIMS)
    yield traffic(rows)
    yield from memory.workload_tables(rows)


def traffic(rows: pd.DataFrame) -> Table:
    """Traffic saved under the greedy policy and at the optimum, of traffic and of energy."""
    found = {}
    for reading, scheduler in memory.columns(rows):
        if reading != BANKS and (scheduler == OPTIMAL or reading == SERIAL):
            goal = ", least traffic" if reading == SERIAL else ", least energy"
            own = rows[(rows.reading == reading) & (rows.scheduler == scheduler)]
            for role in RIVALS:
                name = f"{TITLES[role]}: {scheduler}{goal if scheduler == OPTIMAL else ''}"
                found[name] = saved(own, role)
    table = memory.with_mean(found, memory.named).map(in_percent)
    return Table(
        title="DRAM traffic saved against SRAM, %",
        heads=["workload (I: inference, T: training)", *found],
        lines=table.reset_index().to_numpy().tolist(),
    )


def draw(rows: pd.DataFrame, figures: Mapping[str, float]) -> Figure:
    """Energy-delay product with the DRAM, of each workload in every reading."""
    title = "Energy-delay product (EDP) with DRAM: MRAM against SRAM of about the same area"
    sizes = "SRAM 3 MB, STT-MRAM 7 MB, SOT-MRAM 10 MB"
    return memory.draw_workloads(memory.measures(rows), "EDP with DRAM", title, sizes)


STUDY = memory.memory_study(
    __file__,
    memory.Assumptions(),
    {3 * MB: ("sram",), 7 * MB: ("stt",), 10 * MB: ("sot",)},
    tables,
    draw,
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
