"""What the order of the operations is worth: as listed, depth first, and searched.

Each order is scheduled by ``page``. The search is also begun from the depth-first list, of which
it is told nothing: what it finds must not depend on how well a network happens to be listed.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from math import inf

from results.shared.bench import Bench, BenchLine, Figures, timed
from spmopt import load, lower, machine
from spmopt.core.objective import MAKESPAN
from spmopt.core.order import depth_first, reorder
from spmopt.core.problem import Problem
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.solving import solve
from spmopt.solving.named_orders import order_named
from spmopt.verifier.any_order import any_order_bound

LIMIT_S, TOLERANCE = 30.0, 1e-3
CASES: tuple[tuple[str, bool, str, Mapping[str, int]], ...] = (
    *(("gnmt", True, spm, {"steps": 10}) for spm in ("24MB", "64MB", "128MB")),
    ("gnmt", False, "24MB", {"steps": 10}),
    ("transformer", True, "24MB", {}),
    ("bert-large", True, "24MB", {}),
    ("gpt2", True, "24MB", {}),
    ("resnet50", True, "24MB", {}),
    ("googlenet", False, "4MB", {}),
    ("bert-tiny", True, "1MB", {}),
    ("stable-diffusion", False, "8MB", {}),
)
STEPS = {False: "forward", True: "training"}


def scheduled(problem: Problem) -> tuple[float, float | None]:
    """Return what ``page`` takes, in milliseconds, and its certified gap."""
    request = Request(objective=MAKESPAN, time_limit_s=LIMIT_S, tolerance=TOLERANCE)
    result = solve(problem, "residency", request)
    return inf if result.value is None else _ms(problem, result.value), result.gap


def _unlimited() -> Request:
    """Return a request of a search that ends by counted work alone."""
    return Request(time_limit_s=inf)


def _ms(problem: Problem, cycles: Fraction) -> float:
    return 1e3 * float(cycles) / problem.machine.clock_hz


def measure(network: str, training: bool, spm: str, **parameters: int) -> Figures:
    """Measure the orders of one network."""
    workload = load(network, training=training, parameters=parameters or None)
    listed = lower(workload, machine("rtx2080ti", spm=spm), mapper="tiled")
    deep = reorder(listed, depth_first(listed))
    order, taken = timed(lambda: order_named(listed, "searched", _unlimited()))
    found = {"listed": listed, "deep": deep, "searched": _in(listed, order)}
    found["back"] = _in(deep, order_named(deep, "searched", _unlimited()))
    each = {name: scheduled(problem) for name, problem in found.items()}
    times = {name: ms for name, (ms, _) in each.items()}
    least = _ms(listed, any_order_bound(listed, MAKESPAN))
    better = min(times["listed"], times["deep"])
    return {
        "operations": len(listed.operations),
        **{f"{name}_ms": value for name, value in times.items()},
        "gap": each["searched"][1],
        "saved": 1 - times["searched"] / better,
        "back_off": times["back"] / better - 1,
        "least_ms": least,
        "any_gap": times["searched"] / least - 1,
        **taken,
    }


def _in(problem: Problem, order: Ints | None) -> Problem:
    return problem if order is None else reorder(problem, order)


BENCH = Bench(
    file=__file__,
    lines=[
        BenchLine(
            (name + "".join(f", {k}={v}" for k, v in given.items()), STEPS[training], spm),
            {"": partial(measure, name, training, spm, **given)},
            {"back_off": "≤ 0.02"},
        )
        for name, training, spm, given in CASES
    ],
    quick=partial(measure, "bert-tiny", True, "1MB"),
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
