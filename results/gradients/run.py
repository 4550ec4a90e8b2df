"""Gradients of ResNet-50 in tiles: all orders and partitions, double buffering."""

from __future__ import annotations

import sys
from functools import partial
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from results.shared.bench import Bench, BenchLine, Figures, timed
from spmopt.experiments.executors import processors
from spmopt.experiments.queue import TaskQueue
from spmopt.frontends import zoo
from spmopt.hardware.machines import load_machine
from spmopt.tiles.batch import run_all
from spmopt.tiles.case import LayerCase
from spmopt.tiles.networks import distinct, first_layers, layers_of
from spmopt.tiles.run import LayerResult

ORDERS = ("sequential", "interleaved", "dx-major", "dw-major")
PARTITIONS = ("none", "m/2", "m/4", "n/2", "n/4", "k/2", "k/4")


def backward(network: str, name: str, spm: str, batch: int, ways: list[tuple[str, str]]) -> Figures:
    """Seconds of every order and partition of every layer, on all processors.

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
    cycles = [rows[number].cost.makespan_cycles for number in range(len(cases))]
    own = [cycles[k * len(ways) : (k + 1) * len(ways)] for k in range(len(layers))]
    pairs = [(count, each) for (_, count), each in zip(layers, own, strict=True)]
    before = sum(count * each[0] for count, each in pairs)
    return {
        "layers": len(layers),
        "schedules": len(rows),
        "products": sum(row.cost.products for row in rows.values()),
        **taken,
        "saved": 1 - sum(count * min(each) for count, each in pairs) / before,
        "verified": len(rows) == len(cases),
    }


def run_cases(cases: list[LayerCase]) -> dict[int, LayerResult]:
    """Rows by the number of the case."""
    with TaskQueue(processors()) as queue:
        return {number: row for some in run_all(cases, queue) for number, row in some}


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
