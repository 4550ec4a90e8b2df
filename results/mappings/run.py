"""How much the choice of each operation's mapping gains, with certified gaps."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial

from results.shared.bench import Bench, BenchLine, Figures, peak_mb, timed
from spmopt.core.errors import ScheduleError
from spmopt.core.problem import Problem
from spmopt.core.scheduler import Request
from spmopt.frontends import zoo
from spmopt.graph.tileable import lower_listed
from spmopt.hardware.machines import load_machine
from spmopt.solving import solve

LAYER_BY_LAYER, FUSED = "layer by layer", "fused"
NETWORKS: Mapping[str, Mapping[str, int]] = {
    "mobilenetv2": {"batch": 1},
    "resnet50": {"batch": 1},
    "transformer": {"batch": 1},
    "bert-large": {"batch": 1},
    "gpt2": {"batch": 1},
    "llama3": {"batch": 1, "layers": 1, "sequence": 1024, "past": 0},
}
OF_PLANS: Mapping[str, tuple[str, Mapping[str, int], float]] = {
    "resnet50": ("small-npu", {"batch": 4}, 0.05),
    "bert-large": ("small-npu", {"batch": 4, "layers": 2}, 0.05),
    "llama3": ("large-npu", NETWORKS["llama3"], 0.007),
}
"""Machine, sizes and the gap to reach over fusion plans and mappings."""
MACHINES = "small-npu", "large-npu", "ethos-u65"
MAPPERS = "tiled", "choose"


def lowered(network: str, sizes: Mapping[str, int], machine: str, mapper: str) -> Problem:
    """Build the inference of a network of the zoo, and lower it."""
    return lower_listed(zoo.network(network, **sizes), load_machine(machine), mapper=mapper)


def solved(
    network: str, sizes: Mapping[str, int], machine: str, mapper: str, *, fused: bool = False
) -> Figures:
    """Solve within 60 s to a certified gap of 0.1 %, or of 0.5 % over fusion plans."""
    problem, lowering = timed(partial(lowered, network, sizes, machine, mapper))
    request = Request(tolerance=5e-3 if fused else 1e-3, time_limit_s=60.0)
    result, taken = timed(lambda: solve(problem, "fusion" if fused else "residency", request))
    gap = result.fusion_gap if fused else result.gap
    if result.value is None or gap is None:
        raise ScheduleError("no schedule, or no bound")
    return {
        "operations": len(problem.operations),
        "most": max(len(operation.mappings) for operation in problem.operations),
        "lower_cpu_s": lowering["cpu_s"],
        **taken,
        "ms": 1e3 * float(result.value) / problem.machine.clock_hz,
        "gap": gap,
        "peak_mb": peak_mb(),
    }


def gain(figures: Figures) -> Figures:
    """Return how much less time the choice takes than the mapper's own mapping."""
    return {"gain": 1 - figures["choose.ms"] / figures["tiled.ms"]}


def parts_of(
    network: str, sizes: Mapping[str, int], machine: str, *, fused: bool = False
) -> Mapping[str, partial[Figures]]:
    """Return the measurements of a line."""
    return {
        mapper: partial(solved, network, sizes, machine, mapper, fused=fused) for mapper in MAPPERS
    }


LINES = [
    BenchLine(
        (network, machine, LAYER_BY_LAYER),
        parts_of(network, sizes, machine),
        {"choose.gap": "≤ 0.001"},
    )
    for machine in MACHINES
    for network, sizes in NETWORKS.items()
]
LINES += [
    BenchLine(
        (network, machine, FUSED),
        parts_of(network, sizes, machine, fused=True),
        {"choose.gap": f"≤ {gap}"},
    )
    for network, (machine, sizes, gap) in OF_PLANS.items()
]
BENCH = Bench(
    file=__file__,
    lines=LINES,
    quick=partial(solved, "mobilenetv2", NETWORKS["mobilenetv2"], "small-npu", "choose"),
    derive=gain,
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
