"""What ``spmopt tune show`` prints, in parts: for a terminal, a pipe, or a notebook."""

from __future__ import annotations

from collections.abc import Iterator

from spmopt.core.units import si
from spmopt.reporting.quantities import percent
from spmopt.reporting.search.words import (
    counts_text,
    fields_to_show,
    figure_text,
    header_lines,
    importance_lines,
    remark,
)
from spmopt.reporting.tables import Grid, Part
from spmopt.search.figures import FIGURES
from spmopt.search.records import Findings, ResourceDuals, TrialRecord
from spmopt.search.setup import Setup
from spmopt.search.trials import candidate_of

_HEADS = ("trial", "network", "bound", "1 MB more SPM", "1 GB/s more DRAM", "1 PE more")
_SLOPES = (
    "Worth: how much the certified bound falls at first, for each MB, GB/s and PE (multiply-"
    "accumulate unit) more, by the shadow prices that prove it."
)
_ALIKE = "Worth of SPM: speed of its banks, energies and leakage stay as they are."


def search_parts(findings: Findings) -> Iterator[Part]:
    """Yield all that ``spmopt tune show`` prints of a study, from top to bottom."""
    setup = findings.setup
    labels = ", ".join(network.label for network in setup.networks)
    yield f"study {findings.name}: {labels}; {counts_text(findings.counts)}"
    yield from header_lines(setup)
    if not findings.members:
        return
    yield ""
    yield _trials(findings)
    yield ""
    yield from importance_lines(findings.importances)
    if findings.shadow_prices:
        yield from _shadow_prices(findings)


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


def _shadow_prices(findings: Findings) -> Iterator[Part]:
    yield ""
    lines = [(str(number), name, *_slopes(each)) for number, name, each in findings.shadow_prices]
    yield Grid(columns=_HEADS, rows=lines, left=("network",))
    yield _SLOPES
    if any(
        candidate_of(findings.setup, trial).machine.memory is not None for trial in findings.members
    ):
        yield _ALIKE


def _slopes(duals: ResourceDuals) -> tuple[str, ...]:
    per_pe = "-" if duals.per_pe is None else si(duals.per_pe, duals.unit)
    slopes = (si(value, duals.unit) for value in (duals.bound, duals.per_mb, duals.per_gbps))
    return (*slopes, per_pe)
