"""Whole pictures in files: panels one below the other on one time axis, of one schedule or two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import wrap

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from spmopt.core.errors import InputError, unknown
from spmopt.reporting.contrast import bytes_kept_more, require_comparable
from spmopt.reporting.headings import speak
from spmopt.reporting.plots.schedule.addresses import plot_map
from spmopt.reporting.plots.schedule.axes import retitle, seconds
from spmopt.reporting.plots.schedule.over_time import (
    plot_dual,
    plot_gain,
    plot_lanes,
    plot_occupancy,
)
from spmopt.reporting.plots.schedule.roofline import plot_roofline
from spmopt.reporting.plots.style import LINE, MOST_LETTERS, canvas, finish, legible, paragraph
from spmopt.reporting.results import figures
from spmopt.reporting.schedule_view import ScheduleView
from spmopt.reporting.schedule_view.view import LANES_SAID, MARKS, conditions, headings

_Panel = tuple[Callable[[ScheduleView, Axes], Axes], float]
"""How it is drawn, and how many inches high."""
_PANELS: dict[str, _Panel] = {
    "map": (plot_map, 3.4),
    "occupancy": (plot_occupancy, 2.6),
    "lanes": (plot_lanes, 2.4),
    "dual": (plot_dual, 1.6),
    "roofline": (plot_roofline, 4.8),
}
PICTURES = (*_PANELS, "all", "compare")
"""What can be drawn; ``all`` is all but the roofline."""
_COMPARED = (2.9, 2.9, 2.3, 2.3, 1.5)
_ABOVE = 0.45
_MOST_LETTERS = 120
_TIED = "\N{NO-BREAK SPACE}"
"""Between a number and its unit, where no line may end."""


def save_picture(name: str, pictures: Sequence[ScheduleView], path: Path) -> None:
    """Write one of :data:`PICTURES` of one schedule or two, in the format that ``path`` ends in.

    Raises
    ------
    InputError
        No such picture, as many schedules as it does not take, two that are not of one problem
        or not in the same times, shadow prices that are not there, or a file that cannot be
        written.
    """
    if name not in PICTURES:
        raise unknown("picture", name, PICTURES)
    wanted = (2,) if name == "compare" else (1, 2)
    if len(pictures) not in wanted:
        raise InputError(
            f"picture {name}: takes {' or '.join(map(str, wanted))} schedules, not {len(pictures)}"
        )
    if len(pictures) == 2:
        require_comparable(pictures[0], pictures[1])
    figure = _comparison(*pictures) if name == "compare" else _panels(name, pictures)
    finish(figure, (), _heading(pictures), path)


def _panels(name: str, pictures: Sequence[ScheduleView]) -> Figure:
    """Draw the same panels of every picture, one below the other."""
    names, heads = _along_time(pictures) if name == "all" else [name], headings(pictures)
    chosen = [(each, one) for each in names for one in zip(pictures, heads, strict=True)]
    figure, axes = _column([_PANELS[each][1] for each, _ in chosen])
    for ax, (each, (picture, head)) in zip(axes, chosen, strict=True):
        if each != "roofline":
            _span(ax, pictures)
        _PANELS[each][0](picture, ax)
        if len(pictures) == 2:
            retitle(ax, f"{head}: {ax.get_title('left')}")
    if name != "roofline":
        _label_last(axes)
    if name in ("lanes", "all"):
        _explain_lanes(axes[-1], pictures[0])
    return figure


def _comparison(first: ScheduleView, second: ScheduleView) -> Figure:
    """Draw maps, what only one keeps between uses in full color; lanes, and the time gained."""
    figure, axes = _column(_COMPARED)
    pairs = ((first, second), (second, first))
    heads = headings((first, second))
    for ax in axes:
        _span(ax, (first, second))
    for place, ((one, other), above, below) in enumerate(
        zip(pairs, axes[:2], axes[2:4], strict=True)
    ):
        plot_map(one, above, marked=bytes_kept_more(one, other))
        colored = f"full color: kept between two uses here, but not by {MARKS[1 - place]}"
        retitle(above, f"SPM map of {heads[place]}; {colored}")
        plot_lanes(one, below)
        retitle(below, f"Engine and DMA channel of {heads[place]}")
    plot_gain(first, second, axes[4])
    _label_last(axes)
    _explain_lanes(axes[4], first)
    return figure


def _column(heights: Sequence[float]) -> tuple[Figure, list[Axes]]:
    figure, grid = canvas(len(heights), 1, _ABOVE + sum(heights), heights)
    return figure, [ax for (ax,) in grid]


def _span(ax: Axes, pictures: Sequence[ScheduleView]) -> None:
    """Lay one time axis for all, and mark the end of each."""
    ends = [seconds(picture) for picture in pictures]
    ax.set_xlim(0.0, max(ends))
    for end in ends[1:] + ends[:1]:
        if end < max(ends):
            ax.axvline(end, color=LINE, linewidth=0.8, linestyle=":")


def _label_last(axes: Sequence[Axes]) -> None:
    """Name and number the time axis once, at the bottom."""
    for ax in axes[:-1]:
        ax.set_xlabel("")
        ax.tick_params(labelbottom=False)


def _along_time(pictures: Sequence[ScheduleView]) -> list[str]:
    """Return panels of ``all``.

    Of shadow prices where every schedule has them, and not all are zero.
    """
    names, duals = ["map", "occupancy", "lanes"], [picture.spaces for picture in pictures]
    counted = any(space.counted.any() for each in duals for space in each.values())
    priced = all(duals) and counted
    return [*names, "dual"] if priced else names


def _explain_lanes(ax: Axes, picture: ScheduleView) -> None:
    """Say how lanes are meant, below the name of the time axis."""
    said = wrap(LANES_SAID[picture.times.timing], _MOST_LETTERS * 3 // 4)
    ax.set_xlabel("\n".join((ax.get_xlabel(), *said)))


def _heading(pictures: Sequence[ScheduleView]) -> str:
    """Say what is shown, by the figures that the page and the tables have too."""
    name = legible(pictures[0].problem.name, 70)
    said = [
        f"{head}: {_headline(picture)}"
        for head, picture in zip(headings(pictures), pictures, strict=True)
    ]
    lines = [f"{name}; {said[0]}"] if len(said) == 1 else [name, *said]
    parts = [part.replace(_TIED, " ") for line in lines for part in _even(line)]
    return "\n".join((*parts, paragraph(conditions(pictures), MOST_LETTERS)))


def _even(line: str) -> list[str]:
    """Return a text in as few lines as it takes, none much shorter than the others."""
    fewest = len(wrap(line, _MOST_LETTERS))
    widths = range(len(line) // max(1, fewest), _MOST_LETTERS)
    return next(
        (found for width in widths if len(found := wrap(line, max(1, width))) == fewest),
        wrap(line, _MOST_LETTERS),
    )


def _headline(picture: ScheduleView) -> str:
    """Return the objective and its value, then other costs; the replay's time if it is drawn."""
    result = picture.result
    texts = {
        figure.key: figure.text.replace(" ", _TIED)
        for figure in figures(picture.problem, result, picture.totals)
    }
    goal = speak(result.objective)
    drawn = ("replay",) if picture.times.timing == "replay" else ()
    others = (("makespan", "time"), *((name, name) for name in (*drawn, "traffic")))
    costs = [f"{name} {texts[key]}" for key, name in others if name != goal]
    known = [f"{texts['objective']} (objective)"] if "objective" in texts else []
    gap = [] if result.gap is None else [f"gap to bound {texts['gap']}"]
    gap += [f"over the fusion space {texts['fusion_gap']}"] if "fusion_gap" in texts else []
    return ", ".join((*known, *costs, *gap))
