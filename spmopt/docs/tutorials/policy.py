# %% [markdown]
# # My own policy
#
# A policy is a function: it takes a problem, and returns which tensors stay on chip in which steps.
# spmopt derives transfers, addresses and stores, checks the schedule and bounds it.

# %%
import spmopt
from spmopt.testing.policies import check_legal

network = spmopt.load("resnet18", batch=1, dtype="int8")
problem = spmopt.lower(network, spmopt.machine("ethos-u65", spm="512KiB"))
problem.tensors[1], problem.operations[0].name

# %% [markdown]
# `free_bytes` says how much room each step has beside the needs of its operation.
# A result is a list of (tensor, first step, step after the last).


# %%
def chain(problem):
    """Keep each activation from the operation that writes it to the next one, if it fits."""
    room, page, kept = spmopt.free_bytes(problem), problem.machine.page_bytes, []
    for step, operation in enumerate(problem.operations[:-1]):
        for index in operation.writes:
            size = -(-problem.tensors[index].size_bytes // page) * page
            used_next = index in problem.operations[step + 1].reads
            if used_next and size <= min(room[step : step + 2]):
                room[step : step + 2] -= size
                kept.append((index, step, step + 2))
    return kept


table = spmopt.compare(
    problem, ["stream", chain, "belady", "residency"], time_limit=2, tolerance=0.005
)
table

# %% [markdown]
# An illegal answer is refused with its reason: here a tensor is larger than the room.


# %%
def greedy(problem):
    """Keep everything: illegal."""
    return [(index, 0, len(problem.operations)) for index in range(len(problem.tensors))]


try:
    spmopt.solve(problem, greedy)
except spmopt.SpmoptError as error:
    print(error)

# %% [markdown]
# `check_legal` tries a policy on random small problems. `spmopt.testing.check_policy` runs all checks of the built-in policies:
# legality, every objective, determinism, tiny optima.

# %%
check_legal(chain)

# %% [markdown]
# An entry point gives a policy a name on the command line: `tests/example_plugin` is a package that does so.
