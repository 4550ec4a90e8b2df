"""Seconds of policies, assembly, verifier and replay on GNMT, one after the other."""

from __future__ import annotations

import sys
from functools import partial

from results.shared.bench import GNMT, TINY, Bench, BenchLine, Case, Figures, peak_mb, timed
from results.shared.certified import staged
from spmopt.core.scheduler import Request
from spmopt.verifier import ScheduleArrays, replay

STAGES = ("policy_s", "assemble_s", "verify_s", "replay_s")


def walk(case: Case, policy: str) -> Figures:
    """Measure each stage from the problem to the replayed schedule.

    ``verify_s`` is all that the verifier does, the replay included; ``replay_s`` is a second
    replay by itself.
    """
    problem = case.problem()
    _, schedule, _, figures = staged(problem, policy, Request())
    _, replaying = timed(lambda: replay(ScheduleArrays.of(problem, schedule)))
    more = {"policy_s": figures["wall_s"], "replay_s": replaying["wall_s"], "peak_mb": peak_mb()}
    return {**figures, **more}


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
