"""Tune hardware: how much scratchpad, of which memory, at which bandwidth.

SqueezeNet is trained with batch 4. Larger scratchpads save DRAM traffic and cost area; so does
bandwidth, which has a dual value here. Which machines are worth building?

Run it as ``python -m spmopt.examples.hardware FOLDER``, or cell by cell in a notebook.
"""

# %% Where files go
import json
import sys
from pathlib import Path

import spmopt

folder = Path(sys.argv[1] if len(sys.argv) == 2 else "hardware")
folder.mkdir(parents=True, exist_ok=True)

# %% The space
# Fields of a machine as lists or ranges; constraints on figures; dual values for the objective
# `cost`, here of area and of bandwidth. The same file is for `spmopt tune`.
space = folder / "space.toml"
space.write_text(
    """machine = "rtx2080ti"
constraints = ["power_w <= 200"]

[space]
spm = "1MiB:4MiB:1MiB"
bandwidth = ["200GB/s", "400GB/s"]
technology = ["nvsim-sram", "nvsim-stt"]

[cost]
area_mm2 = 1.0
gbps = 0.1
""",
    encoding="utf-8",
)

# %% The search
# Every machine of this small space is asked for once (`grid`). Each gets a schedule with a
# certified bound, so that the answer is about the hardware and not about a heuristic. Machines that
# bounds prove to be off the front are excluded without being scheduled.
found = spmopt.tune(
    "squeezenet",
    space,
    training=True,
    batch=4,
    objectives=("time", "cost"),
    sampler="grid",
    trials=16,
    time_limit=1.0,
)
spmopt.show(found)

# %% The front among all machines
# What was excluded by proof is a cross where any schedule of it is at best.
picture = spmopt.plot(found)
picture.save(folder / "front.png")
spmopt.show(picture)

# %% The schedule of the fastest machine
# Its gap says how much of the time could be the scheduler's fault, at most.
fastest = found.solution(found.front[0])
spmopt.show(fastest)
spmopt.report(fastest).save(folder / "fastest.html")

# %% Figures for plots and tables of your own
# The front as rows: fields, objectives, and what each network comes to.
(folder / "front.json").write_text(json.dumps(found.rows(), indent=2), encoding="utf-8")
