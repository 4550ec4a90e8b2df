"""Solve a small model to proven optimality, and look at it.

One training step of ResNet-18 with batch 4 runs on a GPU-like accelerator whose scratchpad is cut
to 4 MB. What is the least time that any schedule of it takes, and how is the scratchpad used then?

Run it as ``python -m spmopt.examples.optimum FOLDER``, or cell by cell in a notebook.
"""

# %% Where pictures and pages go
import sys
from pathlib import Path

import spmopt

folder = Path(sys.argv[1] if len(sys.argv) == 2 else "optimum")
folder.mkdir(parents=True, exist_ok=True)

# %% What is scheduled
# A network and a machine make a problem: operations in order, with cycles and bytes. `spm`
# replaces the machine's own scratchpad; `help(spmopt.machine)` lists the other settings.
workload = spmopt.load("resnet18", training=True, batch=4)
problem = spmopt.lower(workload, spmopt.machine("rtx2080ti", spm="4MB"))

# %% The optimum
# `page` decides which pages of which tensor stay on chip, when. It starts from the greedy rules,
# and ends when the gap between its schedule and the certified bound is at most one part in ten
# thousand. The bound holds for every legal schedule in this order of operations: it comes from
# dual values for capacity and for transfers, and is evaluated in exact integers, without a solver.
solution = spmopt.solve(problem, "residency", time_limit=15.0, tolerance=1e-4)
spmopt.show(solution)

# %% Is it really legal?
# The schedule was verified before it came back: by every rule, and by a replay that follows each
# page by its contents. A file of it can be checked by anyone, at any time, with `spmopt verify`, or
# by reading it: `spmopt.read` verifies all that the file claims.
solution.save(folder / "resnet18.json")
again = spmopt.read(folder / "resnet18.json")
spmopt.show(f"status: {again.status}, verified: {again.result.verified}")

# %% Who holds the scratchpad, when?
# A rectangle is a residency interval of a tensor: from left to right its time, from bottom to top
# its addresses.
picture = spmopt.plot(solution, picture="map")
picture.save(folder / "map.png")
spmopt.show(picture)

# %% Where does the time go?
# The step is bound by computation where the engine is busy, and by DRAM where it stalls.
spmopt.show(spmopt.explain(solution, per="layer"))

# %% All of it on one page
# One file for any browser, without a network: pan and zoom the map, follow a tensor, sort tables.
spmopt.report(solution).save(folder / "resnet18.html")
spmopt.trace(solution).save(folder / "resnet18.trace.json")
