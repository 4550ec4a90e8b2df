"""Figure 13 and its layers: traffic and time by order, and how far each is from the bound."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).parents[2]))

from results.shared.common import Row, Study, Table, megabytes
from results.shared.gradients import (
    BASELINE,
    BELADY,
    DOUBLE_BUFFER,
    IN_WORDS,
    OPTIMAL,
    REPLACEMENTS,
    Counted,
    PaperNetwork,
    Setting,
    best_of,
    other,
)
from results.shared.plots import bar_panels
from spmopt.tiles.case import SEARCHED, LayerCase
from spmopt.tiles.layer import Tile
from spmopt.tiles.run import LayerResult as Ran

MOST = 24  # layers shown in the paper's figure 13
SMALL_TILES = "searched, small tiles"
NAMED = ("sequential", "interleaved", "dx-major", "dw-major")
ORDERS = (*NAMED, "algorithm-1", SEARCHED)
SETTING = Setting(name="plain")


def layers(networks: Sequence[PaperNetwork]) -> dict[str, Counted]:
    """Sizes of all layers with both gradients; ``goo_3`` is the third of Googlenet."""
    found: dict[object, tuple[str, Counted]] = {}
    for network in networks:
        for each in SETTING.layers(network):
            if each.input_gradient:
                name = f"{network.abbreviation}_{each.number}"
                found.setdefault(replace(each.layer, name="layer"), (name, each))
    return dict(found.values())


def longest(asked_of: tuple[int, Sequence[PaperNetwork]]) -> list[Row]:
    """Rows of so many layers that take longest and are bound by memory in the baseline."""
    most, everything = asked_of[0], layers(asked_of[1])
    base = best_of([SETTING.cases(BASELINE, each) for each in everything.values()])
    bound = {
        name: row.cost.makespan_cycles
        for name, row in zip(everything, base, strict=True)
        if row.cost.bound_by == "memory"
    }
    chosen = sorted(bound, key=lambda name: -bound[name])[:most]
    asked: list[tuple[str, str, LayerCase]] = []
    for name in chosen:
        (plain,) = SETTING.cases(BASELINE, everything[name])
        for order in ORDERS:
            for by in REPLACEMENTS if order == SEARCHED else (DOUBLE_BUFFER,):
                asked.append((name, order, replace(other(plain, by), order=order)))
        small = replace(other(plain, BELADY), order=SEARCHED, tile=Tile(m=256, k=256, n=256))
        asked.append((name, SMALL_TILES, small))
    rows = best_of([[case] for *_, case in asked])
    again = [
        (name, order, other(row.ran, by))
        for (name, order, case), row in zip(asked, rows, strict=True)
        if case.replacement == DOUBLE_BUFFER and order != SEARCHED
        for by in (BELADY, OPTIMAL)
    ]
    rows += best_of([[case] for *_, case in again])
    return [
        row_of(name, everything[name], order, row)
        for (name, order, _), row in zip([*asked, *again], rows, strict=True)
    ]


def row_of(name: str, each: Counted, order: str, found: Ran) -> Row:
    """What a layer takes in an order, under a replacement."""
    layer, spent, tile = each.layer, found.cost, found.ran.grid.tile
    return {
        "machine": SETTING.machine,
        "layer": name,
        **{axis: getattr(layer, axis) for axis in ("m", "k", "n", "groups")},
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
        "dy_bytes": spent.read_bytes[0],
        "compulsory_bytes": spent.compulsory_bytes,
        "bound_cycles": spent.makespan_bound_cycles,
        "value": float(spent.traffic_bytes),
        "bound": float(spent.traffic_bound_bytes),
        "verified": True,
    }


def by_layer(rows: pd.DataFrame, order: str, scheduler: str) -> pd.DataFrame:
    """Rows of an order under a replacement by layer, in the order of the layers."""
    own = rows[(rows.order == order) & (rows.scheduler == scheduler)]
    return own.set_index("layer").reindex(rows.layer.unique())


def rearranged(rows: pd.DataFrame, scheduler: str, column: str) -> pd.Series:
    """Algorithm 1 in terms of the baseline under the same replacement."""
    both = (by_layer(rows, order, scheduler)[column] for order in ("algorithm-1", "sequential"))
    own, base = both
    return own / base


def over(rows: pd.DataFrame, order: str, scheduler: str, value: str = "value") -> pd.Series:
    """Traffic, or cycles, over the least of a layer's bounds, which holds for all its tiles."""
    least = rows.groupby("layer")["bound" if value == "value" else "bound_cycles"].min()
    own = by_layer(rows, order, scheduler)[value]
    return own / least.reindex(own.index)


def tables(rows: pd.DataFrame, figures: Mapping[str, float]) -> Iterator[Table]:
    """Figure 13 as a table, then every order of every layer."""
    base = by_layer(rows, "sequential", DOUBLE_BUFFER)
    ratios = {
        f"{what}: {by}": rearranged(rows, by, column)
        for by in REPLACEMENTS
        for what, column in (("traffic", "traffic_bytes"), ("time", "cycles"))
    }
    shapes = base.m.astype(str) + "x" + base.k.astype(str) + "x" + base.n.astype(str)
    yield Table(
        title="+Rearrangement in terms of the baseline under the same replacement",
        heads=["layer", "M x K x N", *ratios],
        lines=[
            [name, shapes[name], *(f"{of[name]:.3f}" for of in ratios.values())]
            for name in base.index
        ],
        left=2,
    )
    gaps = {f"double-buffer: {order}": over(rows, order, DOUBLE_BUFFER) for order in NAMED}
    gaps |= {f"page: {order}": over(rows, order, OPTIMAL) for order in (*NAMED, SEARCHED)}
    gaps[SMALL_TILES] = over(rows, SMALL_TILES, BELADY)
    least = rows.groupby("layer").bound.min()
    ran = "`" + by_layer(rows, SMALL_TILES, BELADY).ran + "`"
    yield Table(
        title="Traffic over the bound of all orders",
        heads=["layer", "bound", *gaps, "its order"],
        lines=[
            [
                name,
                megabytes(least[name]),
                *(f"{of[name]:.2f}" for of in gaps.values()),
                ran[name],
            ]
            for name in base.index
        ],
    )
    kinds = [(order, by) for order in ORDERS for by in REPLACEMENTS]
    yield Table(
        title="Means of these layers",
        heads=[
            *("order", "replacement", "traffic over the bound", "traffic over the baseline's"),
            *("time over the baseline's", "time over the bound"),
        ],
        lines=[
            [order, by]
            + [
                f"{of.mean():.3f}"
                for own in [by_layer(rows, order, by)]
                for of in (
                    over(rows, order, by),
                    own.traffic_bytes / base.traffic_bytes,
                    own.cycles / base.cycles,
                    over(rows, order, by, "cycles"),
                )
            ]
            for order, by in (*kinds, (SMALL_TILES, BELADY))
        ],
        left=2,
    )


def draw(rows: pd.DataFrame, figures: Mapping[str, float]) -> Figure:
    """Traffic and time of rearrangement, as the paper's figure has them."""
    panels = {
        words: pd.DataFrame(
            {
                "DRAM traffic": 100 * rearranged(rows, by, "traffic_bytes"),
                "time": 100 * rearranged(rows, by, "cycles"),
            }
        )
        for by, words in IN_WORDS.items()
    }
    title = (
        "Rearranged by algorithm 1: the longest memory-bound layers\nbackward pass, large NPU, "
        "batch 8, 4 bytes an element; against the sequential baseline under the same replacement"
    )
    return bar_panels(title, panels, "% of the baseline", 100.0)


STUDY = Study(
    file=__file__,
    cases=lambda: {"layers": (MOST, SETTING.networks())},
    work=longest,
    quick=(1, SETTING.networks()[2:3]),
    tables=tables,
    draw=draw,
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
