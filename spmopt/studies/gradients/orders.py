"""Figure 12: what interleaving, rearrangement and partitioning save, under three replacements."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from spmopt.studies.gradient_networks import LARGE, SMALL
from spmopt.studies.gradients.names import BATCH_SIZES, IDEAL_NOTE, networks_of
from spmopt.studies.gradients.paper import SAVED, TITLES, bold
from spmopt.studies.gradients.replacement import relative, sentences
from spmopt.studies.gradients.rows import Sweep, at, average, measured, saving
from spmopt.studies.gradients.saved import HEADS, IN_WORDS, cells, panel
from spmopt.studies.gradients.setting import Setting
from spmopt.studies.gradients.technique import (
    BASELINE,
    BELADY,
    DOUBLE_BUFFER,
    IDEAL,
    LAST,
    LIMIT_S,
    OPTIMAL,
    POTENTIAL,
    REPLACEMENTS,
    TECHNIQUES,
    TOLERANCE,
)
from spmopt.studies.rows import Rows, number
from spmopt.studies.study import Figures, Findings, Sheet, Study
from spmopt.studies.words import in_percent, percent

MACHINES = (SMALL, LARGE)
_ALL = tuple(name for name in TECHNIQUES if name != POTENTIAL)
_SHOWN = tuple(name for name in _ALL if name != BASELINE)
_PLAIN = tuple(Setting(name="plain", machine=machine) for machine in MACHINES)
_SAME_BASELINE = f"{LAST}, {OPTIMAL}, against the baseline under {DOUBLE_BUFFER}"
SWEEPS = (
    Sweep(settings=_PLAIN, techniques=_ALL, replacements=(DOUBLE_BUFFER, BELADY)),
    Sweep(
        settings=_PLAIN,
        techniques=tuple(name for name in _ALL if name != IDEAL),
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
        sentences=sentences(rows, machines),
        notes=(
            bold(),
            networks_of(rows),
            IDEAL_NOTE,
            "Tile, order and partition are chosen for each layer by time under double buffering; "
            "under the other replacements the same is run, so that only the replacement differs. "
            f"`{OPTIMAL}` minimises time, to {percent(TOLERANCE)} or for {LIMIT_S:g} s a layer: "
            "it moves more where that takes less time, and its traffic can be above Belady's.",
            "The forward pass has the loops ijk, its tile chosen in the same way; every technique "
            "has the same forward pass.",
            "The bound of all orders is of each layer's own tiles.",
        ),
    )


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
    same = relative(rows, machine, LAST, OPTIMAL)
    saved += [{network: 1 - ratio for network, ratio in same.items()}]
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
        _SAME_BASELINE,
        f"{LAST}, backward alone",
    )
    title = (
        f"Time saved on the {TITLES[machine]} against the baseline under the same replacement, %"
    )
    return Sheet(title=title, heads=heads, rows=lines)


def _against(rows: Rows, machines: list[str]) -> Sheet:
    """The orders under better replacements, against the baseline under double buffering."""
    lines = []
    for machine in machines:
        for technique in (BASELINE, "interleaving", "+rearrangement", LAST):
            line = [TITLES[machine], technique]
            for column in ("time", "traffic"):
                for replacement in REPLACEMENTS:
                    ratios = relative(rows, machine, technique, replacement, column)
                    line.append(f"{average(ratios):.3f}")
            lines.append([*line, f"{_over_bound(rows, machine, technique):.2f}"])
    return Sheet(
        title="In terms of the baseline under double buffering, mean of networks",
        heads=("machine", "technique", *HEADS, "traffic over the bound of all orders: page"),
        rows=lines,
        left=2,
    )


def _over_bound(rows: Rows, machine: str, technique: str) -> float:
    """Bounds are of the tiles of each row."""
    own = at(rows, machine, OPTIMAL).where(technique=technique)
    return average(number(row, "value") / number(row, "bound") for row in own)


def draw(rows: Rows, figures: Figures, path: Path) -> None:
    """Times saved, all against the paper's baseline under double buffering."""
    from spmopt.report.plots.bars import save_bars
    from spmopt.report.plots.style import Heading

    del figures
    panels, mark = [], f"{LAST} under {IN_WORDS[OPTIMAL]}, same baseline"
    for machine in rows.texts("machine"):
        own = at(rows, machine, DOUBLE_BUFFER)
        saved = {name: saving(own, name) for name in _SHOWN}
        best = relative(rows, machine, LAST, OPTIMAL)
        saved[mark] = {network: 1 - ratio for network, ratio in best.items()}
        panels.append(panel(TITLES[machine], saved, (mark,)))
    heading = Heading(
        title="Time of both passes that orders of gradients save, of the sequential baseline's "
        "under double buffering",
        conditions=f"bars: under double buffering too; {BATCH_SIZES}, 4 bytes an element",
    )
    save_bars(panels, heading, path)


STUDY = Study(
    name="gradient-orders",
    title="what orders of gradients save",
    about=(
        "Time of forward and backward pass with gradients interleaved, rearranged by algorithm 1 "
        "or ideally, and cut into partitions, against the sequential baseline: figure 12 of Kim "
        "et al., MICRO 2023, under the paper's double buffering, under Belady's rule and under "
        f"optimal residency. One core of each machine, the paper's networks, {BATCH_SIZES}, 4 "
        "bytes an element, output stationary."
    ),
    measured=measured(*SWEEPS),
    find=find,
    draw=draw,
)
