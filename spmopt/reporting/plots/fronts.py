"""A search of machines: the front among all trials, what proofs excluded, what matters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from spmopt.core.errors import InputError
from spmopt.reporting.palette import BOUND, COLORS
from spmopt.reporting.plots.numbers import label_axis
from spmopt.reporting.plots.style import (
    LINE,
    MOST_LETTERS,
    TEXT,
    alone,
    canvas,
    draw_legend,
    dress,
    finish,
    legible,
    paragraph,
)
from spmopt.reporting.search.front import Axis, Front, Trial

_TRIAL, _FRONT = COLORS[0], COLORS[1]
_SOLVED = ("solved", "as before")
_MARKS: dict[str, tuple[str, dict[str, Any]]] = {
    "excluded by proof": (
        "excluded by proof, at best here",
        {"s": 22, "marker": "x", "color": BOUND},
    ),
    "broken": (
        "breaks a constraint",
        {"s": 16, "facecolors": "none", "edgecolors": _TRIAL, "alpha": 0.35},
    ),
    "solved": ("solved", {"s": 16, "facecolors": _TRIAL, "edgecolors": _TRIAL, "alpha": 0.35}),
}
"""How trials that are no members are drawn, by what came of them."""
_NAMED = 20
"""Members of a front whose numbers find room."""
_AXES_POINTS = np.array([500.0, 250.0])
"""About how large axes are in a figure of their own; names keep apart by it."""
_LETTER_POINTS = 4.6
Box = tuple[float, float, float, float]


def plot_front(
    front: Front, x: str | None = None, y: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw trials by two figures, by default into a figure of its own.

    A line under a member of the front goes down to what any schedule on its machine takes at
    least. What proofs excluded is a cross where any schedule of it is at best. Axes are scaled to
    the trials: constraints are dashed among them, and arrows at the edge that they are beyond.

    Raises
    ------
    InputError
        The study has no such figure.
    """
    ax = alone(ax)
    across, up = front.pair(x, y)
    known = {trial.number: trial for trial in front.trials}
    members = [known.pop(number) for number in front.members]
    states: dict[str, list[Trial]] = {}
    for trial in known.values():
        state = trial.state
        if state in _SOLVED:
            state = "solved" if trial.is_feasible else "broken"
        states.setdefault(state, []).append(trial)
    for state, (label, look) in _MARKS.items():
        if places := _places((across, up), states.get(state, ())):
            ax.scatter(*zip(*places, strict=True), label=label, **look)
    _draw_members(ax, front, (across, up), members)
    dress(ax)
    for axis, side in ((across, ax.xaxis), (up, ax.yaxis)):
        bounded = " ≥" if front.bounds_only and axis.of_schedules else ""
        label_axis(side, f"{axis.label}{bounded}", axis.unit)
    _draw_limits(ax, (across, up))
    _name_members(ax, (across, up), members)
    missing = sum(trial.place(across, up) is None for trial in front.trials)
    if missing:
        note = f"{missing} of {len(front.trials)} trials are not known by both figures"
        ax.text(0.01, 0.015, note, transform=ax.transAxes, fontsize=TEXT - 2, color="#555")
    return ax


def plot_importances(front: Front, ax: Axes | None = None) -> Axes:
    """Draw what each objective varies with, as bars, by default into a figure of its own.

    Raises
    ------
    InputError
        Too little is known.
    """
    if not front.shares:
        raise InputError(
            f"study {front.name}: too few machines were solved, or scikit-learn is "
            "missing, to say what matters"
        )
    ax = alone(ax)
    fields = list(dict.fromkeys(key for share in front.shares for key in share.parts))
    high = 0.8 / len(front.shares)
    for rank, share in enumerate(front.shares):
        places = np.arange(len(fields)) + (rank + 0.5) * high - 0.4
        parts = [share.parts.get(field, 0.0) for field in fields]
        label = legible(f"{share.objective} ({share.rests})")
        ax.barh(places, parts, high, color=COLORS[rank % len(COLORS)], label=label)
    dress(ax, "What objectives vary with")
    ax.set_yticks(range(len(fields)), [legible(field, 40) for field in fields], parse_math=False)
    ax.set_ylim(len(fields) - 0.5, -0.5)
    ax.grid(visible=False, axis="y")
    label_axis(ax.xaxis, "share of the variance", "part")
    ax.set_xlim(0.0, 1.0)
    return ax


def save_front(
    front: Front, path: Path, x: str | None = None, y: str | None = None, *, bars: bool = True
) -> None:
    """Write the front, and with ``bars`` below it what matters, where that is known.

    Raises
    ------
    InputError
        No such figure, or a file that cannot be written.
    """
    first, *said = front.lines
    title = legible(f"{front.name}: {front.subject}; {first}")
    heading = "\n".join((title, *(paragraph(text, MOST_LETTERS) for text in said)))
    finish(front_figure(front, x, y, bars=bars), (), heading, path)


def front_figure(
    front: Front, x: str | None = None, y: str | None = None, *, bars: bool = True
) -> Figure:
    """Return the same without a heading."""
    fields = {key for share in front.shares for key in share.parts}
    heights = [4.6, 0.9 + 0.35 * len(fields)] if bars and fields else [4.6]
    figure, grid = canvas(len(heights), 1, 1.2 + sum(heights), heights)
    axes = [ax for (ax,) in grid]
    plot_front(front, x, y, axes[0])
    if len(axes) > 1:
        plot_importances(front, axes[1])
    draw_legend(figure, axes)
    return figure


Plane = tuple[Axis, Axis]


def _places(plane: Plane, trials: Sequence[Trial]) -> list[tuple[float, float]]:
    """Return places of the trials that have both figures."""
    return [place for trial in trials if (place := trial.place(*plane)) is not None]


def _draw_members(ax: Axes, front: Front, plane: Plane, members: Sequence[Trial]) -> None:
    """Draw them, numbered, with lines to the least that any schedule on their machines takes."""
    places = _places(plane, members)
    if not places:
        return
    if front.is_plane(*plane):
        ax.step(*zip(*sorted(places), strict=True), where="post", color=_FRONT, lw=1.2)
    label = "front" if front.top is None else f"best {front.top}"
    label += " of lower bounds" if front.bounds_only else ""
    x_values, y_values = zip(*places, strict=True)
    ax.scatter(x_values, y_values, s=30, marker="D", color=_FRONT, zorder=3, label=label)
    across, up = plane
    for trial in members:
        place = trial.place(*plane)
        if place is None:
            continue
        x, y = place
        left, foot = trial.least.get(across.key, x), trial.least.get(up.key, y)
        if (left, foot) != place:
            ax.plot(
                [left, x, x],
                [y, y, foot],
                color=_FRONT,
                lw=3,
                alpha=0.3,
                label="what its machine takes at least",
            )


def _draw_limits(ax: Axes, plane: Plane) -> None:
    """Draw constraints as lines, or as arrows at the edge: they do not move the axes."""
    (left, right), (foot, top) = ax.get_xlim(), ax.get_ylim()
    beyond = 0
    look: dict[str, Any] = {"color": LINE, "linewidth": 1.0, "linestyle": "--"}
    for axis, draw, low, high in (
        (plane[0], ax.axvline, left, right),
        (plane[1], ax.axhline, foot, top),
    ):
        for limit in axis.limits:
            if low <= limit.value <= high:
                draw(limit.value, label=limit.text, **look)
                continue
            _draw_arrow(ax, limit.text, limit.value > high, axis == plane[0], beyond)
            beyond += 1
    ax.set_xlim(left, right)
    ax.set_ylim(foot, top)


def _draw_arrow(ax: Axes, text: str, is_above: bool, is_across: bool, line: int) -> None:
    """Draw an arrow to an edge, with its text, the ``line``-th of those below each other."""
    edge = 1.0 if is_above else 0.0
    inward = 0.05 if not is_above else -0.05
    place = 0.9 - 0.07 * line
    end, start = ((edge, place), (edge + inward, place))
    if not is_across:
        end, start = ((0.97 - 0.25 * line, edge), (0.97 - 0.25 * line, edge + inward * 2))
    side = "left" if is_across and not is_above else "right"
    ax.annotate(
        "",
        end,
        xytext=start,
        xycoords="axes fraction",
        textcoords="axes fraction",
        arrowprops={"arrowstyle": "->", "color": LINE},
    )
    gap = 0.01 if side == "left" else -0.01
    ax.text(
        start[0] + gap,
        start[1],
        text,
        transform=ax.transAxes,
        fontsize=TEXT - 2,
        ha=side,
        va="center",
        parse_math=False,
    )


def _name_members(ax: Axes, plane: Plane, members: Sequence[Trial]) -> None:
    """Write numbers beside members, where neither a mark nor another number is."""
    places = _places(plane, members)
    data_to_axes = ax.transData - ax.transAxes
    points = [data_to_axes.transform(place) * _AXES_POINTS for place in places]
    boxes = [(x - 4, y - 4, x + 4, y + 4) for x, y in points]
    named = [trial for trial in members if trial.place(*plane) is not None][:_NAMED]
    for trial, place, (x, y) in zip(named, places, points, strict=False):
        text = str(trial.number)
        wide = _LETTER_POINTS * len(text)
        for dx, dy in ((5, 4), (5, -11), (-5 - wide, 4), (-5 - wide, -11), (-wide / 2, 7)):
            box = (x + dx, y + dy, x + dx + wide, y + dy + TEXT - 2)
            if not any(_meet(box, other) for other in boxes):
                boxes.append(box)
                ax.annotate(text, place, (dx, dy), textcoords="offset points", fontsize=TEXT - 2)
                break


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
