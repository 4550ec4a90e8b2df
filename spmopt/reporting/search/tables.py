"""The text of ``spmopt tune show``, in parts: for a terminal, a pipe, or a notebook."""

from __future__ import annotations

from collections.abc import Iterator

from spmopt.reporting.quantities import percent
from spmopt.reporting.search.words import (
    counts_text,
    fields_to_show,
    figure_text,
    header_lines,
    remark,
)
from spmopt.reporting.tables import Grid, Part
from spmopt.search.figures import FIGURES
from spmopt.search.records import Findings, TrialRecord
from spmopt.search.setup import Setup


def search_parts(findings: Findings) -> Iterator[Part]:
    """Yield the text of a study, from top to bottom."""
    setup = findings.setup
    labels = ", ".join(network.label for network in setup.networks)
    yield f"study {findings.name}: {labels}; {counts_text(findings.counts)}"
    yield from header_lines(setup)
    if not findings.members:
        return
    yield ""
    yield _trials(findings)


def _trials(findings: Findings) -> Grid:
    """Return a line a trial, with a column of remarks where there are any."""
    setup, built = findings.setup, findings.built
    fields = [axis.key for axis in setup.space.axes]
    if "bandwidth" not in fields and any(each and each.is_held_back for each in built.values()):
        fields.append("bandwidth")
    remarks = [remark(trial.number, findings) for trial in findings.members]
    rows = []
    for trial, said in zip(findings.members, remarks, strict=True):
        own = built[trial.number]
        bandwidth = {} if own is None else {"bandwidth": own.dram_bytes_per_s}
        shown = fields_to_show({**bandwidth, **trial.parameters}, own)
        cells = (shown.get(key, "-") for key in fields)
        row = (str(trial.number), *cells, *_came_to(trial, setup))
        rows.append((*row, said) if any(remarks) else row)
    columns = ("trial", *fields, *map(_heading, setup.names), "gap", "seconds")
    if any(remarks):
        columns = (*columns, "remark")
    return Grid(columns=columns, rows=rows, left=("remark",))


def _heading(name: str) -> str:
    """Return the head of a column: its cells have the unit, except of areas."""
    figure = FIGURES.get(name)
    if name == "area_mm2":
        return "area (mm²)"
    return figure.short if figure is not None and figure.unit else name


def _came_to(trial: TrialRecord, setup: Setup) -> Iterator[str]:
    figures = trial.figures or {}
    yield from (figure_text(name, figures[name], setup) for name in setup.names)
    yield "-" if trial.gap is None else percent(trial.gap, fill=True)
    yield "-" if trial.seconds is None else f"{trial.seconds:.2f}"
