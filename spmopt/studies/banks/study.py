"""What a scratchpad of two memories is worth beside those of one memory with the same area."""

from __future__ import annotations

from spmopt.studies.banks.designs import BUDGET_BYTES, designs
from spmopt.studies.banks.measure import BATCH, COLUMNS, MACHINE, NETWORKS, PORTS, run
from spmopt.studies.banks.shown import find
from spmopt.studies.study import Measured, Study

STUDY = Study(
    name="banks",
    title="what a scratchpad of two memories is worth",
    about=(
        "Scratchpads of the same area, that of 4 MiB of SRAM: SRAM alone, STT-MRAM or SOT-MRAM "
        "alone, and a bank of SRAM beside a bank of one of them. Which bytes lie in which bank, "
        "and when they move, is optimised for each (scheduler `banks`). Inference, batch "
        f"{BATCH}, on a GTX 1080 Ti; memories of NVSim, 22 nm. Objective energy, with banks that "
        "are never slow; and objective time, with 64 ports to each bank, one access at a time each."
    ),
    measured=Measured(
        columns=COLUMNS,
        run=run,
        what=repr((MACHINE, BATCH, NETWORKS, designs(), BUDGET_BYTES, PORTS)),
    ),
    find=find,
)
