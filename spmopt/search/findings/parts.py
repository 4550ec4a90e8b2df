"""What is said of a study, in parts: for a terminal, a pipe, or a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from optuna.study import Study
from optuna.trial import FrozenTrial

from spmopt.report.quantities import percent, si
from spmopt.report.tables import Grid, Line, Part
from spmopt.search.findings.found import Found
from spmopt.search.findings.lines import (
    beyond_lines,
    counts_text,
    figure_text,
    header_lines,
    lead_text,
    varies_lines,
)
from spmopt.search.findings.replay import candidate_of
from spmopt.search.findings.shown import gap_of
from spmopt.search.findings.values import shown_fields
from spmopt.search.findings.worth import Prices
from spmopt.search.space.setup import Setup
from spmopt.search.study.record import FIGURES, SECONDS

_WORTH = ("trial", "network", "bound", "1 MB more SPM", "1 GB/s more DRAM", "1 PE more")
_SLOPES = (
    "Worth: how much the certified bound falls at first, for each MB, GB/s and PE (multiply-"
    "accumulate unit) more, by the prices that prove it."
)
_ALIKE = "Worth of SPM: speed of its banks, energies and leakage stay as they are."


def study_parts(study: Study, setup: Setup, found: Found) -> Iterator[Part]:
    """All that ``spmopt tune show`` says of a study, from top to bottom."""
    labels = ", ".join(network.label for network in setup.networks)
    yield Line(text=f"study {study.study_name}: {labels}; {counts_text(found.counted)}")
    yield from (Line(text=line) for line in header_lines(setup))
    if not found.trials:
        return
    yield Line()
    yield _trials(setup, found)
    yield from (Line(text=lead_text(*each), indent=2) for each in found.leads.items())
    yield from (Line(text=line, indent=2) for line in beyond_lines(found.built))
    yield Line()
    yield from (Line(text=line) for line in varies_lines(found.varies))
    if found.worth:
        yield from _worth(setup, found)


def _trials(setup: Setup, found: Found) -> Grid:
    """One line a trial; ``~`` at those that another may be as good as, ``*`` beyond a fit."""
    fields = [axis.key for axis in setup.space.axes]
    built = found.built
    if "bandwidth" not in fields and any(each and each.is_held_back for each in built.values()):
        fields.append("bandwidth")
    rows = []
    for trial in found.trials:
        own = built[trial.number]
        mark = "~" * (trial.number in found.leads) + "*" * bool(own and own.beyond)
        bandwidth = {} if own is None else {"bandwidth": own.dram_bytes_per_s}
        shown = shown_fields({**bandwidth, **trial.params}, own)
        cells = (shown.get(key, "-") for key in fields)
        rows.append((f"{trial.number}{mark}", *cells, *_came_to(trial, setup)))
    columns = ("trial", *fields, *setup.names, "gap", "seconds")
    return Grid(columns=columns, rows=rows, left=())


def _came_to(trial: FrozenTrial, setup: Setup) -> Iterator[str]:
    figures: Mapping[str, float] = trial.user_attrs[FIGURES]
    yield from (figure_text(name, figures[name], setup) for name in setup.names)
    gap, seconds = gap_of(trial), trial.user_attrs.get(SECONDS)
    yield "-" if gap is None else percent(gap, fill=True)
    yield "-" if seconds is None else f"{seconds:.2f}"


def _worth(setup: Setup, found: Found) -> Iterator[Part]:
    yield Line()
    lines = [(str(number), name, *_slopes(each)) for number, name, each in found.worth]
    yield Grid(columns=_WORTH, rows=lines, left=("network",))
    yield Line(text=_SLOPES)
    if any(candidate_of(setup, trial).machine.memory is not None for trial in found.trials):
        yield Line(text=_ALIKE)


def _slopes(prices: Prices) -> tuple[str, ...]:
    per_pe = "-" if prices.per_pe is None else si(prices.per_pe, prices.unit)
    slopes = (si(value, prices.unit) for value in (prices.bound, prices.per_mb, prices.per_gbps))
    return (*slopes, per_pe)
