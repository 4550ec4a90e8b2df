"""An ablation of a small network, told once for all tests of a process."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import spmopt
from spmopt.core.problem import Problem
from tests.fused import MACHINE
from tests.graph.networks import mlp


@cache
def problem() -> Problem:
    """Two layers whose tensors do not fit."""
    return spmopt.lower(mlp(), MACHINE)


@cache
def told() -> spmopt.Ablation:
    """What each decision is worth there; what time there was for differs, nothing else."""
    return spmopt.ablation(problem(), time_limit=2, threads=1)


@cache
def in_full() -> spmopt.Ablation:
    """The same, as if every decision had saved: schedules of machines with more and more room."""
    ablation, sizes = told(), (256, 320, 384, 512, 4096)
    decisions = []
    before = 0
    for decision, size in zip(ablation.decisions, sizes, strict=True):
        machine = replace(MACHINE, spm_bytes=size)
        roomy = replace(problem(), machine=machine)
        result = spmopt.solve(roomy, "belady", threads=1).result
        assert result.totals is not None
        cycles = result.totals.makespan_cycles
        decisions.append(
            replace(
                decision,
                problem=roomy,
                result=result,
                made=result,
                before_cycles=before or cycles,
                why="",
                fusion_space="",
            )
        )
        before = cycles
    return spmopt.Ablation(problem(), decisions)
