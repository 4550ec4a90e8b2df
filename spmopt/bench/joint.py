"""What each simplification costs on a small network: order, barriers, whole tensors, ranges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.joint import Found, Settings, search
from spmopt.bench.clock import timed
from spmopt.bench.suite import Figure, Figures
from spmopt.core.errors import ScheduleError
from spmopt.core.instance import Instance
from spmopt.core.objective import REPLAY
from spmopt.core.order import other_order
from spmopt.core.result import Result
from spmopt.core.schedule import Plan
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.schedulers.registry import find
from spmopt.solve import compare, solve
from spmopt.verify import require_legal

_THREADS = 2


@dataclass(frozen=True, kw_only=True)
class _Best:
    """Least cycles found, and the bound; equal if proved."""

    cycles: int
    bound: int
    seconds: float


def simplifications(instance: Instance, *, limit_s: float) -> Figures:
    """Cycles of the best schedules of narrower and wider classes; ``limit_s`` for each search.

    ``joint``: any order, replay, whole tensors in ranges; ``fixed``: in the listed order;
    ``paged``: with a count of pages in place of addresses, a bound for whole tensors in pages;
    ``whole`` and ``page``: the best step times (makespans), in the listed order, and the
    replays of their schedules. Every schedule is verified.
    """
    start, policy = _start(instance)
    order = np.arange(len(instance.operations))
    joint = _search(instance, start, limit_s)
    fixed = _search(instance, start, limit_s, order=order)
    paged = _search(instance, start, limit_s, paged=True)
    request = Request(time_limit_s=limit_s, threads=_THREADS, tolerance=1e-6)
    whole, page = (_steps(solve(instance, name, request)) for name in ("whole", "page"))
    least = max(joint.bound, paged.bound)
    best = min(joint.cycles, fixed.cycles)
    # Either scheduler may find the better one of a class that holds both's schedules.
    listed, pages = min(fixed.cycles, whole[1]), min(page[0], whole[0])
    figures: dict[str, Figure] = {
        "operations": len(instance.operations),
        "policy": policy,
        "joint": best,
        "joint_bound": least,
        "joint_gap": best / least - 1,
        "joint_s": joint.seconds,
        "proved": best == least,
        "fixed": fixed.cycles,
        "fixed_bound": fixed.bound,
        "paged_bound": paged.bound,
        "whole": whole[0],
        "whole_replay": whole[1],
        "page": page[0],
        "page_replay": page[1],
    }
    return {
        **figures,
        "heuristic_cost": policy / best - 1,
        "order_cost": fixed.cycles / best - 1,
        "command_cost": fixed.cycles / listed - 1,
        "barrier_cost": whole[0] / listed - 1,
        "whole_cost": whole[0] / pages - 1,
        "range_cost": best / paged.bound - 1,
    }


def _start(instance: Instance) -> tuple[Plan, int]:
    """The best plan of whole tensors in the listed order, and the least replay of any policy."""
    entries = [find(name) for name in find("joint").starts]
    results = compare(instance, find("joint").starts, Request(objective=REPLAY))
    replays = [_steps(result)[1] for result in results]
    listed = [_is_listed(result) for result in results]
    own = [k for k, entry in enumerate(entries) if entry.granularity == "whole" and listed[k]]
    best = min(own, key=replays.__getitem__)
    plan = entries[best].load()(instance, Request(objective=REPLAY)).plan
    if plan is None:
        raise ScheduleError(f"{entries[best].name}: no schedule")
    return plan, min(replays)


def _is_listed(result: Result) -> bool:
    return result.schedule is not None and other_order(result.schedule.steps.operation) is None


def _steps(result: Result) -> tuple[int, int]:
    """Makespan and replay."""
    if result.totals is None:
        raise ScheduleError(f"{result.scheduler}: no schedule within the limit")
    return result.totals.makespan_cycles, result.totals.replay_cycles


def _search(
    instance: Instance,
    start: Plan,
    limit_s: float,
    *,
    order: Ints | None = None,
    paged: bool = False,
) -> _Best:
    """To the end or to the limit; what has addresses is verified."""
    settings = Settings(time_limit_s=limit_s, threads=_THREADS, order=order, paged=paged)
    answers, taken = timed(lambda: list(search(instance, settings, start)))
    found = [answer for answer in answers if isinstance(answer, Found)]
    bounds = [answer.cycles for answer in answers if not isinstance(answer, Found)]
    if not found:
        raise ScheduleError(f"joint: no schedule within {limit_s:g} s")
    cycles = found[-1].cycles
    if not paged:
        totals = require_legal(instance, found[-1].schedule).totals
        if totals is None or totals.replay_cycles > cycles:
            raise ScheduleError("joint: the replay takes longer than the model says")
        cycles = totals.replay_cycles
    return _Best(cycles=cycles, bound=max(bounds, default=0), seconds=taken.wall_s)
