"""Measure of gradients in tiles: all layers of a network, in several orders and partitions."""

from __future__ import annotations

from itertools import product

from spmopt.bench.clock import timed
from spmopt.bench.suite import Case, Figures
from spmopt.frontends import zoo
from spmopt.hardware.machines import load_machine
from spmopt.sweep.pool import Pool, processors
from spmopt.tiles import case as gradients
from spmopt.tiles.batch import run_all
from spmopt.tiles.networks import distinct, first_layers, layers_of
from spmopt.tiles.run import Row


def backward(
    network: Case, *, batch: int, orders: str, partitions: str, replacement: str
) -> Figures:
    """Seconds of every order and partition (separated by commas) of every layer, on all processors.

    Tiles are chosen for each; every schedule is verified. ``saved`` is the time that the best order
    and partition of each layer save, as part of that of the first of each.
    """
    machine = load_machine(network.machine, {"spm": network.spm})
    graph = zoo.network(network.network, batch=batch, **network.parameters)
    first = first_layers(graph)
    layers = distinct(layers_of(graph))
    ways = tuple(product(orders.split(","), partitions.split(",")))
    cases = [
        gradients.Case(
            layer=layer,
            machine=machine,
            order=order,
            partition=partition,
            replacement=replacement,
            input_gradient=layer.name not in first,
        )
        for layer, _ in layers
        for order, partition in ways
    ]
    rows, taken = timed(lambda: _rows(cases))
    cycles = [
        [rows[place * len(ways) + way].spent.makespan_cycles for way in range(len(ways))]
        for place in range(len(layers))
    ]
    counts = [count for _, count in layers]
    before = sum(count * own[0] for count, own in zip(counts, cycles, strict=True))
    best = sum(count * min(own) for count, own in zip(counts, cycles, strict=True))
    return {
        "layers": len(layers),
        "schedules": len(rows),
        "products": sum(row.spent.products for row in rows.values()),
        "wall_s": taken.wall_s,
        "cpu_s": taken.cpu_s,
        "saved": 1 - best / before,
        "verified": len(rows) == len(cases),
    }


def _rows(cases: list[gradients.Case]) -> dict[int, Row]:
    with Pool(processors()) as pool:
        return {number: row for some in run_all(cases, pool) for number, row in some}
