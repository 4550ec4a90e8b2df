"""Schedules that between them have everything that is emitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from hashlib import blake2b

import numpy as np

import spmopt
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.graph import Graph
from spmopt.core.problem import Problem
from spmopt.core.schedule import Schedule
from spmopt.execution.commands import machine_program
from spmopt.execution.executor import execute
from spmopt.execution.hashing import hash_kernel, random_contents
from spmopt.graph.build import GraphBuilder
from tests.banked import banked
from tests.verifier.random_banks import random_banked
from tests.verifier.random_plans import rich_schedule

Case = Callable[[], tuple[Problem, Schedule]]


def lenet() -> Graph:
    """Two convolutions, two poolings, three layers, a loss."""
    b = GraphBuilder("lenet")
    x = b.input("image", (2, 1, 32, 32))
    for size, (channels, made) in enumerate(((1, 6), (6, 16)), 1):
        w = b.weight(f"w{size}", (made, channels, 5, 5))
        r = b.add("Relu", [b.add("Conv", [x, w], name=f"c{size}")], name=f"r{size}")
        x = b.add("MaxPool", [r], name=f"p{size}", kernel_shape=(2, 2), strides=(2, 2))
    x = b.add("Flatten", [x], name="f")
    for size, (before, after) in enumerate(((400, 120), (120, 84), (84, 10)), 3):
        x = b.add("Gemm", [x, b.weight(f"w{size}", (before, after))], name=f"y{size}")
    labels = b.input("labels", (2,), element_type="int64")
    return b.finish([b.add("CrossEntropy", [x, labels], name="loss")])


def _network(
    network: str,
    scheduler: str,
    spm: str,
    *,
    training: bool = False,
    duplex: bool = False,
    parameters: Mapping[str, int] | None = None,
) -> tuple[Problem, Schedule]:
    if network == "lenet":
        workload = spmopt.load(lenet(), training=training)
    else:
        workload = spmopt.load(network, training=training, batch=1, parameters=parameters or {})
    on = spmopt.machine(spm=spm, page="256B", duplex=duplex)
    solution = spmopt.solve(spmopt.lower(workload, on), scheduler, time_limit=0.5)
    return solution.problem, solution.schedule


def _tiled() -> tuple[Problem, Schedule]:
    """Three layers in fusion tiles; the weights remain on chip."""
    b = GraphBuilder("tiles")
    x = b.input("x", (32, 128))
    for number in range(3):
        product = b.add("MatMul", [x, b.weight(f"w{number}", (128, 128))], name=f"y{number}")
        x = b.add("Relu", [product], name=f"r{number}")
    on = spmopt.machine(spm="64KiB", page="1KiB")
    problem = spmopt.lower(spmopt.load(b.finish([x]), dtype="int8"), on)
    plan = [FusedGroup(begin=0, end=len(problem.operations), micro_batches=16)]
    solution = spmopt.solve(problem, "residency", fusion_plan=plan, time_limit=0.5)
    return solution.problem, solution.schedule


def _moved() -> tuple[Problem, Schedule]:
    for seed in range(100):
        problem = banked(seed, max_operations=8, max_tensors=6)
        schedule = random_banked(problem, np.random.default_rng(seed))
        if len(schedule.moves) > 4:
            return problem, schedule
    raise AssertionError("no schedule moves anything")


_LAYER = {"sequence": 8, "hidden": 32, "heads": 2, "layers": 1}
CASES: dict[str, Case] = {
    "lenet": partial(_network, "lenet", "belady:granularity=page", "64KiB"),
    "lenet training": partial(_network, "lenet", "page", "128KiB", training=True),
    "lenet contiguous": partial(
        _network, "lenet", "contiguous", "128KiB", training=True, duplex=True
    ),
    "resnet": partial(_network, "resnet18", "lru", "1MiB", parameters={"image": 32, "classes": 10}),
    "transformer": partial(_network, "bert-tiny", "lru", "2MB", parameters=_LAYER),
    "transformer training": partial(
        _network, "bert-tiny", "belady", "2MB", training=True, duplex=True, parameters=_LAYER
    ),
    "tiles": _tiled,
    "moves": _moved,
    **{f"random {seed}": partial(rich_schedule, seed) for seed in range(12)},
}


@cache
def solved(name: str) -> tuple[Problem, Schedule]:
    """A problem and its schedule, by the name of the case."""
    return CASES[name]()


def digests(problem: Problem, schedule: Schedule, seed: int = 0) -> list[str]:
    """Of each tensor in DRAM at the end of an execution with hash kernels."""
    contents = random_contents(problem, seed)
    trace = execute(machine_program(problem, schedule), contents, hash_kernel(problem))
    return [blake2b(each.data, digest_size=8).hexdigest() for each in trace.contents]
