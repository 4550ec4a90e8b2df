"""A sweep that is looked at: its rows as curves, on a page or in a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from spmopt.cli import Code
from spmopt.core.errors import InputError

if TYPE_CHECKING:  # it would load numpy, and help should not
    from spmopt.report.curves import Curves


def curves_in(path: Path) -> Curves:
    """Read the CSV file of a sweep; raises :class:`InputError`."""
    from spmopt.report.curves import curves_of
    from spmopt.sweep.stored import stored_sweep

    stored = stored_sweep(path)
    try:
        return curves_of(stored.rows, stored.names, stored.extra)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def report_sweep(path: Path, output: Path, *, as_json: bool) -> int:
    """Write the page of a sweep, and say so."""
    from spmopt.cli.terminal.output import print_json, say
    from spmopt.io.document import write_text
    from spmopt.report.page.curves import curves_page
    from spmopt.report.quantities import si

    curves = curves_in(path)
    text = curves_page(curves)
    write_text(output, text)
    size = len(text.encode())
    if as_json:
        known = {"sweep": str(path), "rows": len(curves.rows), "bytes": size}
        print_json({"file": str(output), **known})
    else:
        say(f"{output}: {curves.subject}, {len(curves.rows)} rows; {si(size, 'B')}")
    return Code.OK


def plot_sweep(path: Path, output: Path, x: str | None, y: str | None, *, as_json: bool) -> int:
    """Draw a sweep, and say so."""
    from spmopt.cli.terminal.output import print_json, say
    from spmopt.report.plots.curves import save_curves

    curves = curves_in(path)
    view = curves.view(x, y)
    save_curves(curves, view, output)
    if as_json:
        print_json({"file": str(output), "sweep": str(path), "x": view.x.key, "y": view.y.key})
    else:
        say(f"{output}: {curves.subject}, {view.y.label} over {view.x.label}")
    return Code.OK
