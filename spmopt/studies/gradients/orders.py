"""Figure 12: what interleaving, rearrangement and partitioning save, under three replacements."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from spmopt.studies.gradient_networks import LARGE, SMALL
from spmopt.studies.gradients.paper import SAVED, TITLES, bold
from spmopt.studies.gradients.rows import Sweep, average, cycles, measured, saving
from spmopt.studies.gradients.saved import HEADS, cells, panel
from spmopt.studies.gradients.setting import Setting
from spmopt.studies.gradients.technique import (
    BASELINE,
    BELADY,
    DOUBLE_BUFFER,
    LAST,
    OPTIMAL,
    POTENTIAL,
    REPLACEMENTS,
    TECHNIQUES,
)
from spmopt.studies.rows import Rows, number
from spmopt.studies.study import Figures, Findings, Sentences, Sheet, Study
from spmopt.studies.words import in_percent, listing, percent

MACHINES = (SMALL, LARGE)
_ALL = tuple(name for name in TECHNIQUES if name != POTENTIAL)
_SHOWN = tuple(name for name in _ALL if name != BASELINE)
_PLAIN = tuple(Setting(name="plain", machine=machine) for machine in MACHINES)
_IDEAL = "+rearrangement, ideal"
SWEEPS = (
    Sweep(settings=_PLAIN, techniques=_ALL, replacements=(DOUBLE_BUFFER, BELADY)),
    Sweep(
        settings=_PLAIN,
        techniques=tuple(name for name in _ALL if name != _IDEAL),
        replacements=(OPTIMAL,),
    ),
)
"""All but the ideal choice under optimal residency, for the time that takes."""


def find(rows: Rows, figures: Figures) -> Findings:
    """Means beside the paper's, then networks."""
    del figures
    machines = rows.texts("machine")
    return Findings(
        sheets=(
            _means(rows, machines),
            *(_networks(rows, machine) for machine in machines),
            _against(rows, machines),
        ),
        sentences=_sentences(rows, machines),
        notes=(
            bold(),
            "Tile, order and partition are chosen for each layer by time under double buffering; "
            "under the other replacements the same is run, so that only the replacement differs. "
            "`page` minimises time, to 1 % or for 5 seconds a layer; its traffic is not the least.",
            "The forward pass has the loops ijk, its tile chosen in the same way; every technique "
            "has the same forward pass.",
        ),
    )


def at(rows: Rows, machine: str, replacement: str) -> Rows:
    """Rows of a machine under a replacement."""
    return rows.where(machine=machine, scheduler=replacement)


def _means(rows: Rows, machines: list[str]) -> Sheet:
    lines = [
        [TITLES[machine], name, f"{paper:.1f}", *cells(partial(at, rows, machine), name, paper)]
        for machine in machines
        for name in _SHOWN
        for paper in [SAVED[machine, name]]
    ]
    return Sheet(
        title="Saved against the baseline under the same replacement, mean of networks, %",
        heads=("machine", "technique", "paper: time", *HEADS),
        rows=lines,
        left=2,
    )


def _networks(rows: Rows, machine: str) -> Sheet:
    own = at(rows, machine, DOUBLE_BUFFER)
    others = [at(rows, machine, replacement) for replacement in (BELADY, OPTIMAL)]
    saved = [saving(own, name) for name in _SHOWN]
    saved += [saving(other, LAST) for other in others]
    saved += [saving(own, LAST, forward=False)]
    lines = [
        [network, *(in_percent(each[network]) for each in saved)]
        for network in rows.texts("network")
    ]
    lines.append(["mean", *(in_percent(average(each)) for each in saved)])
    heads = (
        "network",
        *_SHOWN,
        *(f"{LAST}, {replacement}" for replacement in (BELADY, OPTIMAL)),
        f"{LAST}, backward alone",
    )
    return Sheet(title=f"Time saved on the {TITLES[machine]}, %", heads=heads, rows=lines)


def _against(rows: Rows, machines: list[str]) -> Sheet:
    """The orders under better replacements, against the baseline under double buffering."""
    lines = []
    for machine in machines:
        for technique in (BASELINE, "interleaving", "+rearrangement", LAST):
            line = [TITLES[machine], technique]
            for column in ("time", "traffic"):
                for replacement in REPLACEMENTS:
                    line.append(f"{_relative(rows, machine, technique, replacement, column):.3f}")
            lines.append([*line, f"{_over_bound(rows, machine, technique):.2f}"])
    return Sheet(
        title="In terms of the baseline under double buffering, mean of networks",
        heads=("machine", "technique", *HEADS, "traffic over the bound of all orders: page"),
        rows=lines,
        left=2,
    )


def _relative(rows: Rows, machine: str, technique: str, replacement: str, column: str) -> float:
    found = []
    for network in rows.texts("network"):
        pair = [
            rows.one(machine=machine, network=network, technique=name, scheduler=by)
            for name, by in ((technique, replacement), (BASELINE, DOUBLE_BUFFER))
        ]
        one, base = (
            cycles(row) if column == "time" else number(row, "traffic_bytes") for row in pair
        )
        found.append(one / base)
    return average(found)


def _over_bound(rows: Rows, machine: str, technique: str) -> float:
    """Bounds are of the tiles of each row."""
    own = at(rows, machine, OPTIMAL).where(technique=technique)
    return average(number(row, "value") / number(row, "bound") for row in own)


def _sentences(rows: Rows, machines: list[str]) -> Sentences:
    told = []
    for machine in machines:
        parts = []
        for replacement in REPLACEMENTS:
            own = at(rows, machine, replacement)
            each = [
                percent(average(saving(own, name))) for name in ("interleaving", "+rearrangement")
            ]
            parts.append(f"{each[0]} and {each[1]} under {replacement}")
        told.append(f"on the {TITLES[machine]} {listing(parts)}")
    base = [
        f"{percent(1 - _relative(rows, machine, BASELINE, BELADY, 'traffic'))} "
        f"and {percent(1 - _relative(rows, machine, BASELINE, OPTIMAL, 'traffic'))} "
        f"on the {TITLES[machine]}"
        for machine in machines
    ]
    hurt = []
    for machine in machines:
        saved = saving(at(rows, machine, DOUBLE_BUFFER), "interleaving")
        worse = [network for network, share in saved.items() if share < 0]
        if worse:
            hurt.append(f"{listing(worse)} on the {TITLES[machine]}")
    return (
        f"Interleaving alone and with rearrangement saves, of the time of both passes, "
        f"{'; '.join(told)}.",
        f"Better replacement needs no new order: Belady's rule and optimal residency take from the "
        f"baseline's backward traffic {listing(base)}. {_pointless(rows, machines)}",
        "Interleaving pays where the weight is a tile or two: both walks then take dY in the same "
        "order. Where it is many, the usual walks are at different tiles of dY at a time, and each "
        "has half of the room" + (f"; it costs time on {'; '.join(hurt)}." if hurt else "."),
    )


def _pointless(rows: Rows, machines: list[str]) -> str:
    """Where optimal residency alone moves no more than rearrangement with double buffering."""
    pairs = [(machine, network) for machine in machines for network in rows.texts("network")]
    found = [
        f"{network} on the {TITLES[machine]}"
        for machine, network in pairs
        if _bytes(rows, machine, network, BASELINE, OPTIMAL)
        <= _bytes(rows, machine, network, "+rearrangement", DOUBLE_BUFFER)
    ]
    still = average(
        average(saving(at(rows, machine, OPTIMAL), "+rearrangement", column="traffic_bytes"))
        for machine in machines
    )
    return (
        f"On {len(found)} of {len(pairs)} networks that alone moves no more than the rearranged "
        f"order with double buffering{f' ({listing(found)})' if found else ''}; under optimal "
        f"residency itself rearrangement still saves {percent(still)} of the backward traffic."
    )


def _bytes(rows: Rows, machine: str, network: str, technique: str, replacement: str) -> float:
    own = at(rows, machine, replacement)
    return number(own.one(network=network, technique=technique), "traffic_bytes")


def draw(rows: Rows, figures: Figures, path: Path) -> None:
    """Times under double buffering, as the paper's figure has them."""
    from spmopt.report.plots.bars import save_bars
    from spmopt.report.plots.style import Heading

    del figures
    panels = []
    for machine in rows.texts("machine"):
        own, mark = at(rows, machine, DOUBLE_BUFFER), f"{LAST}, page"
        shown = {name: "ideal order" if name == _IDEAL else name for name in _SHOWN}
        saved = {label: saving(own, name) for name, label in shown.items()}
        saved[mark] = saving(at(rows, machine, OPTIMAL), LAST)
        panels.append(panel(TITLES[machine], saved, (mark,)))
    heading = Heading(
        title="Time of both passes, orders of gradients against the sequential baseline",
        conditions="double buffering; batch 4 (small NPU) and 8 (large NPU), 4 bytes an element",
    )
    save_bars(panels, heading, path)


STUDY = Study(
    name="gradient-orders",
    title="what orders of gradients save",
    about=(
        "Time of forward and backward pass with gradients interleaved, rearranged by algorithm 1 "
        "or ideally, and cut into partitions, against the sequential baseline: figure 12 of Kim "
        "et al., MICRO 2023, under the paper's double buffering, under Belady's rule and under "
        "optimal residency. One core of each machine, the paper's networks and batch sizes, 4 "
        "bytes an element, output stationary."
    ),
    measured=measured(*SWEEPS),
    find=find,
    draw=draw,
)
