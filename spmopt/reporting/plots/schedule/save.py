"""Whole pictures in files: panels one below the other on one time axis, of one schedule or two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import wrap

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from spmopt.core.errors import InputError
from spmopt.reporting.contrast import bytes_kept_more, differ_in_fusion, require_comparable
from spmopt.reporting.headings import ASYNC_TIME, name_of
from spmopt.reporting.plots.roofline import plot_roofline
from spmopt.reporting.plots.schedule.addresses import plot_map
from spmopt.reporting.plots.schedule.axes import seconds
from spmopt.reporting.plots.schedule.over_time import plot_lanes, plot_occupancy
from spmopt.reporting.plots.style import (
    LINE,
    MOST_LETTERS,
    canvas,
    draw_legend,
    finish,
    legible,
    paragraph,
    set_title,
)
from spmopt.reporting.schedule_view import ScheduleView
from spmopt.reporting.schedule_view.view import LANES_SAID, MARKS, conditions, headings

# Function that draws a panel, and its height in inches.
_Panel = tuple[Callable[[ScheduleView, Axes], Axes], float]
_PANELS: dict[str, _Panel] = {
    "map": (plot_map, 3.4),
    "occupancy": (plot_occupancy, 2.6),
    "lanes": (plot_lanes, 2.4),
    "roofline": (lambda view, ax: plot_roofline(view.analysis.by_layer(), ax), 4.8),
}
_ALONG_TIME = ("map", "occupancy", "lanes")
_COMPARED = ("map", "lanes")
PICTURES = (*_PANELS, "all", "compare")
"""Names of pictures; ``all`` is all but the roofline."""
_ABOVE = 0.9  # inches of heading and legend
_MOST_LETTERS = 90


def save_picture(name: str, pictures: Sequence[ScheduleView], path: Path) -> None:
    """Write one of :data:`PICTURES` of one schedule or two, in the format that ``path`` ends in.

    Raises
    ------
    InputError
        As many schedules as it does not take, two that are not of one problem or not in the
        same times, or a file that cannot be written.
    """
    if name == "compare" and len(pictures) != 2:
        raise InputError(f"picture {name}: takes 2 schedules, not {len(pictures)}")
    if len(pictures) == 2:
        require_comparable(pictures[0], pictures[1])
    finish(figure_of(name, pictures), _heading(pictures), path)


def figure_of(name: str, pictures: Sequence[ScheduleView]) -> Figure:
    """Return one of :data:`PICTURES`, without a heading: the panels of each schedule in turn."""
    panels = {"all": _ALONG_TIME, "compare": _COMPARED}.get(name, (name,))
    chosen = [(panel, place) for panel in panels for place in range(len(pictures))]
    heights = [_PANELS[panel][1] for panel, _ in chosen]
    figure, grid = canvas(len(chosen), 1, _ABOVE + sum(heights), heights)
    axes, heads = [ax for (ax,) in grid], headings(pictures)
    for ax, (panel, place) in zip(axes, chosen, strict=True):
        # Place -1 of two is the other one.
        one, other = pictures[place], pictures[place - 1]
        if panel != "roofline":
            _span(ax, pictures)
        if name == "compare" and panel == "map" and not differ_in_fusion(one, other):
            plot_map(one, ax, marked=bytes_kept_more(one, other))
            colored = f"full color: kept between two uses here, but not by {MARKS[1 - place]}"
            set_title(ax, f"{heads[place]}: SPM map; {colored}")
        else:
            _PANELS[panel][0](one, ax)
            if len(pictures) == 2:
                set_title(ax, f"{heads[place]}: {ax.get_title('left')}")
    if name != "roofline":
        # All share one time axis, named once at the bottom.
        for ax in axes[:-1]:
            ax.set_xlabel("")
            ax.tick_params(labelbottom=False)
    if "lanes" in panels:
        said = wrap(LANES_SAID[pictures[0].times.timing], _MOST_LETTERS)
        axes[-1].set_xlabel("\n".join((axes[-1].get_xlabel(), *said)))
    draw_legend(figure, axes)
    return figure


def _span(ax: Axes, pictures: Sequence[ScheduleView]) -> None:
    """Lay one time axis for all, and mark the end of each."""
    ends = [seconds(picture) for picture in pictures]
    ax.set_xlim(0.0, max(ends))
    for end in ends:
        if end < max(ends):
            ax.axvline(end, color=LINE, linewidth=0.8, linestyle=":")


def _heading(pictures: Sequence[ScheduleView]) -> str:
    """Return subject and figures, as pages and tables have them."""
    name = legible(pictures[0].problem.name, 70)
    said = [
        f"{head}: {_headline(picture)}"
        for head, picture in zip(headings(pictures), pictures, strict=True)
    ]
    lines = [f"{name}; {said[0]}"] if len(said) == 1 else [name, *said]
    shown = (*lines, conditions(pictures))
    return "\n".join(paragraph(line, MOST_LETTERS) for line in shown)


def _headline(picture: ScheduleView) -> str:
    """Return the objective and its value, then time, traffic and gaps."""
    result, goal = picture.result, name_of(picture.result.objective)
    texts = {each.key: each.text for each in picture.figures}
    costs = {"makespan": "time", "traffic": "traffic"}
    if picture.times.timing == "async":
        costs["replay"] = ASYNC_TIME
    parts = [f"{texts['objective']} (objective)"] if "objective" in texts else []
    parts += [f"{name} {texts[key]}" for key, name in costs.items() if name != goal]
    if result.gap is not None:
        over = f" (fusion space {texts['fusion_gap']})" if "fusion_gap" in texts else ""
        parts.append(f"gap {texts['gap']}{over}")
    return ", ".join(parts)
