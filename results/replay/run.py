"""The replay, without barriers: policies, optimizers of steps, ``joint``, and the bounds on it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from math import inf

from results.shared.bench import Bench, BenchLine, Figures, timed
from spmopt import load, lower, machine
from spmopt.core.objective import REPLAY
from spmopt.core.result import Result
from spmopt.core.scheduler import Request
from spmopt.schedulers.registry import find
from spmopt.solving import compare, solve
from spmopt.verifier.any_order import any_order_bound

LIMIT_S = 60.0
CASES: tuple[tuple[str, bool, str, Mapping[str, int]], ...] = (
    ("squeezenet", False, "1MB", {}),
    ("resnet18", False, "2MB", {}),
    ("bert-tiny", False, "1MB", {}),
    ("mobilenetv2", False, "2MB", {}),
    ("resnet18", True, "2MB", {}),
    ("gnmt", True, "24MB", {"steps": 4}),
    ("gnmt", False, "24MB", {"steps": 4}),
    ("squeezenet", False, "1MB", {"dma_setup": 500}),
    ("resnet18", False, "2MB", {"dma_setup": 500}),
    ("resnet18", True, "2MB", {"dma_setup": 500}),
)
NEAR = 0.1
"""What ``joint`` may be above the bound on any order: in the first four lines."""
STEPS = {False: "forward", True: "training"}


def measure(network: str, training: bool, spm: str, **given: int) -> Figures:
    """Measure the replay of one network at batch 1; ``dma_setup`` is the machine's."""
    parameters = {name: value for name, value in given.items() if name != "dma_setup"}
    workload = load(network, training=training, batch=1, parameters=parameters or None)
    setup = given.get("dma_setup", 0)
    problem = lower(workload, machine("rtx2080ti", spm=spm, dma_setup=setup), mapper="tiled")
    request = Request(objective=REPLAY, time_limit_s=LIMIT_S)
    policies = compare(problem, [*find("residency").starts, "tsai"], request)
    page, whole = (
        solve(problem, name, request) for name in ("residency", "residency:granularity=tensor")
    )
    joint, taken = timed(lambda: solve(problem, "joint", request))
    best, policy = _cycles(joint), min(map(_cycles, policies))
    least = float(any_order_bound(problem, REPLAY))
    return {
        "operations": len(problem.operations),
        "policy": policy,
        "whole": _cycles(whole),
        "page": _cycles(page),
        "page_gap": _gap(page),
        "joint": best,
        "gap": _gap(joint),
        "saved": 1 - best / _cycles(page),
        "worse": max(0.0, best / min(policy, _cycles(page), _cycles(whole)) - 1),
        "least": least,
        "any_gap": best / least - 1,
        **taken,
    }


def _cycles(result: Result) -> float:
    return inf if result.value is None else float(result.value)


def _gap(result: Result) -> float | None:
    return None if result.gap is None else float(result.gap)


BENCH = Bench(
    file=__file__,
    lines=[
        BenchLine(
            (name + "".join(f", {k}={v}" for k, v in given.items()), STEPS[training], spm),
            {"": partial(measure, name, training, spm, **given)},
            {"worse": "≤ 0", **({"any_gap": f"≤ {NEAR}"} if line < 4 else {})},
        )
        for line, (name, training, spm, given) in enumerate(CASES)
    ],
    quick=partial(measure, "bert-tiny", False, "1MB"),
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
