"""What a technique saves under each replacement: the cells of a table, and bars."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from spmopt.studies.gradients.paper import points
from spmopt.studies.gradients.rows import average, saving
from spmopt.studies.gradients.technique import DOUBLE_BUFFER, OPTIMAL, REPLACEMENTS
from spmopt.studies.rows import Rows
from spmopt.studies.words import in_percent

if TYPE_CHECKING:  # matplotlib loads only where something is drawn
    from spmopt.report.plots.bars import BarPanel

IN_WORDS = {DOUBLE_BUFFER: "double buffering", OPTIMAL: "optimal residency (page)"}
"""Replacements that pictures show."""
HEADS = (
    *(f"time: {replacement}" for replacement in REPLACEMENTS),
    *(f"backward traffic: {replacement}" for replacement in REPLACEMENTS),
)


def cells(of: Callable[[str], Rows], technique: str, paper: float) -> list[str]:
    """What a technique saves of :data:`HEADS`, means of networks, percent.

    Parameters
    ----------
    of
        Rows of one setting under a replacement.
    paper
        The paper's saving of time, percent, under double buffering.
    """
    found = [points(average(saving(of(DOUBLE_BUFFER), technique)), paper)]
    found += [_mean(of(replacement), technique) for replacement in REPLACEMENTS[1:]]
    found += [_mean(of(replacement), technique, "traffic_bytes") for replacement in REPLACEMENTS]
    return found


def _mean(rows: Rows, technique: str, column: str = "") -> str:
    if not len(rows.where(technique=technique)):
        return "-"
    return in_percent(average(saving(rows, technique, column=column)))


def panel(
    title: str, saved: Mapping[str, dict[str, float]], marks: tuple[str, ...] = ()
) -> BarPanel:
    """Time saved of the baseline's, of networks and on average."""
    from spmopt.report.plots.bars import BarPanel, Series

    networks = list(next(iter(saved.values())))
    series = [
        Series(
            label=label,
            values=[100 * each for each in (*(of[n] for n in networks), average(of))],
            is_mark=label in marks,
        )
        for label, of in saved.items()
    ]
    return BarPanel(
        title=title,
        y_label="time saved, %",
        groups=(*networks, "mean"),
        series=tuple(series),
        level=0.0,
    )
