"""An analysis as tables for people, as JSON and as CSV; all bear the same figures."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from typing import Any

import numpy as np

from spmopt.analysis import Analysis, Breakdown, Cause
from spmopt.analysis.steps import ridge_point
from spmopt.core.result import Result
from spmopt.reporting.headings import account_heading
from spmopt.reporting.plain import plain
from spmopt.reporting.quantities import share, shares_text, si
from spmopt.reporting.results import PART, Record, problem_record, result_record
from spmopt.reporting.tables import Grid, NamedValues, Part

Columns = dict[str, list[object]]

_TABLES = tomllib.loads(files(__package__).joinpath("analysis.toml").read_text(encoding="utf-8"))
TIME, REUSE = _TABLES["group"]["note"], _TABLES["scope"]["note"]
_UNITS = {
    "_bytes_per_s": "B/s",
    "_flop_per_s": "FLOP/s",
    **dict.fromkeys(("flop_per_byte", "reuse_frequency"), "FLOP/B"),
    "cycles": "cycles",
    "_bytes": "B",
    "_s": "s",
    "flop": "FLOP",
    **dict.fromkeys(("active_time", "utilization", "resident", "part", "captured"), PART),
}
"""By how a name ends; the first that fits."""
_UNGROUPED = {"use": Analysis.by_use, "tensor": Analysis.by_tensor}


def detail(analysis: Analysis, per: str) -> Columns:
    """Return columns of each ``operation``, ``layer`` (and pass), ``tensor`` or ``use``."""
    if per in _UNGROUPED:
        return as_lists(_UNGROUPED[per](analysis))
    return _groups(*_group(analysis, per))


def analysis_record(analysis: Analysis, result: Result, per: str | None) -> Record:
    """Return what ``--json`` prints; rows of ``per`` stand under its plural."""
    machine, network = analysis.problem.machine, analysis.network()
    (whole,) = records(_groups(network, ""))
    del whole[""]  # all of the network has no label
    stalls = network.stall_by_cause[:, 0] / machine.clock_hz
    record: Record = {
        "problem": problem_record(analysis.problem),
        "result": result_record(machine, result),
        "ridge_point_flop_per_byte": ridge_point(machine),
        "network": {**whole, "loaded_in_vain_bytes": analysis.vain_bytes},
        "stall_s_by_cause": {c.words: float(stalls[c]) for c in Cause if c is not Cause.NONE},
        "types": records(_groups(analysis.types(), "kind")),
        "scopes": records(_scopes(analysis)),
    }
    if per is not None:
        record[f"{per}s"] = records(detail(analysis, per))
    return record


def analysis_parts(analysis: Analysis, result: Result, per: str | None) -> Iterator[Part]:
    """Yield what is printed, from top to bottom; ``per`` adds a table of :func:`detail`."""
    yield from account_heading(analysis.problem, result)
    yield NamedValues(rows=list(_summary(analysis)))
    yield ""
    yield _group_grid("type", analysis.types(), "kind")
    yield TIME
    yield ""
    yield _grid("scope", _scopes(analysis))
    yield REUSE
    if per is None:
        return
    yield ""
    if per in _UNGROUPED:
        yield _grid(per, detail(analysis, per))
    else:
        yield _group_grid(per, *_group(analysis, per))


def unit_of(name: str) -> str:
    """Return the unit of a column by its name; empty for a count or text."""
    return next((unit for end, unit in _UNITS.items() if name.endswith(end)), "")


def records(columns: Mapping[str, object]) -> list[Record]:
    """Return the rows of columns as records."""
    lists = as_lists(columns)
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def as_lists(columns: Mapping[str, object]) -> Columns:
    """Return columns of Python's numbers or texts; what is infinite has no number."""
    found: Any = plain(columns)
    return dict(found)


def _group(analysis: Analysis, per: str) -> tuple[Breakdown, str]:
    """Return figures of each layer or operation, and what their labels are."""
    return (analysis.by_layer(), "pass") if per == "layer" else (analysis.by_operation(), "kind")


def _groups(groups: Breakdown, label: str, names: Iterable[str] = ()) -> Columns:
    """Return one row a group; ``label`` names the column of the labels."""
    figures = {name: getattr(groups, name) for name in names or _TABLES["group"]["columns"]}
    return as_lists({"name": groups.names, label: groups.labels, **figures})


def _scopes(analysis: Analysis) -> Columns:
    """Return one row a reuse scope."""
    scopes = analysis.scopes()
    columns = {name: [getattr(each, name) for each in scopes] for name in _TABLES["scope"]["heads"]}
    return {**columns, "scope": [each.scope.words for each in scopes]}


def _group_grid(name: str, groups: Breakdown, label: str) -> Grid:
    columns = _groups(groups, label, _TABLES["group"]["heads"])
    return _grid("group", columns, {"name": name, label: label})


def _grid(table: str, columns: Columns, first: Mapping[str, str] | None = None) -> Grid:
    """Return a table for people; ``first`` are heads before those of the table."""
    how = _TABLES[table]
    heads = {**(first or {}), **how["heads"]}
    cells = [[_show(unit_of(key), value) for value in columns[key]] for key in heads]
    rows, names = list(zip(*cells, strict=True)), list(heads.values())
    dispensable = [name for name in how["dispensable"] if name in names]
    return Grid(columns=names, rows=rows, left=names[: how["left"]], dispensable=dispensable)


def _show(unit: str, value: object) -> str:
    """Write a figure in a column; its head bears FLOP/B."""
    if value is None or value == "":
        return "-"
    if not isinstance(value, int | float):
        return str(value)
    if unit == PART:
        return share(value)
    if unit == "FLOP/B":
        return f"{value:.3g}"
    return si(value, unit, fill=True) if unit else str(value)


def _summary(analysis: Analysis) -> Iterator[tuple[str, str]]:
    machine, network, layers = analysis.problem.machine, analysis.network(), analysis.by_layer()
    cycles, causes = max(1, int(network.cycles[0])), network.stall_by_cause[:, 0]
    parts = shares_text({cause.words: int(causes[cause]) for cause in Cause}, cycles)
    stall = share(int(network.stall_cycles[0]) / cycles)
    utilization = share(network.compute_utilization[0])
    yield "time", f"{si(float(network.time_s[0]), 's')}, compute utilization {utilization}"
    yield "stall", f"{stall} of the time" + f": {parts}" * bool(parts)
    vain = f"; {si(analysis.vain_bytes, 'B')} loaded in vain" * (analysis.vain_bytes > 0)
    inward, outward, traffic = (
        si(float(sizes[0]), "B")
        for sizes in (network.dram_in_bytes, network.dram_out_bytes, network.traffic_bytes)
    )
    rate = si(float(network.bandwidth_bytes_per_s[0]), "B/s")
    active = share(network.active_time[0])
    yield (
        "traffic",
        f"{traffic} ({inward} in, {outward} out), {rate} on average, active {active}{vain}",
    )
    mean, peak = float(network.mean_spm_bytes[0]), float(network.peak_spm_bytes[0])
    yield "SPM", f"{si(mean, 'B')} in use on average, {si(peak, 'B')} at most"
    memory = layers.roofline == "memory"
    part = share(int(layers.cycles[memory].sum()) / cycles)
    intensity = float(network.flop_per_byte[0])
    at = f"operational intensity {intensity:.4g} FLOP/B, " if np.isfinite(intensity) else ""
    yield (
        "roofline",
        f"{at}ridge point {ridge_point(machine):.4g} FLOP/B; memory-bound: {memory.sum()} of "
        f"{memory.size} layer passes ({part} of the time)",
    )
