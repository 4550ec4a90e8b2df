"""Figure 13 and its layers: traffic and time by order, and how far each is from the bound."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pandas as pd
from matplotlib.figure import Figure

from results.shared.common import Row, Study, Tables, megabytes, texts
from results.shared.gradients import (
    BASELINE,
    BELADY,
    DOUBLE_BUFFER,
    IN_WORDS,
    LARGE,
    NETWORKS,
    OPTIMAL,
    REPLACEMENTS,
    Counted,
    NpuSetting,
    best_of,
    other,
)
from results.shared.plots import bar_panels
from spmopt.tiles.case import SEARCHED, LayerCase
from spmopt.tiles.layer import Layer, Tile
from spmopt.tiles.run import LayerResult

MOST = 24  # layers shown in the paper's figure 13
SMALL_TILES = "searched, small tiles"
NAMED = ("sequential", "interleaved", "dx-major", "dw-major")
ORDERS = (*NAMED, "algorithm-1", SEARCHED)
SETTING = NpuSetting(name="plain")


def layers(networks: Iterable[str]) -> dict[str, Counted]:
    """Return sizes of all layers with both gradients; ``goo_3`` is the third of Googlenet."""
    found: dict[Layer, tuple[str, Counted]] = {}
    for network in networks:
        for each in SETTING.layers(network):
            if each.input_gradient:
                name = f"{network}_{each.number}"
                found.setdefault(replace(each.layer, name="layer"), (name, each))
    return dict(found.values())


def longest(case: tuple[int, Sequence[str]]) -> list[Row]:
    """Schedule so many layers that take longest and are bound by memory in the baseline."""
    most, everything = case[0], layers(case[1])
    base = best_of({name: SETTING.cases(BASELINE, each) for name, each in everything.items()})
    cycles = {n: r.cost.makespan_cycles for n, r in base.items() if r.cost.bound_by == "memory"}
    asked: dict[tuple[str, str, str], LayerCase] = {}
    for name in sorted(cycles, key=lambda name: -cycles[name])[:most]:
        (plain,) = SETTING.cases(BASELINE, everything[name])
        for order in ORDERS:
            for by in REPLACEMENTS if order == SEARCHED else (DOUBLE_BUFFER,):
                asked[name, order, by] = replace(other(plain, by), order=order)
        tile = Tile(m=256, k=256, n=256)
        small = replace(other(plain, BELADY), order=SEARCHED, tile=tile)
        asked[name, SMALL_TILES, BELADY] = small
    found = best_of({key: [each] for key, each in asked.items()})
    again = {
        (name, order, by): [other(row.ran, by)]
        for (name, order, first), row in found.items()
        if first == DOUBLE_BUFFER and order != SEARCHED
        for by in (BELADY, OPTIMAL)
    }
    found |= best_of(again)
    return [row_of(name, everything[name], order, row) for (name, order, _), row in found.items()]


def row_of(name: str, each: Counted, order: str, found: LayerResult) -> Row:
    """Return what a layer takes in an order, under a replacement."""
    spent, tile = found.cost, found.ran.grid.tile
    return {
        "machine": SETTING.machine,
        "layer": name,
        **{axis: getattr(each.layer, axis) for axis in ("m", "k", "n", "groups")},
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
    """Return rows of an order under a replacement by layer, in the order of the layers."""
    own = rows[(rows.order == order) & (rows.scheduler == scheduler)]
    return own.set_index("layer").reindex(rows.layer.unique())


def rearranged(rows: pd.DataFrame, scheduler: str, column: str) -> pd.Series:
    """Return algorithm 1 in terms of the baseline under the same replacement."""
    own, base = (by_layer(rows, o, scheduler)[column] for o in ("algorithm-1", "sequential"))
    return own / base


def over(rows: pd.DataFrame, order: str, scheduler: str, value: str = "value") -> pd.Series:
    """Return traffic, or cycles, over the least of a layer's bounds: it holds for all tiles."""
    least = rows.groupby("layer")["bound" if value == "value" else "bound_cycles"].min()
    own = by_layer(rows, order, scheduler)[value]
    return own / least.reindex(own.index)


def tables(rows: pd.DataFrame) -> Tables:
    """Tabulate figure 13, then every order of every layer."""
    base = by_layer(rows, "sequential", DOUBLE_BUFFER)
    ratios = {
        f"{what}: {by}": rearranged(rows, by, column)
        for by in REPLACEMENTS
        for what, column in (("traffic", "traffic_bytes"), ("time", "cycles"))
    }
    shapes = base[["m", "k", "n"]].astype(str).agg("x".join, axis=1).rename("M x K x N")
    gaps = {f"double-buffer: {order}": over(rows, order, DOUBLE_BUFFER) for order in NAMED}
    gaps |= {f"page: {order}": over(rows, order, OPTIMAL) for order in (*NAMED, SEARCHED)}
    gaps[SMALL_TILES] = over(rows, SMALL_TILES, BELADY)
    above = texts(pd.DataFrame(gaps), "{:.2f}")
    least = rows.groupby("layer").bound.min().reindex(base.index)
    above.insert(0, "bound", least.map(megabytes))
    above["its order"] = "`" + by_layer(rows, SMALL_TILES, BELADY).ran + "`"
    kinds = [(order, by) for order in ORDERS for by in REPLACEMENTS] + [(SMALL_TILES, BELADY)]
    means = {
        (order, by): {
            "traffic over the bound": over(rows, order, by).mean(),
            "traffic over the baseline's": (own.traffic_bytes / base.traffic_bytes).mean(),
            "time over the baseline's": (own.cycles / base.cycles).mean(),
            "time over the bound": over(rows, order, by, "cycles").mean(),
        }
        for order, by in kinds
        for own in [by_layer(rows, order, by)]
    }
    return {
        "+Rearrangement in terms of the baseline under the same replacement": texts(
            pd.DataFrame(ratios), "{:.3f}"
        ).set_index(shapes, append=True),
        "Traffic over the bound of all orders": above,
        "Means of these layers": texts(pd.DataFrame(means).T, "{:.3f}").rename_axis(
            ["order", "replacement"]
        ),
    }


def draw(rows: pd.DataFrame) -> Figure:
    """Draw traffic and time of rearrangement, as the paper's figure has them."""
    columns = {"DRAM traffic": "traffic_bytes", "time": "cycles"}
    panels = {
        words: pd.DataFrame({what: 100 * rearranged(rows, by, c) for what, c in columns.items()})
        for by, words in IN_WORDS.items()
    }
    return bar_panels(panels, "% of the baseline", 100.0)


STUDY = Study(
    file=__file__,
    cases=lambda: {"layers": (MOST, [*NETWORKS[LARGE]])},
    work=longest,
    quick=(1, [*NETWORKS[LARGE]][2:3]),
    tables=tables,
    draw=draw,
)

if __name__ == "__main__":
    sys.exit(STUDY.main())
