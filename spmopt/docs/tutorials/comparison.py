# %% [markdown]
# # Reading a comparison
#
# MobileNetV2 (int8, batch 1) on a small NPU with little scratchpad: which row of a comparison answers which question?

# %%
import spmopt

network = spmopt.load("mobilenetv2", batch=1, dtype="int8")
problem = spmopt.lower(network, spmopt.machine("ethos-u65", spm="384KiB"))
names = ["stream", "belady", "msa", "belady-size:granularity=page", "residency"]
table = spmopt.compare(problem, names, time_limit=2, tolerance=0.005)
table

# %% [markdown]
# * **time** is the sum over steps of the longer of computation and transfers.
# * **gap** is the distance to a certified lower bound, value / bound - 1. All rows share one bound.
# * **status** is `optimal` where the gap is within the tolerance, `feasible` where a schedule was checked.
#
# Two questions, two rows. *Is the heuristic good?* Its distance to `residency` says so:

# %%
100 * (table["belady"].makespan_s / table["residency"].makespan_s - 1)

# %% [markdown]
# *How good can the optimizer still become?* Its own gap says so:

# %%
100 * table["residency"].gap

# %% [markdown]
# The traffic explains the time: `belady` moves more bytes, and the engine waits for them.

# %%
{name: (table[name].traffic_bytes, table[name].gap) for name in names}

# %% [markdown]
# A picture shows engine, DMA and addresses of two schedules; `spmopt report A.json B.json` makes a page of it.

# %%
spmopt.plot([table["belady"], table["residency"]])
