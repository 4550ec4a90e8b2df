"""Seconds of policies, assembly, verifier and replay on GNMT, one after the other."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from results.shared.bench import GNMT, TINY, Bench, BenchLine, Case, Figures, peak_mb, timed
from spmopt.assemble import assemble
from spmopt.core.errors import ScheduleError
from spmopt.core.scheduler import Request
from spmopt.schedulers.registry import find
from spmopt.verifier import Arrays, replay, require_legal

STAGES = ("policy_s", "assemble_s", "verify_s", "replay_s")


def walk(case: Case, policy: str) -> Figures:
    """Seconds of each stage from the instance to the replayed schedule.

    ``verify_s`` is all that the verifier does, the replay included; ``replay_s`` is a second
    replay by itself.
    """
    instance, scheduler = case.instance(), find(policy).load()
    outcome, scheduling = timed(lambda: scheduler(instance, Request()))
    plan = outcome.plan
    if plan is None:
        raise ScheduleError(f"{policy}: no schedule")
    schedule, assembling = timed(lambda: assemble(instance, plan))
    report, verifying = timed(lambda: require_legal(instance, schedule))
    _, replaying = timed(lambda: replay(Arrays.of(instance, schedule)))
    taken = (scheduling, assembling, verifying, replaying)
    return {
        "operations": len(instance.operations),
        **{stage: each["wall_s"] for stage, each in zip(STAGES, taken, strict=True)},
        "peak_mb": peak_mb(),
        "verified": report.legal,
    }


BENCH = Bench(
    file=__file__,
    lines=[
        BenchLine(
            (case.title, case.spm, policy),
            {"": partial(walk, case, policy)},
            dict.fromkeys(STAGES, "≤ 2"),
        )
        for case in (Case("gnmt", "64MB", parameters) for parameters in GNMT)
        for policy in ("stream", "lru", "belady")
    ],
    quick=partial(walk, TINY, "belady"),
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
