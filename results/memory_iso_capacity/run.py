"""SRAM, STT-MRAM and SOT-MRAM of the same capacity (figures 3 and 4 of DeepNVM++)."""

from __future__ import annotations

import sys

import pandas as pd

from results.shared import memory
from results.shared.common import MB, Tables
from results.shared.memory import PaperFigure, best, both, factor, more

CLAIMS = [
    *both("dynamic energy, times SRAM's", (2.1, 1.3), factor("dynamic", more)),
    *both("leakage, times less", (5.9, 10.0), factor("leakage_j"), is_less=True),
    *both("energy, times less", (5.1, 8.6), factor("energy"), is_less=True),
    *both("EDP with DRAM, times less, at best", (3.8, 4.7), factor("edp_dram", best), is_less=True),
    *both("area, times less", (2.4, 2.8), factor("area_mm2"), is_less=True, is_input=True),
    PaperFigure(
        "SRAM: reads, % of dynamic energy",
        83.0,
        lambda rows: 100 * memory.share(rows, "spm_read_j", "dynamic"),
        is_percent=True,
    ),
]
OF_BLOCKS = [claim for claim in CLAIMS if "DRAM" not in claim.text and "area" not in claim.text]


def tables(rows: pd.DataFrame) -> Tables:
    """Tabulate claims in every reading, what blocks change of them, then workloads."""
    measured = memory.measures(rows)
    return {
        "Figures of the paper": memory.beside_paper(measured, CLAIMS),
        **memory.by_blocks(rows, OF_BLOCKS),
        **memory.workload_tables(measured),
    }


STUDY = memory.memory_study(
    __file__,
    {3 * MB: ("sram", "stt", "sot")},
    tables,
    lambda rows: memory.draw_workloads(rows, "energy"),
    blocks=OF_BLOCKS,
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
