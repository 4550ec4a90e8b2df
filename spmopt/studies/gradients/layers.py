"""Figure 13 and its layers: traffic and time by order, and how far each is from the bound."""

from __future__ import annotations

from pathlib import Path

from spmopt.studies.gradient_networks import BATCHES, LARGE
from spmopt.studies.gradients.long_layers import ORDERS, SMALL_TILE, SMALL_TILES, measured
from spmopt.studies.gradients.names import networks_note
from spmopt.studies.gradients.rows import average
from spmopt.studies.gradients.saved import IN_WORDS
from spmopt.studies.gradients.setting import Setting
from spmopt.studies.gradients.technique import BELADY, DOUBLE_BUFFER, OPTIMAL, REPLACEMENTS
from spmopt.studies.rows import Rows, number
from spmopt.studies.study import Figures, Findings, Sentences, Sheet, Study
from spmopt.studies.words import megabytes, percent
from spmopt.tiles.case import SEARCHED

SETTING = Setting(name="plain", machine=LARGE)
_TIMES = ("cycles", "bound_cycles")
MOST = 24
"""Layers shown in the paper's figure 13."""


def find(rows: Rows, figures: Figures) -> Findings:
    """Figure 13 as a table, then every order of every layer."""
    del figures
    names = rows.texts("layer")
    return Findings(
        sheets=(_figure(rows, names), _shapes(rows, names), _means(rows, names)),
        sentences=_sentences(rows, names),
        notes=(
            _networks(rows, names),
            f"The {len(names)} sizes of layers with both gradients that take longest of those "
            "whose baseline is bound by memory; a name is the network and the number of the first "
            "layer of this size.",
            "Named orders: tiles chosen for time under double buffering, the same under the other "
            "replacements. *searched*: the best order and tiles of these, and blocked walks found "
            f"by local search. *{SMALL_TILES}*: tiles of at most {SMALL_TILE} along each axis, "
            "under belady: they move least, but a systolic array fills and drains for every tile.",
            "A bound is of all orders of the tiles of a row (`spmopt/tiles/BOUNDS.md`); "
            "rows of a layer are over the least of its bounds, which holds for all the tiles that "
            "were run. Of one layer, bounds on traffic differ by up to "
            f"{percent(_spread(rows, names, 'bound'))}, those on time by up to "
            f"{percent(_spread(rows, names, 'bound_cycles'))}: a smaller tile takes the array "
            "longer to fill and drain.",
        ),
    )


def _networks(rows: Rows, names: list[str]) -> str:
    abbreviations = dict.fromkeys(name.rpartition("_")[0] for name in names)
    return networks_note(rows.texts("machine"), list(abbreviations))


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
        cells = [megabytes(_least(rows, name, "bound"))]
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


def _least(rows: Rows, name: str, column: str) -> float:
    """The least of a layer's bounds, which holds for whichever of its tiles is run."""
    return min(number(row, column) for row in rows.where(layer=name))


def _spread(rows: Rows, names: list[str], column: str) -> float:
    """By how much the bounds of a layer's tiles differ at most."""
    return max(
        max(number(row, column) for row in rows.where(layer=name)) / _least(rows, name, column) - 1
        for name in names
    )


def _over(
    rows: Rows,
    name: str,
    order: str,
    replacement: str,
    columns: tuple[str, str] = ("value", "bound"),
) -> float:
    value, bound = columns
    row = rows.one(layer=name, order=order, scheduler=replacement)
    return number(row, value) / _least(rows, name, bound)


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
                f"{average(_over(rows, n, order, replacement, _TIMES) for n in names):.3f}",
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
        f"Rearrangement saves {percent(traffic)} of the traffic and {percent(time)} of the time of "
        f"these layers; on {near} of {len(names)} the two are within 5 points of each other, as in "
        "the paper, since they are bound by memory.",
        f"Under optimal residency the sequential order is as good as any of the others on "
        f"{len(pointless)} of {len(names)} layers; best is interleaved on {count['interleaved']}, "
        f"dx-major on {count['dx-major']}, dw-major on {count['dw-major']} (the first of equals), "
        f"and on {met} one of the orders is within 1 % of the bound of all orders.",
        "Where the smallest matrices fit beside a row of the others, an order that goes once "
        "through the large ones, both gradients in turns, reaches the compulsory traffic; where "
        "nothing fits, what helps is a block of results that stays while strips of both inputs "
        f"pass, which takes small tiles: walks in such blocks are {percent(small - 1)} above the "
        "bound on average, and their tiles cost the array time.",
    )


def draw(rows: Rows, figures: Figures, path: Path) -> None:
    """Traffic and time of rearrangement, as the paper's figure has them."""
    from spmopt.report.plots.bars import BarPanel, Series, save_bars
    from spmopt.report.plots.style import Heading

    del figures
    names = rows.texts("layer")
    panels = [
        BarPanel(
            title=words,
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
        for replacement, words in IN_WORDS.items()
    ]
    heading = Heading(
        title="Rearranged by algorithm 1: the longest memory-bound layers",
        conditions=f"backward pass, large NPU, batch {BATCHES[LARGE]}, 4 bytes an element; against "
        "the sequential baseline under the same replacement",
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
