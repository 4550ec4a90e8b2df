"""A story of a small network, told once for all tests of a process."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import spmopt
from spmopt.core.instance import Instance
from tests.graph.networks import mlp
from tests.in_pieces import MACHINE


@cache
def instance() -> Instance:
    """Two layers whose tensors do not fit."""
    return spmopt.lower(mlp(), MACHINE)


@cache
def told() -> spmopt.Story:
    """What each decision is worth there; what time there was for differs, nothing else."""
    return spmopt.story(instance(), time_limit=2, threads=1)


@cache
def in_full() -> spmopt.Story:
    """The same, as if every decision had saved: schedules of machines with more and more room."""
    story, sizes = told(), (256, 320, 384, 512, 4096)
    decisions = []
    before = 0
    for decision, size in zip(story.decisions, sizes, strict=True):
        machine = replace(MACHINE, spm_bytes=size)
        roomy = replace(instance(), machine=machine)
        result = spmopt.solve(roomy, "belady", threads=1).result
        assert result.totals is not None
        cycles = result.totals.makespan_cycles
        decisions.append(
            replace(
                decision,
                instance=roomy,
                result=result,
                made=result,
                before_cycles=before or cycles,
                why="",
                family="",
            )
        )
        before = cycles
    return spmopt.Story(instance(), decisions)
