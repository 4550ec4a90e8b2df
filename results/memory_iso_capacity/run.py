"""SRAM, STT-MRAM and SOT-MRAM of the same capacity (figures 3 and 4 of DeepNVM++)."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).parents[2]))

from results.shared import memory
from results.shared.common import MB, Table
from results.shared.memory import Claim, best, both, factor, more

CLAIMS = [
    *both("dynamic energy, times SRAM's", (2.1, 1.3), factor("dynamic", more)),
    *both("leakage, times less", (5.9, 10.0), factor("leakage_j"), is_less=True),
    *both("energy, times less", (5.1, 8.6), factor("energy"), is_less=True),
    *both("EDP with DRAM, times less, at best", (3.8, 4.7), factor("edp_dram", best), is_less=True),
    *both("area, times less", (2.4, 2.8), factor("area_mm2"), is_less=True, is_input=True),
    Claim(
        text="SRAM: reads, % of dynamic energy",
        paper=83.0,
        found=lambda rows: 100 * memory.share(rows, "spm_read_j", "dynamic"),
        is_percent=True,
    ),
]
OF_BLOCKS = [claim for claim in CLAIMS if "DRAM" not in claim.text and "area" not in claim.text]


def tables(rows: pd.DataFrame, figures: Mapping[str, float]) -> Iterator[Table]:
    """Claims in every reading, what blocks change of them, then workloads."""
    rows = memory.measures(rows)
    yield memory.claimed(rows, CLAIMS)
    if figures:
        yield memory.by_blocks(figures, OF_BLOCKS)
    yield from memory.workload_tables(rows)


def draw(rows: pd.DataFrame, figures: Mapping[str, float]) -> Figure:
    """Energy of each workload in every reading."""
    title = "Energy of the scratchpad alone (without DRAM): MRAM against SRAM of the same capacity"
    return memory.draw_workloads(memory.measures(rows), "energy", title, "3 MB of each")


STUDY = memory.memory_study(
    __file__,
    memory.Assumptions(),
    {3 * MB: ("sram", "stt", "sot")},
    tables,
    draw,
    blocks=OF_BLOCKS,
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
