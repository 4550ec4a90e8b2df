"""Figure 13 and its layers: traffic and time by order, and how far each is from the bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from spmopt.core.errors import InputError
from spmopt.gradients.batch import run_all
from spmopt.gradients.case import SEARCHED, Case
from spmopt.gradients.run import Row as Ran
from spmopt.studies.gradient_networks import LARGE
from spmopt.studies.gradients.measure import Tell
from spmopt.studies.gradients.rows import average
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
from spmopt.studies.rows import Rows, number
from spmopt.studies.study import Figures, Findings, Measured, Sentences, Sheet, Study
from spmopt.studies.words import megabytes, percent, signed
from spmopt.sweep.pool import Pool
from spmopt.sweep.rows import Columns, Row
from spmopt.tiles.grid import Tile
from spmopt.tiles.layer import Layer

SETTING = Setting(name="plain", machine=LARGE)
MOST = 24
"""Layers shown in the paper's figure 13."""
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

    def run(pool: Pool, tell: Tell) -> Iterator[Sequence[Row]]:
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


def find(rows: Rows, figures: Figures) -> Findings:
    """Figure 13 as a table, then every order of every layer."""
    del figures
    names = rows.texts("layer")
    return Findings(
        sheets=(_figure(rows, names), _shapes(rows, names), _means(rows, names)),
        sentences=_sentences(rows, names),
        notes=(
            f"The {len(names)} sizes of layers with both gradients that take longest of those "
            "whose baseline is bound by memory; a name is the network and the number of the first "
            "layer of this size.",
            "Named orders: tiles chosen for time under double buffering, the same under the other "
            "replacements. *searched*: the best order and tiles of these, and blocked walks found "
            f"by local search. *{SMALL_TILES}*: tiles of at most {SMALL_TILE} along each axis, "
            "under belady: they move least, but a systolic array fills and drains for every tile.",
            "Over the bound: traffic over that of any order of any tiles of the size that was run "
            "(`spmopt/tiles/optimum/README.md`); bounds of other tiles differ by little.",
        ),
    )


def _figure(rows: Rows, names: list[str]) -> Sheet:
    lines = []
    for name in names:
        cells = []
        for replacement in REPLACEMENTS:
            for column in ("traffic_bytes", "cycles"):
                cells.append(f"{_ratio(rows, name, 'algorithm-1', replacement, column):.3f}")
        one = rows.one(layer=name, order="sequential", scheduler=DOUBLE_BUFFER)
        shape = "x".join(str(one[axis]) for axis in "mkn")
        lines.append([name, shape, *cells])
    heads = tuple(
        f"{what}: {replacement}" for replacement in REPLACEMENTS for what in ("traffic", "time")
    )
    return Sheet(
        title="+Rearrangement in terms of the baseline under the same replacement",
        heads=("layer", "M x K x N", *heads),
        rows=lines,
        left=2,
    )


def _ratio(rows: Rows, name: str, order: str, replacement: str, column: str) -> float:
    return number(rows.one(layer=name, order=order, scheduler=replacement), column) / number(
        rows.one(layer=name, order="sequential", scheduler=replacement), column
    )


def _shapes(rows: Rows, names: list[str]) -> Sheet:
    """Traffic over the bound by order, as the paper has it and under optimal residency."""
    lines = []
    for name in names:
        one = rows.one(layer=name, order="sequential", scheduler=DOUBLE_BUFFER)
        cells = [megabytes(number(one, "bound"))]
        cells += [_gap(rows, name, order, DOUBLE_BUFFER) for order in ORDERS[:4]]
        cells += [_gap(rows, name, order, OPTIMAL) for order in (*ORDERS[:4], SEARCHED)]
        small = rows.one(layer=name, order=SMALL_TILES, scheduler=BELADY)
        cells += [_gap(rows, name, SMALL_TILES, BELADY), f"`{small['ran']}`"]
        lines.append([name, *cells])
    heads = (
        *("layer", "bound"),
        *(f"double-buffer: {order}" for order in ORDERS[:4]),
        *(f"page: {order}" for order in (*ORDERS[:4], SEARCHED)),
        *(SMALL_TILES, "its order"),
    )
    return Sheet(title="Traffic over the bound of all orders", heads=heads, rows=lines)


def _over(rows: Rows, name: str, order: str, replacement: str) -> float:
    row = rows.one(layer=name, order=order, scheduler=replacement)
    return number(row, "value") / number(row, "bound")


def _gap(rows: Rows, name: str, order: str, replacement: str) -> str:
    return f"{_over(rows, name, order, replacement):.2f}"


def _means(rows: Rows, names: list[str]) -> Sheet:
    lines = []
    kinds = [(order, replacement) for order in ORDERS for replacement in REPLACEMENTS]
    for order, replacement in (*kinds, (SMALL_TILES, BELADY)):
        base = [rows.one(layer=n, order="sequential", scheduler=DOUBLE_BUFFER) for n in names]
        own = [rows.one(layer=name, order=order, scheduler=replacement) for name in names]
        pairs = list(zip(own, base, strict=True))
        lines.append(
            [
                order,
                replacement,
                f"{average(_over(rows, name, order, replacement) for name in names):.3f}",
                *(
                    f"{average(number(a, column) / number(b, column) for a, b in pairs):.3f}"
                    for column in ("traffic_bytes", "cycles")
                ),
                f"{average(number(a, 'cycles') / number(a, 'bound_cycles') for a in own):.3f}",
            ]
        )
    heads = (
        *("order", "replacement", "traffic over the bound", "traffic over the baseline's"),
        *("time over the baseline's", "time over the bound"),
    )
    return Sheet(title="Means of these layers", heads=heads, rows=lines, left=2)


def _sentences(rows: Rows, names: list[str]) -> Sentences:
    drops = [
        (
            1 - _ratio(rows, name, "algorithm-1", DOUBLE_BUFFER, "traffic_bytes"),
            1 - _ratio(rows, name, "algorithm-1", DOUBLE_BUFFER, "cycles"),
        )
        for name in names
    ]
    traffic, time = (average(pair[at] for pair in drops) for at in (0, 1))
    near = sum(abs(a - b) <= 0.05 for a, b in drops)
    pointless = [
        name
        for name in names
        if _over(rows, name, "sequential", OPTIMAL)
        <= min(_over(rows, name, order, OPTIMAL) for order in ORDERS[1:4])
    ]
    best = [min(ORDERS[:4], key=lambda o: _over(rows, name, o, OPTIMAL)) for name in names]
    count = {order: best.count(order) for order in ORDERS[:4]}
    met = sum(min(_over(rows, name, order, OPTIMAL) for order in ORDERS) <= 1.01 for name in names)
    small = average(_over(rows, name, SMALL_TILES, BELADY) for name in names)
    return (
        f"Rearrangement takes {percent(traffic)} of the traffic and {percent(time)} of the time of "
        f"these layers; on {near} of {len(names)} the two are within 5 points of each other, as in "
        "the paper, since they are bound by memory.",
        f"Under optimal residency the sequential order is as good as any of the others on "
        f"{len(pointless)} of {len(names)} layers; best is interleaved on {count['interleaved']}, "
        f"dx-major on {count['dx-major']}, dw-major on {count['dw-major']} (the first of equals), "
        f"and on {met} one of the orders is within 1 % of the bound of all orders.",
        "Where the smallest matrices fit beside a row of the others, an order that goes once "
        "through the large ones, both gradients in turns, reaches the compulsory traffic; where "
        "nothing fits, what helps is a block of results that stays while strips of both inputs "
        "pass, one gradient after the other: small tiles in such blocks are "
        f"{signed(100 * (small - 1))} % from the bound on average.",
    )


def draw(rows: Rows, figures: Figures, path: Path) -> None:
    """Traffic and time of rearrangement, as the paper's figure has them."""
    from spmopt.report.plots.bars import BarPanel, Series, save_bars
    from spmopt.report.plots.style import Heading

    del figures
    names = rows.texts("layer")
    panels = [
        BarPanel(
            title=replacement,
            y_label="% of the baseline",
            groups=tuple(names),
            series=tuple(
                Series(
                    label=label,
                    values=[
                        100 * _ratio(rows, name, "algorithm-1", replacement, column)
                        for name in names
                    ],
                )
                for label, column in (("DRAM traffic", "traffic_bytes"), ("time", "cycles"))
            ),
            level=100.0,
        )
        for replacement in (DOUBLE_BUFFER, OPTIMAL)
    ]
    heading = Heading(
        title="Rearranged by algorithm 1: the longest memory-bound layers",
        conditions="large NPU, batch 8, backward pass, 4 bytes an element",
    )
    save_bars(panels, heading, path)


STUDY = Study(
    name="gradient-layers",
    title="what orders save on the longest layers",
    about=(
        "Traffic and time of the backward pass of the 24 longest memory-bound layers under "
        "algorithm 1 (figure 13 of Kim et al., MICRO 2023), and of each the orders' distance to "
        "what no order can go below. Large NPU, batch 8, 4 bytes an element, output stationary."
    ),
    measured=measured(SETTING, MOST),
    find=find,
    draw=draw,
)
