"""Gradients of ResNet-50 in tiles: all orders and partitions, double buffering."""

from __future__ import annotations

import sys
from functools import partial
from itertools import chain, product
from operator import itemgetter

import numpy as np

from results.shared.bench import Bench, BenchLine, Figures, timed
from spmopt.experiments.executors import processors
from spmopt.experiments.queue import TaskQueue
from spmopt.frontends import zoo
from spmopt.hardware.machines import load_machine
from spmopt.tiles.batch import Found, run_all
from spmopt.tiles.case import LayerCase
from spmopt.tiles.networks import distinct, first_layers, layers_of

ORDERS = ("sequential", "interleaved", "dx-major", "dw-major")
PARTITIONS = ("none", "m/2", "m/4", "n/2", "n/4", "k/2", "k/4")


def backward(network: str, name: str, spm: str, batch: int, ways: list[tuple[str, str]]) -> Figures:
    """Measure every order and partition of every layer, on all processors.

    Tiles are chosen for each; every schedule is verified. ``saved`` is the time that the best order
    and partition of each layer save, as part of that of the first of each.
    """
    machine, graph = load_machine(name, {"spm": spm}), zoo.network(network, batch=batch)
    first, layers = first_layers(graph), distinct(layers_of(graph))
    cases = [
        LayerCase(
            layer=layer,
            machine=machine,
            order=order,
            partition=partition,
            replacement="double-buffer",
            input_gradient=layer.name not in first,
        )
        for layer, _ in layers
        for order, partition in ways
    ]
    rows, taken = timed(lambda: run_cases(cases))
    # A row of cycles for each layer, a column for each way.
    cycles = np.reshape(
        [row.cost.makespan_cycles for _, row in sorted(rows, key=itemgetter(0))], (-1, len(ways))
    )
    counts = np.array([count for _, count in layers])
    return {
        "layers": len(layers),
        "schedules": len(rows),
        "products": sum(row.cost.products for _, row in rows),
        **taken,
        "saved": 1 - float(counts @ cycles.min(axis=1) / (counts @ cycles[:, 0])),
        "verified": len(rows) == len(cases),
    }


def run_cases(cases: list[LayerCase]) -> list[Found]:
    """Run them on all processors."""
    with TaskQueue(processors()) as queue:
        return list(chain.from_iterable(run_all(cases, queue)))


WAYS = list(product(ORDERS, PARTITIONS))
MACHINES = (("small-npu", "1MB", 4), ("large-npu", "8MB", 8))
BENCH = Bench(
    file=__file__,
    lines=[
        BenchLine(
            ("resnet50", machine, f"batch {batch}"),
            {"": partial(backward, "resnet50", machine, spm, batch, WAYS)},
            {"wall_s": "≤ 120"},
        )
        for machine, spm, batch in MACHINES
    ],
    quick=partial(backward, "alexnet", "small-npu", "1MB", 1, [("sequential", "none")]),
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
