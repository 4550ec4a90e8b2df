"""What greedy rules leave on the table once pieces are decided: gaps to the bound over all covers.

Fifteen networks of the zoo and the models that the package onnx ships, forward and one training
step: policies on the list as given, the optimum of the list, a policy on the best cover, and the
schedule in pieces, all against one certified bound.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from statistics import median

from results.policies.run import STEPS, ZOO
from results.shared.bench import Bench, BenchLine, Figures, timed
from spmopt import load, lower, machine
from spmopt.core.errors import ScheduleError
from spmopt.core.objective import MAKESPAN
from spmopt.core.result import relative_gap
from spmopt.core.scheduler import Request
from spmopt.frontends.shipped import shipped
from spmopt.solving import compare, compare_on

LIMIT_S, SPM = 10.0, "24MB"
BEST = "belady-size:granularity=page"
LISTED = {"belady": "belady", "best": BEST, "page": "page", "pieces": "pieces"}
NEWER = ("gpt2", "llama3", "convnext-tiny", "stable-diffusion")
KEYS = {
    "belady": "Belady on the list",
    "best": "Belady by sizes and pages on the list",
    "page": "the optimum of the list",
    "belady_on_cover": "Belady on the best cover",
    "pieces": "the schedule in pieces",
}


def measure(network: str, training: bool, **parameters: int) -> Figures:
    """Measure the gaps of one network.

    Raises
    ------
    ScheduleError
        There is no schedule in pieces, or no bound.
    """
    batch = parameters.pop("batch", None)
    workload = load(network, training=training, batch=batch, parameters=parameters or None)
    instance = lower(workload, machine("rtx2080ti", spm=SPM))
    request = Request(objective=MAKESPAN, time_limit_s=LIMIT_S, threads=2)
    found, taken = timed(lambda: compare(instance, [*LISTED.values()], request))
    results = dict(zip(LISTED, found, strict=True))
    chosen = results["pieces"]
    if chosen.pieces is None or chosen.cover_bound is None:
        raise ScheduleError("no schedule in pieces, or no bound")
    least = chosen.cover_bound
    (on_cover,) = compare_on(chosen.pieces, ["belady"], request, of_covers=least)
    values = {name: each.value for name, each in results.items()}
    values["belady_on_cover"] = on_cover.value
    return {
        "operations": len(instance.operations),
        **{
            f"{name}_gap": None if value is None else relative_gap(value, least)
            for name, value in values.items()
        },
        "segments": len(chosen.pieces.cover),
        **taken,
    }


def note(found: Mapping[str, Figures]) -> str:
    """Say the medians, of all networks and of each step."""
    lines = []
    for key, name in KEYS.items():
        of = {
            step: [
                each[f"{key}_gap"]
                for line, each in found.items()
                if line.endswith(step) and each.get(f"{key}_gap") is not None
            ]
            for step in STEPS.values()
        }
        every = [gap for gaps in of.values() for gap in gaps]
        if every:
            parts = [f"{median(gaps):.2%} {step}" for step, gaps in of.items() if gaps]
            worst = f"worst {max(every):.1%}"
            lines.append(f"* {name}: median {median(every):.2%} ({', '.join(parts)}), {worst}")
    return "Above the bound over all covers:\n\n" + "\n".join(lines)


MODELS: dict[str, tuple[str, Mapping[str, int]]] = {name: (name, {}) for name in ZOO}
MODELS |= {name: (name, {}) for name in NEWER}
MODELS["gnmt, steps=10"] = ("gnmt", {"steps": 10})
MODELS |= {f"{name}.onnx": (str(path), {"batch": 32}) for name, path in shipped().items()}
BENCH = Bench(
    file=__file__,
    lines=[
        BenchLine((title, STEPS[training]), {"": partial(measure, name, training, **given)})
        for title, (name, given) in MODELS.items()
        for training in (False, True)
    ],
    quick=partial(measure, "bert-tiny", False, batch=4),
    note=note,
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
