"""Rows of a sweep: as a table, as CSV, drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spmopt.api.arguments import check
from spmopt.api.callbacks import QUIET, Callbacks
from spmopt.api.shown import Drawing, Shown
from spmopt.core.errors import InputError

if TYPE_CHECKING:
    from spmopt.experiments.rows import Row
    from spmopt.reporting.curves import Curves
    from spmopt.reporting.tables import Part


@dataclass(frozen=True, eq=False, repr=False)
class SweepTable(Shown):
    """Rows of a sweep: one for each point and scheduler.

    Attributes
    ----------
    table
        Values by column, as ``spmopt sweep -o`` writes them.
    names
        Columns.
    extra
        Those of other machine settings that were swept.
    path
        File that they were read from, if any.
    left
        Work left undone by an interrupt, in words; empty where the sweep is complete.
    """

    table: Sequence[Row]
    names: Sequence[str]
    extra: Sequence[str]
    path: Path | None = None
    left: str = ""

    def rows(self) -> Sequence[Mapping[str, object]]:
        """Return values by column."""
        return self.table

    def record(self) -> Mapping[str, object]:
        """Return all rows, as ``spmopt sweep --json``."""
        return {"rows": list(self.table)}

    def parts(self) -> Iterator[Part]:
        """Yield a table of the columns that differ between rows, and the common values."""
        from spmopt.reporting.sweep import sweep_parts

        yield from sweep_parts(self.table, self.extra, self.left)

    def text(self) -> str:
        """Return the table as CSV."""
        from spmopt.experiments.rows import text_of
        from spmopt.reporting.tables import csv_text

        return csv_text({name: [text_of(row[name]) for row in self.table] for name in self.names})

    def summary(self) -> Iterator[str]:
        """Yield the number of rows, and of schedules among them."""
        verified = sum(row["verified"] is True for row in self.table)
        yield f"{len(self.table)} rows, {verified} of them schedules, all verified"

    def curves(self) -> Curves:
        """Return the curves of the rows: quantities over swept settings, bounds as stripes.

        Raises
        ------
        InputError
            There are no such rows.
        """
        from spmopt.reporting.curves import curves_of

        try:
            return curves_of(self.table, self.names, self.extra)
        except InputError as error:
            raise InputError(f"{self.path}: {error}" if self.path else str(error)) from None

    def draw(self, x: str | None = None, y: str | None = None) -> Drawing:
        """Draw a quantity over another, by column or label; by default the first there is."""
        curves = self.curves()
        view = curves.view(x, y)

        def write(path: Path) -> None:
            # Only a picture needs matplotlib.
            from spmopt.reporting.plots.curves import save_curves

            save_curves(curves, view, path)

        title = f"{curves.subject}, {view.y.label} over {view.x.label}"
        return Drawing(title, {"x": view.x.key, "y": view.y.key}, write)

    def page(self, callbacks: Callbacks = QUIET) -> tuple[str, str, dict[str, object]]:
        """Return a line on the content of a page, its text, and a record of it."""
        from spmopt.reporting.page.sheets import curves_page

        callbacks.progress("making the page", None)
        curves = self.curves()
        about = f"{curves.subject}, {len(curves.rows)} rows"
        return about, curves_page(curves), {"rows": len(curves.rows)}


@check
def read_sweep(path: str | Path) -> SweepTable:
    """Read the CSV file of a sweep.

    Parameters
    ----------
    path
        File that :func:`sweep` wrote.

    Returns
    -------
    SweepTable
        Its rows.

    Raises
    ------
    InputError
        It cannot be read, or is not of a sweep.
    """
    from spmopt.sweeps.stored import read_stored_sweep

    found = read_stored_sweep(Path(path))
    return SweepTable(found.rows, found.names, found.extra, Path(path))
