"""Measure what a heuristic leaves on the table.

Compilers decide by greedy rules what stays on chip. Belady's rule, evict what is used furthest
ahead, is the best there is for caches whose blocks are all of one size; tensors are not. What does
it cost against the optimum, when one step of MobileNetV2 is trained in 8 MB, and why?

Run it as ``python -m spmopt.examples.gap FOLDER``, or cell by cell in a notebook.
"""

# %% Where pictures and pages go
import sys
from pathlib import Path

from spmopt import api

folder = Path(sys.argv[1] if len(sys.argv) == 2 else "gap")
folder.mkdir(parents=True, exist_ok=True)

# %% Several schedulers, one bound
# All schedules are verified, and all are held against the best certified bound that was found, so
# that "gap to bound" means the same in every row: the optimum lies between the bound and the best
# row. `belady-size` weighs a tensor's bytes against its absence, `:granularity=page` keeps heads of
# tensors where the whole does not fit.
case = api.instance("mobilenetv2", training=True, batch=4, spm="8MB")
rules = ["lru", "belady", "belady-size", "belady-size:granularity=page"]
compared = api.compare(case, [*rules, "page"], time_limit=12.0, tolerance=1e-3)
api.show(compared)

# %% How far from the optimum is a rule, at least and at most?
# At least: against the best schedule found. At most: against the bound.
least, most = compared.excess("belady")
api.show(f"belady takes {100 * least:.1f} to {100 * most:.1f} % more time than the optimum")

# %% Where does it lose that time?
# By causes of stalls, and by layers: `stream in` is an operand that crosses again because it was
# given up, or because it never fitted.
api.show(compared["belady"].analyse())
api.show(compared["page"].analyse())

# %% What does the optimum keep that the rule evicts?
# Strong colours in the maps: kept by this schedule, and not by the other one.
names = ("belady", compared.best.result.scheduler)
difference = compared.draw(*names)
difference.save(folder / "difference.png")
api.show(difference)
compared["belady"].save_page(folder / "belady-and-optimum.html", compared.best)
