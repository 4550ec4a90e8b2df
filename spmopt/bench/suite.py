"""What is measured, as plain data: it crosses a process border as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

Figure = float | str | None
"""A number (also true and false), a text, or nothing known."""
Figures = Mapping[str, Figure]
Options = Mapping[str, float | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One training step of a network of the zoo, or a small network, lowered for a machine.

    Of a layer in tiles, ``lowering`` is the order of its tile products.
    """

    network: str
    spm: str
    parameters: Mapping[str, int] = field(default_factory=dict)
    lowering: str = "tiled"
    machine: str = "rtx2080ti"

    @property
    def title(self) -> str:
        """Network and parameters."""
        return ", ".join([self.network, *(f"{k}={v}" for k, v in self.parameters.items())])


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One measurement of a row: the name of a measure, and its options.

    Where it is ``seeded``, each run has its number, from 0, as option ``seed`` besides.
    """

    measure: str
    options: Options
    seeded: bool = False

    def of_run(self, number: int) -> Part:
        """The same for one run."""
        if not self.seeded:
            return self
        return replace(self, options={**self.options, "seed": number})


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a figure is to reach: at most ``value``, or at least."""

    figure: str
    value: float
    at_least: bool = False

    def met(self, figures: Figures) -> bool:
        """Whether the figure is known and reaches it."""
        figure = figures.get(self.figure)
        if figure is None or isinstance(figure, str):
            return False
        return figure >= self.value if self.at_least else figure <= self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a table.

    Attributes
    ----------
    cells
        Texts of the line's first columns; together they name it.
    parts
        Measurements by label; a figure of a part with a label is called ``label.figure``.
    sums
        Names of rows before this one: its figures are the sums of theirs.
    """

    case: Case
    cells: tuple[str, ...]
    parts: Mapping[str, Part]
    targets: tuple[Target, ...] = ()
    sums: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Unique in its suite."""
        return " ".join(self.cells)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A figure in the table; ``form`` is a key of ``table.FORMS``."""

    figure: str
    heading: str
    form: str = "s"


def _nothing(figures: Figures) -> Figures:
    del figures
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A table to measure.

    Attributes
    ----------
    title
        What is measured, in a few words.
    about
        How, for the reader of the table.
    heads
        Headings of the rows' cells.
    derive
        Further figures of a row from those measured.
    """

    name: str
    title: str
    about: str
    heads: tuple[str, ...]
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    derive: Callable[[Figures], Figures] = _nothing
