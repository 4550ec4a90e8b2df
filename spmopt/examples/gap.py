"""Measure what a heuristic leaves on the table.

Compilers decide by greedy rules the resident bytes. Belady's rule, evict what is used furthest
ahead, is the best there is for caches whose blocks are all of one size; tensors are not. What does
it cost against the optimum, when one step of MobileNetV2 is trained in 8 MB, and why?

Run it as ``python -m spmopt.examples.gap FOLDER``, or cell by cell in a notebook.
"""

# %% Where pictures and pages go
import sys
from pathlib import Path

import spmopt

folder = Path(sys.argv[1] if len(sys.argv) == 2 else "gap")
folder.mkdir(parents=True, exist_ok=True)

# %% Several schedulers, one bound
# All schedules are verified, and all are compared with the best certified bound that was found, so
# that "gap to bound" means the same in every row: the optimum lies between the bound and the best
# row. `belady-size` weighs a tensor's bytes against its absence, `:granularity=page` keeps heads of
# tensors where the whole does not fit.
workload = spmopt.load("mobilenetv2", training=True, batch=4)
problem = spmopt.lower(workload, spmopt.machine(spm="8MB"))
rules = ["lru", "belady", "belady-size", "belady-size:granularity=page"]
comparison = spmopt.compare(problem, [*rules, "residency"], time_limit=12.0, tolerance=1e-3)
spmopt.show(comparison)

# %% How far from the optimum is a rule, at least and at most?
# At least: against the best schedule found. At most: against the bound.
least, most = comparison.excess("belady")
spmopt.show(f"belady takes {100 * least:.1f} to {100 * most:.1f} % more time than the optimum")

# %% Where does it lose that time?
# By causes of stalls, and by layers: `stream in` is an operand that crosses again because it was
# given up, or because it never fitted.
spmopt.show(spmopt.explain(comparison["belady"]))
spmopt.show(spmopt.explain(comparison["residency"]))

# %% What does the optimum keep that the rule evicts?
# Strong colors in the maps: kept by this schedule, and not by the other one.
pair = (comparison["belady"], comparison.best)
difference = spmopt.plot(pair)
difference.save(folder / "difference.png")
spmopt.show(difference)
spmopt.report(pair).save(folder / "belady-and-optimum.html")
