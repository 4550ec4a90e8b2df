"""How pictures look: colours that colour-blind readers tell apart, sizes to be read at 1200 px."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from spmopt.core.errors import InputError

DPI = 150
WIDTH_INCHES = 8.0
"""1200 px."""
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito, Color Universal Design, 2008; but for yellow, which is pale on white."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
BOUND = "#999999"
"""Colour of bounds: no schedule's."""
_TEXT = 9
_LETTER_INCHES, _ENTRY_INCHES = 0.065, 0.6
"""Of text of that size on average; of a mark beside it and the space around both."""


@dataclass(frozen=True, kw_only=True)
class Heading:
    """What a picture shows, and under which conditions: read without the page around it."""

    title: str
    conditions: str


def canvas(rows: int, columns: int, height_inches: float) -> tuple[Figure, list[list[Axes]]]:
    """A figure of the common width with axes in rows; it belongs to no window."""
    figure = Figure(figsize=(WIDTH_INCHES, height_inches), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(rows, columns, squeeze=False)
    return figure, [list(line) for line in grid]


def alone(ax: Axes | None) -> Axes:
    """Return ``ax``, or the axes of a figure of their own."""
    return canvas(1, 1, 5.0)[1][0][0] if ax is None else ax


def dress(ax: Axes, title: str, x_label: str, y_label: str) -> None:
    """Titles, labels and a light grid."""
    ax.set_title(title, fontsize=_TEXT + 1)
    ax.set_xlabel(x_label, fontsize=_TEXT)
    ax.set_ylabel(y_label, fontsize=_TEXT)
    ax.tick_params(labelsize=_TEXT - 1)
    ax.grid(visible=True, color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def finish(figure: Figure, axes: Sequence[Axes], heading: Heading, path: Path) -> None:
    """Entitle a figure, give it one legend for ``axes`` and write it.

    Raises
    ------
    InputError
        It cannot be written.
    """
    entitle(figure, heading)
    common_legend(figure, axes)
    try:
        figure.savefig(path, format="png", metadata={"Software": None})
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None


def entitle(figure: Figure, heading: Heading) -> None:
    """Title and conditions above all axes."""
    figure.suptitle(f"{heading.title}\n{heading.conditions}", fontsize=_TEXT - 0.5, linespacing=1.5)


def common_legend(figure: Figure, axes: Sequence[Axes]) -> None:
    """One legend below all axes, none for no axes; a label that several have is there once."""
    found: dict[str, Artist] = {}
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        for handle, label in zip(handles, labels, strict=True):
            found.setdefault(label, handle)
    if found:
        figure.legend(
            list(found.values()),
            list(found),
            loc="outside lower center",
            ncols=legend_columns(list(found)),
            frameon=False,
            fontsize=_TEXT,
        )


def own_legend(ax: Axes) -> None:
    """A legend below its own axes."""
    handles, labels = ax.get_legend_handles_labels()
    ax.legend(
        handles,
        labels,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.1),
        ncols=legend_columns(labels),
        frameon=False,
        fontsize=_TEXT,
    )


def legend_columns(labels: Sequence[str]) -> int:
    """As many columns, up to six, as are sure to fit; entries go down the columns."""
    for columns in range(min(6, len(labels)), 1, -1):
        widest = [max(map(len, some)) for some in np.array_split(np.array(labels), columns)]
        if sum(_ENTRY_INCHES + _LETTER_INCHES * letters for letters in widest) <= WIDTH_INCHES:
            return columns
    return 1
