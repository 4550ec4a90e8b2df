"""What each simplification costs on small networks: order, barriers, whole tensors, ranges."""

from __future__ import annotations

import csv
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from formulations.joint import FoundSchedule, JointSettings, search
from results.shared.bench import Bench, BenchLine, Figures, timed
from results.shared.small import NETWORKS, small_problem
from spmopt.core.errors import ScheduleError
from spmopt.core.objective import REPLAY
from spmopt.core.order import other_order
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.frontends.networks import load_network
from spmopt.frontends.shipped import ship
from spmopt.graph.lower import lower
from spmopt.hardware.machines import load_machine
from spmopt.schedulers.registry import Kind, find
from spmopt.solving import compare, solve
from spmopt.verifier import require_legal

THREADS = 2


def build(network: str, spm: str, training: bool) -> Problem:
    """Build a small network, or a model of the onnx package."""
    if network in NETWORKS:
        return small_problem(network, int(spm), training=training)
    graph = load_network(str(ship()[network.removesuffix(".onnx")]), training=training)
    return lower(graph, load_machine("rtx2080ti", {"spm": spm}), mapper="panel")


def simplifications(network: str, spm: str, training: bool, limit_s: float) -> Figures:
    """Measure the best schedules of narrower and wider classes; ``limit_s`` for each search.

    ``joint``: any order, replay, whole tensors in ranges; ``fixed``: in the listed order;
    ``paged``: with a count of pages in place of addresses, a bound for whole tensors in pages;
    ``whole`` and ``page``: the best step times (makespans), in the listed order, and the
    replays of their schedules. Every schedule is verified.
    """
    problem = build(network, spm, training)
    start, policy = best_policy(problem)
    order = np.arange(len(problem.operations))
    joint, least, seconds = searched(problem, start, limit_s)
    fixed, fixed_bound, _ = searched(problem, start, limit_s, order=order)
    _, paged_bound, _ = searched(problem, start, limit_s, paged=True)
    request = Request(time_limit_s=limit_s, threads=THREADS, tolerance=1e-6)
    whole, page = (steps(solve(problem, name, request)) for name in ("whole", "residency"))
    least, best = max(least, paged_bound), min(joint, fixed)
    # Either scheduler may find the better one of a class that holds both's schedules.
    listed, pages = min(fixed, whole[1]), min(page[0], whole[0])
    return {
        "operations": len(problem.operations),
        "policy": policy,
        "joint": best,
        "joint_bound": least,
        "joint_gap": best / least - 1,
        "joint_s": seconds,
        "proved": best == least,
        "fixed": fixed,
        "fixed_bound": fixed_bound,
        "paged_bound": paged_bound,
        "whole": whole[0],
        "whole_replay": whole[1],
        "page": page[0],
        "page_replay": page[1],
        "heuristic_cost": policy / best - 1,
        "order_cost": fixed / best - 1,
        "command_cost": fixed / listed - 1,
        "barrier_cost": whole[0] / listed - 1,
        "whole_cost": whole[0] / pages - 1,
        "range_cost": best / paged_bound - 1,
    }


def best_policy(problem: Problem) -> tuple[ResidencyPlan, int]:
    """Return the best plan of whole tensors as listed, and the least replay of any policy."""
    names = [name for name in find("joint").starts if find(name).kind is Kind.POLICY]
    results = compare(problem, names, Request(objective=REPLAY))
    replays = {name: steps(each)[1] for name, each in zip(names, results, strict=True)}
    listed = [
        name
        for name, result in zip(names, results, strict=True)
        if find(name).granularity == "whole"
        and result.schedule is not None
        and other_order(result.schedule.steps.operation) is None
    ]
    best = min(listed, key=replays.__getitem__)
    residency_plan = find(best).load()(problem, Request(objective=REPLAY)).residency_plan
    if residency_plan is None:
        raise ScheduleError(f"{best}: no schedule")
    return residency_plan, min(replays.values())


def steps(result: Result) -> tuple[int, int]:
    """Return makespan and replay."""
    if result.totals is None:
        raise ScheduleError(f"{result.scheduler}: no schedule within the limit")
    return result.totals.makespan_cycles, result.totals.replay_cycles


def searched(
    problem: Problem, start: ResidencyPlan, limit_s: float, **settings: Any
) -> tuple[int, int, float]:
    """Return least cycles found, verified if with addresses; bound; seconds to end or limit."""
    asked = JointSettings(time_limit_s=limit_s, threads=THREADS, **settings)
    answers, taken = timed(lambda: list(search(problem, asked, start)))
    found = [answer for answer in answers if isinstance(answer, FoundSchedule)]
    bounds = [answer.cycles for answer in answers if not isinstance(answer, FoundSchedule)]
    if not found:
        raise ScheduleError(f"joint: no schedule within {limit_s:g} s")
    cycles = found[-1].cycles
    if not asked.paged:
        totals = require_legal(problem, found[-1].schedule).totals
        if totals is None or totals.replay_cycles > cycles:
            raise ScheduleError("joint: the replay takes longer than the model says")
        cycles = totals.replay_cycles
    return cycles, max(bounds, default=0), taken["wall_s"]


with Path(__file__).with_name("problems.csv").open(encoding="utf-8", newline="") as file:
    PROBLEMS = [*csv.DictReader(file)]
LIMIT_S = 60.0
TARGETS = {"joint_gap": "≤ 0", "joint_s": "≤ 60"}
LINES = []
for row in PROBLEMS:
    case = (row["network"], row["spm"], row["training"] == "True")
    cells = (row["network"], "training" if case[2] else "forward", row["spm"])
    LINES.append(BenchLine(cells, {"": partial(simplifications, *case, LIMIT_S)}, TARGETS))
BENCH = Bench(
    file=__file__, lines=LINES, quick=partial(simplifications, "residual", "2048", False, 5.0)
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
