"""Sweeps: schedulers over ranges of machines and batches, as rows."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from spmopt.api.drawn import Drawn
from spmopt.api.shown import Shown
from spmopt.cli import Code
from spmopt.cli.sweeping.options import Swept as Options
from spmopt.cli.sweeping.sweep import Effort, measured
from spmopt.cli.terminal.output import silenced
from spmopt.report.curves import Curves, curves_of
from spmopt.report.tables import Grid, Line, Part
from spmopt.sweep.rows import Columns, Row
from spmopt.sweep.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class Swept(Shown):
    """One row for each point and scheduler, by the columns of ``spmopt sweep -o``."""

    table: Table

    @property
    def rows(self) -> list[Row]:
        """Values by column."""
        return self.table.rows

    def parts(self) -> Iterator[Part]:
        """What differs between rows as a table, and what all have in common."""
        names, *rows = csv.reader(StringIO(self.table.text()))
        differ = [k for k in range(len(names)) if len({row[k] for row in rows}) > 1]
        same = [(names[k], rows[0][k]) for k in range(len(names)) if k not in differ and rows]
        common = ", ".join(f"{name} {text}" for name, text in same if text)
        yield Line(text=f"{len(rows)} rows; {common}")
        yield Line()
        yield Grid(
            columns=[names[k] for k in differ], rows=[[row[k] for k in differ] for row in rows]
        )

    def curves(self) -> Curves:
        """What there is to draw: quantities over what was swept, bounds as bands."""
        rows = self.table.rows
        usual = Columns(on_chip=True).types
        names = list(rows[0]) if rows else []
        return curves_of(rows, names, [name for name in names if name not in usual])

    def draw(self, x: str | None = None, y: str | None = None) -> Drawn:
        """Curves of a quantity over another, by column or label; by default the first there is.

        Raises
        ------
        InputError
            There are no such curves.
        """
        found = self.curves()
        view = found.view(x, y)

        def write(path: Path) -> None:
            # Only a picture needs matplotlib.
            from spmopt.report.plots.curves import save_curves

            save_curves(found, view, path)

        return Drawn(f"{view.y.label} over {view.x.label} of {found.subject}", write)


def sweep(
    networks: str | Sequence[str],
    schedulers: Sequence[str] = ("belady", "page", "fluid"),
    *,
    training: bool = False,
    batch: str | None = None,
    machine: str | None = None,
    spm: str | None = None,
    bandwidth: str | None = None,
    settings: Mapping[str, str] | None = None,
    objective: str = "time",
    time_limit: float = 60.0,
    tolerance: float = 1e-3,
    jobs: int = 1,
    output: str | Path | None = None,
) -> Swept:
    """Run schedulers over ranges of scratchpads, machines and batches.

    Parameters
    ----------
    networks
        Names, ONNX files, or instances as JSON.
    schedulers
        Names of ``spmopt schedulers``; ``fluid`` is the bound.
    training
        One training step.
    batch, machine, spm, bandwidth, settings
        Lists and ranges, as ``"8,16"``, ``"24MB:100MB:4MB"``, ``{"page": "4KiB,64KiB"}``.
    objective, time_limit, tolerance
        What is minimised, seconds for each scheduler and point, gap.
    jobs
        Processes.
    output
        CSV file that rows are added to as they are finished; one of the same sweep is gone on with.

    Raises
    ------
    InputError
        A network, range or scheduler that cannot be used, or a file of another sweep.
    """
    options = Options(
        networks=[networks] if isinstance(networks, str) else list(networks),
        training=training,
        batch=batch,
        machine=machine,
        spm=spm,
        bandwidth=bandwidth,
        set=[f"{key}={value}" for key, value in (settings or {}).items()],
    )
    effort = Effort(objective=objective, time_limit=time_limit, tolerance=tolerance, jobs=jobs)
    with silenced():
        path = None if output is None else Path(output)
        table, code = measured(options, effort, ",".join(schedulers), path)
    if code is Code.INTERRUPTED:
        raise KeyboardInterrupt
    return Swept(table)
