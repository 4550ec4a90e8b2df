"""Tables and bars of single workloads, against SRAM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

from spmopt.studies.memory.claim import TITLES
from spmopt.studies.memory.conditions import CONDITIONS, READINGS_SHOWN, UNDER_ONE
from spmopt.studies.memory.ratios import Of, name_of, relative
from spmopt.studies.memory.rows import OPTIMAL, READINGS
from spmopt.studies.rows import Rows
from spmopt.studies.study import Sheet

if TYPE_CHECKING:  # matplotlib loads only where something is drawn
    from spmopt.report.plots.bars import BarPanel

_SHORT = {
    "alexnet": "Alex",
    "googlenet": "Goog",
    "vgg16": "VGG",
    "resnet18": "Res",
    "squeezenet": "Sqz",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A quantity of a row, and what tables call it."""

    title: str
    of: Of


def own(rows: Rows, reading: str) -> Rows:
    """Rows of a reading with the optimal schedule."""
    return rows.where(reading=reading, scheduler=OPTIMAL)


def by_workload(
    rows: Rows, roles: Sequence[str], measures: Sequence[Measure], reading: str, scheduler: str
) -> Sheet:
    """Each workload's quantities over SRAM's, and their means."""
    own = rows.where(reading=reading, scheduler=scheduler)
    found = [relative(own, role, measure.of) for measure in measures for role in roles]
    lines = [[name_of(case), *(f"{ratios[case]:.3f}" for ratios in found)] for case in found[0]]
    lines.append(["mean", *(f"{mean(ratios.values()):.3f}" for ratios in found)])
    heads = tuple(f"{measure.title}: {TITLES[role]}" for measure in measures for role in roles)
    return Sheet(
        title=f"In terms of SRAM, {reading}, {scheduler}",
        heads=("workload (I: inference, T: training)", *heads),
        rows=lines,
    )


def draw_workloads(
    rows: Rows, roles: Sequence[str], measure: Measure, told: tuple[str, str], path: Path
) -> None:
    """Write bars of every reading; ``told``: what is shown, and the size of each scratchpad."""
    from spmopt.report.plots.bars import save_bars
    from spmopt.report.plots.style import Heading

    title, sizes = told
    heading = Heading(
        title=title,
        conditions=f"{CONDITIONS}\n{sizes}; GTX 1080 Ti; optimal schedules; I: inference, "
        f"T: training\n{UNDER_ONE}\n{READINGS_SHOWN}",
    )
    save_bars(_panels(rows, roles, measure), heading, path)


def _panels(rows: Rows, roles: Sequence[str], measure: Measure) -> list[BarPanel]:
    """Bars of each reading, under the optimal schedule."""
    from spmopt.report.plots.bars import BarPanel, Series

    found = []
    for reading in (each for each in READINGS if each in rows.texts("reading")):
        own = rows.where(reading=reading, scheduler=OPTIMAL)
        ratios = [(role, relative(own, role, measure.of)) for role in roles]
        groups = tuple(_short(name_of(case)) for case in ratios[0][1])
        series = tuple(
            Series(label=TITLES[role], values=[*of.values(), mean(of.values())])
            for role, of in ratios
        )
        found.append(
            BarPanel(
                title=reading,
                y_label=f"{measure.title}, SRAM's = 1",
                groups=(*groups, "mean"),
                series=series,
                level=1.0,
            )
        )
    return found


def _short(name: str) -> str:
    network, stage = name.split()
    return f"{_SHORT.get(network, network)} {stage}"
