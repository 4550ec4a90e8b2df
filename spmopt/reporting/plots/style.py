"""Style of all pictures: sizes to be read at 1200 px, titles, legends, files."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from io import BytesIO
from pathlib import Path
from textwrap import wrap

import numpy as np
from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font

from spmopt.core.errors import InputError

DPI = 150
WIDTH_INCHES = 8.0  # 1200 px
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
# Formats that pictures are written in, each without the fields that change from day to day.
METADATA: dict[str, dict[str, str | None]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
LINE = "#222222"  # of limits
TEXT = 9  # points
MOST_LETTERS = 2000  # of a remark: names in files of others may be of any length
_LINE_LETTERS = 120
# Inches of a letter of a legend on average, and of the mark beside it and the space around both.
_LETTER_INCHES, _ENTRY_INCHES = 0.065, 0.6


def canvas(
    rows: int, columns: int, height_inches: float, height_ratios: Sequence[float] | None = None
) -> tuple[Figure, list[list[Axes]]]:
    """Make a figure of the common width with axes in rows; it belongs to no window."""
    figure = Figure(figsize=(WIDTH_INCHES, height_inches), dpi=DPI, layout="constrained")
    # Not pyplot: it keeps every figure, and asks for a display.
    FigureCanvasAgg(figure)
    grid = figure.subplots(rows, columns, squeeze=False, height_ratios=height_ratios)
    return figure, [list(line) for line in grid]


def alone(ax: Axes | None) -> Axes:
    """Return ``ax``, or the axes of a figure of their own."""
    return canvas(1, 1, 5.0)[1][0][0] if ax is None else ax


def dress(ax: Axes, title: str = "", y_label: str = "") -> None:
    """Give axes a title at the left, a name of the vertical axis and a light grid."""
    set_title(ax, title)
    ax.set_ylabel(y_label, fontsize=TEXT)
    ax.tick_params(labelsize=TEXT - 1)
    ax.grid(visible=True, color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def set_title(ax: Axes, title: str) -> None:
    """Set the title at the left."""
    ax.set_title(legible(title), fontsize=TEXT, loc="left", parse_math=False)


def finish(figure: Figure, heading: str, path: Path) -> None:
    """Entitle a figure and write it.

    A file is read without a page around it: ``heading`` has its subject and conditions. The same
    figure gives the same bytes; PDF and SVG bring their letters along.

    Raises
    ------
    InputError
        It cannot be written, or is of no format of :data:`METADATA`.
    """
    form = require_format(path)
    figure.suptitle(heading, fontsize=TEXT - 0.5, linespacing=1.5, parse_math=False)
    try:
        _save(figure, path, form)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None


def data_uri(figure: Figure) -> str:
    """Return a figure as SVG in an address that a page holds."""
    file = BytesIO()
    _save(figure, file, "svg")
    return f"data:image/svg+xml;base64,{b64encode(file.getvalue()).decode()}"


def _save(figure: Figure, file: Path | BytesIO, form: str) -> None:
    # Fixed salt: identifiers in SVG are random otherwise, and files differ.
    with rc_context({"svg.hashsalt": "spmopt", "svg.fonttype": "path", "pdf.fonttype": 42}):
        figure.savefig(file, format=form, metadata=METADATA[form])


def require_format(path: Path) -> str:
    """Return the format that a picture's name says; raise :class:`InputError` for any other."""
    form = path.suffix.lower().removeprefix(".")
    if form not in METADATA:
        known = ", ".join(f".{name}" for name in METADATA)
        raise InputError(f"{path}: not a picture format; end the name in one of {known}")
    return form


def legible(text: str, most: int = 120) -> str:
    """Return ``text`` in one line of at most ``most`` letters, boxes for those the font lacks."""
    line = " ".join(text.split())
    if len(line) > most:
        # The end of a long name often tells it from others: keep a third of it.
        line = f"{line[: most * 2 // 3]}…{line[1 - most // 3 :]}"
    return "".join(letter if ord(letter) in _letters() else "□" for letter in line)


def paragraph(text: str, most: int) -> str:
    """Return ``text`` of at most ``most`` letters, in lines that fit a picture."""
    return "\n".join(wrap(legible(text, most), _LINE_LETTERS))


@cache
def _letters() -> frozenset[int]:
    return frozenset(get_font(findfont(FontProperties())).get_charmap())


def draw_legend(figure: Figure, axes: Sequence[Axes]) -> None:
    """Draw one legend below all axes; a label that several have is there once."""
    found: dict[str, Artist] = {}
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        for handle, label in zip(handles, labels, strict=True):
            found.setdefault(label, handle)
    # Cut labels: one of 100,000 letters took 8 s to lay out.
    names = [legible(label) for label in found]
    if found:
        figure.legend(
            list(found.values()),
            names,
            loc="outside lower center",
            ncols=legend_columns(names),
            frameon=False,
            fontsize=TEXT,
        )


def legend_columns(labels: Sequence[str]) -> int:
    """Return as many columns, up to six, as are sure to fit; entries go down the columns."""
    for columns in range(min(6, len(labels)), 1, -1):
        widest = [max(map(len, some)) for some in np.array_split(np.array(labels), columns)]
        if sum(_ENTRY_INCHES + _LETTER_INCHES * letters for letters in widest) <= WIDTH_INCHES:
            return columns
    return 1
