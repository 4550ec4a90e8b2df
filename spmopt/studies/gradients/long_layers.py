"""The longest memory-bound layers in all orders under all replacements: rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from spmopt.core.errors import InputError
from spmopt.studies.gradients.measure import Tell
from spmopt.studies.gradients.setting import Counted, Setting
from spmopt.studies.gradients.technique import (
    BASELINE,
    BELADY,
    DOUBLE_BUFFER,
    OPTIMAL,
    REPLACEMENTS,
    cases,
    other,
)
from spmopt.studies.study import Known, Measured
from spmopt.sweep.pool import Pool
from spmopt.sweep.rows import Columns, Row
from spmopt.tiles.batch import run_all
from spmopt.tiles.case import SEARCHED, Case
from spmopt.tiles.layer import Layer, Tile
from spmopt.tiles.run import Row as Ran

SMALL_TILE = 256
SMALL_TILES = "searched, small tiles"
ORDERS = ("sequential", "interleaved", "dx-major", "dw-major", "algorithm-1", SEARCHED)
COLUMNS = Columns.of(
    {
        "machine": str,
        "layer": str,
        "m": int,
        "k": int,
        "n": int,
        "groups": int,
        "order": str,
        "scheduler": str,
    },
    {
        "spm_bytes": int,
        "ran": str,
        "tile": str,
        "products": int,
        "compute_cycles": int,
        "dma_cycles": int,
        "cycles": int,
        "traffic_bytes": int,
        "read_bytes": int,
        "dy_bytes": int,
        "compulsory_bytes": int,
        "bound_cycles": int,
        "value": float,
        "bound": float,
        "verified": bool,
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A size, and the first layer that has it: ``goo_3`` is the third of Googlenet."""

    name: str
    counted: Counted


def named(setting: Setting) -> tuple[Named, ...]:
    """Sizes of all layers with both gradients, of all networks, each once."""
    found: dict[Layer, Named] = {}
    for network in setting.networks():
        for each in setting.layers(network):
            if each.input_gradient:
                key = replace(each.layer, name="layer")
                name = f"{network.abbreviation}_{each.number}"
                found.setdefault(key, Named(name=name, counted=each))
    return tuple(found.values())


def measured(setting: Setting, most: int) -> Measured:
    """Rows of the ``most`` layers that take longest and are bound by memory in the baseline."""

    def run(pool: Pool, tell: Tell, _: Known) -> Iterator[Sequence[Row]]:
        everything = named(setting)
        base = _run([cases(BASELINE, each.counted, setting)[0] for each in everything], pool, tell)
        ranked = sorted(
            (pair for pair in zip(everything, base, strict=True) if _is_memory_bound(pair[1])),
            key=lambda pair: -pair[1].spent.makespan_cycles,
        )
        chosen = [each for each, _ in ranked[:most]]
        asked = [
            (each, order, case)
            for each in chosen
            for plain in cases(BASELINE, each.counted, setting)
            for order, case in _orders(plain)
        ]
        rows = _run([case for *_, case in asked], pool, tell)
        first = {
            (each.name, order): row
            for (each, order, case), row in zip(asked, rows, strict=True)
            if case.replacement == DOUBLE_BUFFER
        }
        again = [
            (each, order, other(first[each.name, order].ran, replacement))
            for each in chosen
            for order in ORDERS
            if order != SEARCHED
            for replacement in (BELADY, OPTIMAL)
        ]
        others = _run([case for *_, case in again], pool, tell)
        yield [
            _row(setting, each, order, row)
            for (each, order, _), row in zip([*asked, *again], [*rows, *others], strict=True)
        ]

    return Measured(columns=COLUMNS, run=run, what=f"{setting} {most}")


def _orders(plain: Case) -> Iterator[tuple[str, Case]]:
    """All orders under double buffering; what is searched for under each replacement."""
    for order in ORDERS:
        for replacement in REPLACEMENTS if order == SEARCHED else (DOUBLE_BUFFER,):
            yield order, replace(other(plain, replacement), order=order)
    tile = Tile(m=SMALL_TILE, k=SMALL_TILE, n=SMALL_TILE)
    yield SMALL_TILES, replace(other(plain, BELADY), order=SEARCHED, tile=tile)


def _is_memory_bound(row: Ran) -> bool:
    return row.spent.bound_by == "memory"


def _run(asked: Sequence[Case], pool: Pool, tell: Tell) -> list[Ran]:
    rows = dict(found for some in run_all(asked, pool, tell) for found in some)
    return [rows[number] for number in range(len(asked))]


def _row(setting: Setting, each: Named, order: str, found: Ran) -> Row:
    layer, spent, tile = each.counted.layer, found.spent, found.ran.tile
    if tile is None:
        raise InputError(f"layer {each.name}: no tile was chosen")
    return {
        "machine": setting.machine,
        "layer": each.name,
        "m": layer.m,
        "k": layer.k,
        "n": layer.n,
        "groups": layer.groups,
        "order": order,
        "scheduler": found.ran.replacement,
        "spm_bytes": found.ran.machine.spm_bytes,
        "ran": found.ran.order,
        "tile": f"{tile.m}x{tile.k}x{tile.n}",
        "products": spent.products,
        "compute_cycles": spent.compute_cycles,
        "dma_cycles": spent.dma_cycles,
        "cycles": spent.makespan_cycles,
        "traffic_bytes": spent.traffic_bytes,
        "read_bytes": spent.dram_in_bytes,
        "dy_bytes": spent.moved.read_bytes[0],
        "compulsory_bytes": spent.compulsory_bytes,
        "bound_cycles": spent.makespan_bound_cycles,
        "value": float(spent.traffic_bytes),
        "bound": float(spent.traffic_bound_bytes),
        "verified": True,
    }
