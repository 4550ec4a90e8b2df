"""SRAM, STT-MRAM and SOT-MRAM of about the same area (figures 6 to 8 of DeepNVM++)."""

from __future__ import annotations

import sys

import pandas as pd

from results.shared import memory
from results.shared.common import MB, Tables, in_percent, texts
from results.shared.memory import EQUAL, OPTIMAL, RIVALS, SERIAL, TITLES, both, factor, more


def saved(rows: pd.DataFrame, role: str) -> pd.Series:
    """Return the part of SRAM's traffic to the DRAM that is saved, by workload."""
    return 1 - memory.relative(rows, role, "dram_bytes")


CLAIMS = [
    *both(  # the paper simulates the traffic of AlexNet alone
        "DRAM traffic saved, AlexNet I, %",
        (14.6, 19.8),
        lambda role, rows: 100 * float(saved(rows, role).at["alexnet", False, 4]),
        is_percent=True,
        why="it has misses of kernels, which read operands repeatedly; a schedule moves them once",
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


def tables(rows: pd.DataFrame) -> Tables:
    """Tabulate claims in every reading, traffic to the DRAM, then workloads."""
    rows = memory.measures(rows)
    return {
        "Figures of the paper": memory.beside_paper(rows, CLAIMS),
        "DRAM traffic saved against SRAM, %": traffic(rows),
        **memory.workload_tables(rows),
    }


def traffic(rows: pd.DataFrame) -> pd.DataFrame:
    """Return traffic saved under the greedy policy and at the optimum, of traffic and of energy."""
    goals = {SERIAL: ", least traffic", EQUAL: ", least energy"}
    found: dict[str, pd.Series] = {}
    for (reading, scheduler), own in rows.groupby(["reading", "scheduler"], sort=False):
        if reading in goals and (scheduler == OPTIMAL or reading == SERIAL):
            goal = goals[reading] if scheduler == OPTIMAL else ""
            found |= {f"{TITLES[role]}: {scheduler}{goal}": saved(own, role) for role in RIVALS}
    head = "workload (I: inference, T: training)"
    return texts(memory.with_mean(found), in_percent).rename_axis(head)


STUDY = memory.memory_study(
    __file__,
    {3 * MB: ("sram",), 7 * MB: ("stt",), 10 * MB: ("sot",)},
    tables,
    lambda rows: memory.draw_workloads(rows, "EDP with DRAM"),
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
