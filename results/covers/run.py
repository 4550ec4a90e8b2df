"""What greedy rules leave on the table once tiles are decided.

Gaps to the bound over the fusion space. Fifteen networks of the zoo and the models that the package
onnx ships, forward and one training step: policies layer by layer, the optimum of the list, a
policy on the best fusion plan, and the schedule in fusion tiles, all against one certified bound.
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
from spmopt.frontends.shipped import ship
from spmopt.solving import compare, compare_on

LIMIT_S, SPM = 10.0, "24MB"
BEST = "belady-size:granularity=page"
LISTED = {"belady": "belady", "best": BEST, "residency": "residency", "fusion": "fusion"}
NEWER = ("gpt2", "llama3", "convnext-tiny", "stable-diffusion")
KEYS = {
    "belady": "Belady on the list",
    "best": "Belady by sizes and pages on the list",
    "residency": "the optimum of the list",
    "belady_on_fusion_plan": "Belady on the best fusion plan",
    "fusion": "the fused schedule",
}


def measure(network: str, training: bool, **parameters: int) -> Figures:
    """Measure the gaps of one network.

    Raises
    ------
    ScheduleError
        There is no schedule in fusion tiles, or no bound.
    """
    batch = parameters.pop("batch", None)
    workload = load(network, training=training, batch=batch, parameters=parameters or None)
    problem = lower(workload, machine("rtx2080ti", spm=SPM), mapper="tiled")
    request = Request(objective=MAKESPAN, time_limit_s=LIMIT_S, threads=2)
    found, taken = timed(lambda: compare(problem, [*LISTED.values()], request))
    results = dict(zip(LISTED, found, strict=True))
    chosen = results["fusion"]
    if chosen.fused is None or chosen.fusion_bound is None:
        raise ScheduleError("no schedule in fusion tiles, or no bound")
    least = chosen.fusion_bound
    (on_fusion_plan,) = compare_on(chosen.fused, ["belady"], request, of_fusion_plans=least)
    values = {name: each.value for name, each in results.items()}
    values["belady_on_fusion_plan"] = on_fusion_plan.value
    return {
        "operations": len(problem.operations),
        **{
            f"{name}_gap": None if value is None else relative_gap(value, least)
            for name, value in values.items()
        },
        "fused_groups": len(chosen.fused.fusion_plan),
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
    return "Above the bound over the fusion space:\n\n" + "\n".join(lines)


MODELS: dict[str, tuple[str, Mapping[str, int]]] = {name: (name, {}) for name in ZOO}
MODELS |= {name: (name, {}) for name in NEWER}
MODELS["gnmt, steps=10"] = ("gnmt", {"steps": 10})
MODELS |= {f"{name}.onnx": (str(path), {"batch": 32}) for name, path in ship().items()}
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
