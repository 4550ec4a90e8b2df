"""Suites of the greedy policies: what they cost, and how long the way of their schedules takes."""

from __future__ import annotations

from itertools import product

from spmopt.bench.suite import Case, Column, Options, Part, Row, Suite, Target
from spmopt.bench.suites.common import GNMT, NETWORKS, OPERATIONS, PEAK


def gaps() -> Suite:
    """Cost of the greedy rules."""
    schedulers = ("stream", "lru", "belady", "whole", "page")
    networks = (*NETWORKS, "vgg16", "googlenet", "bert-large")
    options: Options = {"schedulers": ",".join(schedulers), "limit_s": 20.0}
    rows = tuple(
        Row(
            case=Case(network=network, spm=spm),
            cells=(network, spm),
            parts={"": Part(measure="gaps", options=options)},
        )
        for network, spm in product(networks, ("24MB", "64MB", "128MB", "296MB"))
    )
    return Suite(
        name="gaps",
        title="what the greedy rules cost: gaps to the certified bound, objective time",
        about="Time of a training step above the certified bound, "
        "which no schedule in the same order can beat. The optimum lies between the bound and "
        "the best of the line. At most 20 s for each scheduler.",
        heads=("network", "SPM"),
        rows=rows,
        columns=(
            OPERATIONS,
            Column(figure="bound_ms", heading="bound ms", form="ms"),
            *(Column(figure=f"{n}_gap", heading=f"{n} %", form="%") for n in schedulers),
            Column(figure="verified", heading="verified", form="yes"),
        ),
    )


def walk() -> Suite:
    """Seconds of each stage on a large instance."""
    stages = {
        "policy_s": "policy s",
        "assemble_s": "assemble s",
        "verify_s": "verifier s",
        "replay_s": "replay s",
    }
    rows = tuple(
        Row(
            case=case,
            cells=(case.title, "64MB", policy),
            parts={"": Part(measure="walk", options={"policy": policy})},
            targets=tuple(Target(figure=stage, value=2) for stage in stages),
        )
        for case in (Case(network="gnmt", spm="64MB", parameters=p) for p in GNMT)
        for policy in ("stream", "lru", "belady")
    )
    return Suite(
        name="walk",
        title="policies, verifier and replay on GNMT of 50 steps and four gates",
        about="The seconds of the verifier hold every rule and a replay; the last column is a "
        "second replay, by itself. Each stage goes on with what the one before it gave.",
        heads=("network", "SPM", "policy"),
        rows=rows,
        columns=(
            OPERATIONS,
            *(Column(figure=stage, heading=heading) for stage, heading in stages.items()),
            PEAK,
        ),
    )
