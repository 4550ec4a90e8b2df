"""A search of machines: the front among all trials, what proofs excluded, what matters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap

import numpy as np
from matplotlib.axes import Axes

from spmopt.core.errors import InputError
from spmopt.reporting.fronts import Axis, Front, Trial
from spmopt.reporting.palette import BOUND, COLORS
from spmopt.reporting.plots.numbers import label_axis
from spmopt.reporting.plots.style import LINE, TEXT, Heading, alone, canvas, dress, finish, legible

_TRIAL, _FRONT = COLORS[0], COLORS[1]
_NAMED = 20
"""Members of a front whose numbers find room."""
_MOST_LETTERS = 120


def plot_front(
    front: Front, x: str | None = None, y: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw trials by two figures, by default into a figure of its own.

    A line under a member of the front goes down to what any schedule on its machine takes at
    least. What proofs excluded is a cross where any schedule of it is at best. Constraints are
    dashed.

    Raises
    ------
    InputError
        The study has no such figure.
    """
    ax = alone(ax)
    across, up = front.pair(x, y)
    members = [
        trial for number in front.members for trial in front.trials if trial.number == number
    ]
    others = [trial for trial in front.trials if trial.number not in front.members]
    _mark(ax, (across, up), [each for each in others if each.state.startswith("excluded")])
    solved = [each for each in others if each.state in ("solved", "as before")]
    _scatter(
        ax, (across, up), [each for each in solved if not each.is_feasible], "breaks a constraint"
    )
    _scatter(ax, (across, up), [each for each in solved if each.is_feasible], "solved")
    _draw_members(ax, front, (across, up), members)
    dress(ax, "", "", "")
    for side, axis in (("x", across), ("y", up)):
        bounded = " ≥" if front.bounds_only and axis.of_schedules else ""
        label_axis(ax, "x" if side == "x" else "y", f"{axis.label}{bounded}", axis.unit)
    _draw_limits(ax, across, up)
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
        raise InputError(f"study {front.name}: too few machines were solved to say what matters")
    ax = alone(ax)
    fields = list(dict.fromkeys(key for share in front.shares for key in share.parts))
    high = 0.8 / len(front.shares)
    for rank, share in enumerate(front.shares):
        places = np.arange(len(fields)) + (rank + 0.5) * high - 0.4
        parts = [share.parts.get(field, 0.0) for field in fields]
        label = legible(f"{share.objective} ({share.rests})")
        ax.barh(places, parts, high, color=COLORS[rank % len(COLORS)], label=label)
    dress(ax, "What objectives vary with", "", "")
    ax.set_yticks(range(len(fields)), [legible(field, 40) for field in fields], parse_math=False)
    ax.set_ylim(len(fields) - 0.5, -0.5)
    ax.grid(visible=False, axis="y")
    label_axis(ax, "x", "share of the variance", "part")
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
    fields = {key for share in front.shares for key in share.parts}
    heights = [4.6, 0.9 + 0.35 * len(fields)] if bars and fields else [4.6]
    figure, grid = canvas(len(heights), 1, 1.2 + sum(heights), heights)
    axes = [ax for (ax,) in grid]
    plot_front(front, x, y, axes[0])
    if len(axes) > 1:
        plot_importances(front, axes[1])
    _, *said = front.lines
    conditions = "\n".join(
        line for text in said for line in wrap(legible(text, 300), _MOST_LETTERS)
    )
    title = legible(f"{front.name}: {front.subject}; {front.lines[0]}")
    finish(figure, axes, Heading(title=title, conditions=conditions), path)


Plane = tuple[Axis, Axis]


def _places(plane: Plane, trials: Sequence[Trial]) -> tuple[list[float], list[float]]:
    """Of the trials that have both figures."""
    found = [place for trial in trials if (place := trial.place(*plane)) is not None]
    return [x for x, _ in found], [y for _, y in found]


def _scatter(ax: Axes, plane: Plane, trials: Sequence[Trial], label: str) -> None:
    places = _places(plane, trials)
    if places[0]:
        whole = label == "solved"
        face = _TRIAL if whole else "none"
        ax.scatter(*places, s=16, facecolors=face, edgecolors=_TRIAL, alpha=0.35, label=label)


def _mark(ax: Axes, plane: Plane, trials: Sequence[Trial]) -> None:
    places = _places(plane, trials)
    if places[0]:
        ax.scatter(*places, s=22, marker="x", color=BOUND, label="excluded by proof, at best here")


def _draw_members(ax: Axes, front: Front, plane: Plane, members: Sequence[Trial]) -> None:
    x, y = _places(plane, members)
    if not x:
        return
    if front.is_plane(*plane):
        order = np.argsort(x, kind="stable")
        ax.step(np.array(x)[order], np.array(y)[order], where="post", color=_FRONT, lw=1.2)
    label = "front" if front.top is None else f"best {front.top}"
    label += " of lower bounds" if front.bounds_only else ""
    ax.scatter(x, y, s=30, marker="D", color=_FRONT, zorder=3, label=label)
    _draw_gaps(ax, plane, members)
    for trial in members[:_NAMED]:
        place = trial.place(*plane)
        if place is not None:
            ax.annotate(
                str(trial.number),
                place,
                xytext=(4, 5),
                textcoords="offset points",
                fontsize=TEXT - 2,
            )


def _draw_gaps(ax: Axes, plane: Plane, members: Sequence[Trial]) -> None:
    """Lines from members to the least that any schedule on their machines takes."""
    across, up = plane
    label: str | None = "what its machine takes at least"
    for trial in members:
        place = trial.place(*plane)
        if place is None:
            continue
        x, y = place
        ends = trial.least.get(across.key, x), trial.least.get(up.key, y)
        if ends != place:
            ax.plot([ends[0], x], [y, y], color=_FRONT, lw=3, alpha=0.3, label=label)
            ax.plot([x, x], [ends[1], y], color=_FRONT, lw=3, alpha=0.3)
            label = None


def _draw_limits(ax: Axes, across: Axis, up: Axis) -> None:
    for axis, draw in ((across, ax.axvline), (up, ax.axhline)):
        for limit in axis.limits:
            draw(limit.value, color=LINE, linewidth=1.0, linestyle="--", label=limit.text)
