# %% [markdown]
# # Hardware search for a design review
#
# How much scratchpad and bandwidth does a network deserve? A search over machines ends in a Pareto front of time and cost.

# %%
import tempfile
from pathlib import Path

import spmopt

folder = Path(tempfile.mkdtemp())
space = folder / "space.toml"
space.write_text(
    """
machine = "ethos-u65"
cost = { spm_mb = 1.0, gbps = 0.25 }

[space]
spm = "128KiB:512KiB:128KiB"
bandwidth = { low = "2GB/s", high = "8GB/s", step = "2GB/s" }
"""
)

# %% [markdown]
# `cost` is an assumption of this page: 1 for a megabyte of scratchpad, 0.25 for a GB/s.
# Every machine is scheduled, verified and bounded. Machines that bounds prove to be off the front are excluded without a schedule.

# %%
search = spmopt.tune(
    ["bert-tiny"],
    space,
    objectives=["time", "cost"],
    trials=16,
    sampler="grid",
    batch=1,
    dtype="int8",
    scheduler="residency",
    time_limit=1,
    tolerance=0.01,
    workers=0,
    storage=folder / "tune.db",
)
search

# %% [markdown]
# The front, as rows for a review; `~` marks a member whose lead is within the gap of another machine.

# %%
search.rows()[:3]

# %%
search.record()["counts"]

# %% [markdown]
# `spmopt report --storage tune.db -o front.html` makes one offline page of front, proofs and schedules.

# %%
spmopt.plot(search)
