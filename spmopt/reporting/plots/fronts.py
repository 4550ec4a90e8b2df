"""A search of machines: the front among all trials, and trials excluded by proof."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

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
# Colors and marks of trials outside the front, by their outcome.
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
# Members whose numbers are written at most; parts of the axes that two numbers are apart.
_NAMED, _APART = 20, 0.03
Plane = tuple[Axis, Axis]


def plot_front(
    front: Front, x: str | None = None, y: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw trials by two figures, by default into a figure of its own.

    A line under a member of the front goes down to the least figures of any schedule on its
    machine. A trial excluded by proof is a cross at the least figures of its schedules. Axes are
    scaled to the trials: constraints are dashed among them; the legend says which lie beyond.

    Raises
    ------
    InputError
        The study has no such figure.
    """
    ax = alone(ax)
    across, up = plane = front.pair(x, y)
    known = {trial.number: trial for trial in front.trials}
    members = [known.pop(number) for number in front.members]
    states: dict[str, list[Trial]] = {}
    for trial in known.values():
        state = trial.state
        if state in _SOLVED:
            # A solved machine may still break a constraint on its figures.
            state = "solved" if trial.is_feasible else "broken"
        states.setdefault(state, []).append(trial)
    for state, (label, look) in _MARKS.items():
        if places := _places(plane, states.get(state, ())):
            ax.scatter(*zip(*places, strict=True), label=label, **look)
    _draw_members(ax, front, plane, members)
    dress(ax)
    for axis, side in ((across, ax.xaxis), (up, ax.yaxis)):
        bounded = " ≥" if front.bounds_only and axis.of_schedules else ""
        label_axis(side, f"{axis.label}{bounded}", axis.unit)
    _draw_limits(ax, plane)
    missing = sum(trial.place(across, up) is None for trial in front.trials)
    if missing:
        note = f"{missing} of {len(front.trials)} trials are not known by both figures"
        ax.set_title(note, fontsize=TEXT - 1, loc="right", color="#555555")
    return ax


def save_front(front: Front, path: Path, x: str | None = None, y: str | None = None) -> None:
    """Write the front.

    Raises
    ------
    InputError
        No such figure, or a file that cannot be written.
    """
    first, *said = front.lines
    title = legible(f"{front.name}: {front.subject}; {first}")
    heading = "\n".join((title, *(paragraph(text, MOST_LETTERS) for text in said)))
    finish(front_figure(front, x, y), heading, path)


def front_figure(front: Front, x: str | None = None, y: str | None = None) -> Figure:
    """Return the same without a heading."""
    figure, [[ax]] = canvas(1, 1, 5.4)
    plot_front(front, x, y, ax)
    draw_legend(figure, [ax])
    return figure


def _places(plane: Plane, trials: Sequence[Trial]) -> list[tuple[float, float]]:
    """Return places of the trials that have both figures."""
    return [place for trial in trials if (place := trial.place(*plane)) is not None]


def _draw_members(ax: Axes, front: Front, plane: Plane, members: Sequence[Trial]) -> None:
    """Draw them, numbered, with lines to the least that any schedule on their machines takes."""
    places = _places(plane, members)
    if not places:
        return
    # With a third objective, or a part of the front, steps would suggest dominance.
    if front.is_plane(*plane):
        ax.step(*zip(*sorted(places), strict=True), where="post", color=_FRONT, lw=1.2)
    label = "front" if front.top is None else f"best {front.top}"
    label += " of lower bounds" if front.bounds_only else ""
    x_values, y_values = zip(*places, strict=True)
    ax.scatter(x_values, y_values, s=30, marker="D", color=_FRONT, zorder=3, label=label)
    across, up = plane
    named: list[tuple[float, float]] = []
    for trial in members:
        place = trial.place(*plane)
        if place is None:
            continue
        x, y = place
        left, foot = trial.least.get(across.key, x), trial.least.get(up.key, y)
        if (left, foot) != place:
            label = "what its machine takes at least"
            ax.plot([left, x, x], [y, y, foot], color=_FRONT, lw=3, alpha=0.3, label=label)
        # Distances in parts of the axes: data may be on logarithmic scales.
        shown = ax.transAxes.inverted().transform(ax.transData.transform(place))
        near = any(abs(shown[0] - a) + abs(shown[1] - b) < _APART for a, b in named)
        if len(named) < _NAMED and not near:
            named.append((float(shown[0]), float(shown[1])))
            ax.annotate(
                str(trial.number), place, (5, 4), textcoords="offset points", fontsize=TEXT - 2
            )


def _draw_limits(ax: Axes, plane: Plane) -> None:
    """Draw constraints as lines; they do not move the axes."""
    # Kept and set again: a far limit would squeeze all trials into a corner.
    ends = ax.get_xlim(), ax.get_ylim()
    look: dict[str, Any] = {"color": LINE, "linewidth": 1.0, "linestyle": "--"}
    for axis, draw, (low, high) in zip(plane, (ax.axvline, ax.axhline), ends, strict=True):
        for limit in axis.limits:
            is_beyond = not low <= limit.value <= high
            draw(limit.value, label=f"{limit.text}{' (beyond the axes)' * is_beyond}", **look)
    ax.set(xlim=ends[0], ylim=ends[1])
