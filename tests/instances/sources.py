"""Where each golden problem comes from: by hand, at random, a network, or a command."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from spmopt.cli import main
from spmopt.core.graph import Graph
from spmopt.core.machine import Machine
from spmopt.core.problem import Problem
from spmopt.graph.build import GraphBuilder
from spmopt.graph.lower import lower
from spmopt.graph.training import training_graph
from spmopt.io.files import read_problem
from tests.graph import networks
from tests.instances.golden import BRUTE_FORCE, MILP
from tests.strategies import random_problem
from tests.tiny import Op, tiny


@dataclass(frozen=True, kw_only=True)
class Source:
    """How a problem is made.

    ``proof``: how to prove its optimum, one of ``tests.problems.golden``, or empty.
    ``optima``: those that one can work out by hand, by objective.
    """

    text: str
    build: Callable[[], Problem]
    proof: str = ""
    optima: Mapping[str, int] = field(default_factory=dict)
    objectives: tuple[str, ...] = ("traffic", "time")


READ = Op(reads="x", cycles=5)
FIXED = Op(reads="x", required_resident="x")
X = {"x": (8, "in")}
Y = {"y": (8, "")}


def _by_hand(text: str, build: Callable[[], Problem], **optima: int) -> Source:
    return Source(text=f"by hand: {text}", build=build, proof=BRUTE_FORCE, optima=optima)


_BY_HAND = {
    "half-stays": _by_hand(
        "8 bytes are read twice, 4 of them stay",
        lambda: tiny(X, [READ, READ], spm=4),
        traffic=12,
        time=8 + 5,
    ),
    "take-turns": _by_hand(
        "x and y take turns, and one of them fits",
        lambda: tiny({**X, "y": (8, "in")}, [Op(reads="x"), Op(reads="y")] * 2, spm=8),
        traffic=24,
        time=24,
    ),
    "cut-page": _by_hand(
        "of x, a page and a byte, the page stays beside y",
        lambda: tiny(
            {"x": (5, "in"), "y": (4, "in")},
            [READ, Op(reads="y", required_resident="y"), READ],
            spm=8,
        ),
        traffic=5 + 4 + 1,
    ),
    "load-ahead": _by_hand(
        "x arrives while an earlier operation computes",
        lambda: tiny({**X, "y": (1, "keep")}, [Op(writes="y", cycles=9), READ], spm=12),
        traffic=9,
        time=9 + 5,
    ),
    "fetches": _by_hand(
        "a page for operands of several fetches; z, in place, saves most",
        lambda: tiny(
            {"x": (4, "in"), "y": (4, "keep"), "z": (8, "in keep")},
            [Op(reads="x z", writes="y z", fetches={"x": 3, "y": 2, "z": 2})],
            spm=4,
        ),
        traffic=12 + 12 + 32 - 8,
    ),
    "dirty-leaves": _by_hand(
        "y is stored before what is required-resident takes its place, and loaded again",
        lambda: tiny({**X, **Y}, [Op(writes="y"), FIXED, Op(reads="y")], spm=8),
        traffic=24,
        time=24,
    ),
    "sum-in-place": _by_hand(
        "a gradient is summed up in place, and stored once",
        lambda: tiny(
            {"g": (4, "keep"), "a": (8, "in"), "b": (8, "in"), "c": (8, "in")},
            [
                Op(reads="a", writes="g"),
                Op(reads="b g", writes="g"),
                Op(reads="c g", writes="g"),
            ],
            spm=4,
        ),
        traffic=24 + 4,
        time=24 + 4,
    ),
    "required-resident-result": _by_hand(
        "a required-resident result is stored after the computation",
        lambda: tiny(
            {**X, "y": (8, "keep")},
            [Op(reads="x", writes="y", cycles=50, required_resident="y")],
            spm=8,
        ),
        traffic=16,
        time=50 + 8,
    ),
    "stores-by-bytes": _by_hand(
        "a page is stored two bytes at a time, in two idle steps",
        lambda: tiny(
            {"y": (4, "keep"), "x": (4, "in")},
            [Op(writes="y", cycles=2), Op(reads="y", cycles=2), FIXED],
            spm=4,
        ),
        traffic=8,
        time=2 + 2 + 4,
    ),
    "duplex": _by_hand(
        "both directions move at once",
        lambda: tiny(
            {**X, "y": (6, "keep")}, [Op(reads="x", writes="y", cycles=5)], spm=4, duplex=True
        ),
        traffic=14,
        time=8,
    ),
    "set-up": _by_hand(
        "a command takes 10 cycles to start, and 3 bytes one cycle; two fetches are one command",
        lambda: tiny(
            X,
            [Op(reads="x", fetches={"x": 2})],
            spm=4,
            dma_setup_cycles=10,
            dram_bytes_per_s=3,
        ),
        traffic=12,
        time=10 + 6,
    ),
    "two-mappings": _by_hand(
        "the second mapping is faster, though it keeps x required-resident",
        lambda: tiny(
            X, [[Op(reads="x", cycles=20), Op(reads="x", cycles=1, required_resident="x")]], spm=8
        ),
        traffic=8,
        time=8 + 1,
    ),
    "infeasible": _by_hand(
        "two pages are required-resident, and there is one", lambda: tiny(X, [FIXED], spm=7)
    ),
}

_RANDOM = {
    "max_operations": 6,
    "max_tensors": 4,
    "page_bytes": 2,
    "max_mappings": 2,
    "duplex": True,
    "setup": True,
}


def _random(seed: int) -> Source:
    features = ", ".join(f"{name}={value}" for name, value in _RANDOM.items())
    return Source(
        text=f"tests.strategies.random_problem({seed}, {features})",
        build=lambda: random_problem(seed, **_RANDOM),
        proof=BRUTE_FORCE,
        objectives=("traffic", "time", "energy"),
    )


_SEEDS = {f"random-{seed}": _random(seed) for seed in (3, 8, 21, 34, 55, 89)}


def _lower(graph: Graph, spm_bytes: int) -> Problem:
    """A training step on a machine whose times are whole cycles: one byte a cycle, 64 ops."""
    machine = Machine(
        name="tiny-npu",
        spm_bytes=spm_bytes,
        page_bytes=64,
        dram_bytes_per_s=10**9,
        clock_hz=10**9,
        operations_per_s=64 * 10**9,
    )
    return lower(training_graph(graph), machine)


def _network(function: Callable[[], Graph], what: str, spm_bytes: int) -> Source:
    return Source(
        text=f"training step of tests.graph.networks.{function.__name__}: {what}",
        build=lambda: _lower(function(), spm_bytes),
        proof=MILP,
    )


_NETWORKS = {
    "mlp": _network(networks.mlp, "two layers", 1024),
    "convolution": _network(networks.convolution, "convolution to classifier", 2048),
    "residual": _network(networks.residual, "a residual block", 2048),
    "attention": _network(networks.attention, "an attention head", 2048),
    "lstm": _network(networks.lstm, "two LSTM steps", 1024),
}


def lenet5() -> Graph:
    """LeNet-5 with ReLU and max-pooling, batch 32 (LeCun et al., 1998)."""
    b = GraphBuilder("lenet5")
    x, labels = b.input("images", (32, 1, 32, 32)), b.input("labels", (32,), element_type="int64")
    for channels, inputs in ((6, 1), (16, 6)):
        w = b.weight(f"conv{channels}.weight", (channels, inputs, 5, 5))
        x = b.add("Relu", [b.add("Conv", [x, w, b.weight(f"conv{channels}.bias", (channels,))])])
        x = b.add("MaxPool", [x], kernel_shape=(2, 2), strides=(2, 2))
    x = b.add("Flatten", [x])
    for features, inputs in ((120, 400), (84, 120), (10, 84)):
        w = b.weight(f"fc{features}.weight", (inputs, features))
        x = b.add("Gemm", [x, w, b.weight(f"fc{features}.bias", (features,))])
        x = x if features == 10 else b.add("Relu", [x])
    return b.finish([b.add("CrossEntropy", [x, labels], name="loss")])


def _lenet5() -> Problem:
    machine = Machine(
        name="small",
        spm_bytes=256 * 1024,
        dram_bytes_per_s=8 * 10**9,
        clock_hz=10**9,
        operations_per_s=256 * 10**9,
    )
    return lower(training_graph(lenet5()), machine)


def _command(arguments: str) -> Source:
    """What ``spmopt problem`` writes."""

    def build() -> Problem:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "problem.json"
            main(["problem", *shlex.split(arguments), "-o", str(path)])
            return read_problem(path)

    return Source(text=f"spmopt problem {arguments}", build=build)


_LARGER = {
    "lenet5": Source(text="training step of tests.problems.sources.lenet5", build=_lenet5),
    "resnet50-small": _command(
        "resnet50 --training --batch 2 --param image=64 --machine small-npu --spm 2MB"
    ),
    "transformer-small": _command(
        "transformer --training --batch 2 --param layers=1 --param sequence=32 "
        "--param hidden=256 --param inner=1024 --param vocabulary=1000 --machine small-npu"
    ),
    "gnmt-small": _command(
        "gnmt --training --batch 8 --param layers=2 --param steps=3 --param hidden=128 "
        "--param vocabulary=1000 --machine rtx2080ti --spm 1MB"
    ),
}

SOURCES: dict[str, Source] = {**_BY_HAND, **_SEEDS, **_NETWORKS, **_LARGER}
