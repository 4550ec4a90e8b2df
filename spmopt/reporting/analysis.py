"""An analysis as tables for people, as JSON and as CSV; all bear the same figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from spmopt.analysis import Analysis, Breakdown, Cause, Scope, ScopeFigures
from spmopt.analysis.steps import ridge_point
from spmopt.core.result import Result
from spmopt.core.timeline import Access
from spmopt.reporting import tables
from spmopt.reporting.headings import barrier_notes, heading
from spmopt.reporting.plain import plain
from spmopt.reporting.quantities import share, si
from spmopt.reporting.results import PART, Record, instance_record, result_record
from spmopt.reporting.tables import Grid, Line, Part, Values

Columns = dict[str, list[object]]

TIME = (
    "type I: matrix products, convolutions, their gradients; type II: all other work. stall: share "
    "of the time beyond the computation; cause: what most of it waits for (stationary: operands "
    "that must be on chip while the step computes; load: bytes for the step, prefetch: for later "
    "steps; store: results; stream in, out: bytes that pass through). active: bandwidth over its "
    "peak; utilized: FLOP over what the engine could do in the time. roofline: compute if FLOP/B, "
    "per byte of the tensors touched, is above the ridge point, else memory: the bound if every "
    "operand came from DRAM, whatever the schedule keeps."
)
REUSE = (
    "A reuse interval lies between two uses of the same contents. reusable: bytes of the "
    "intervals; captured: those kept on chip from use to use. formula: capacity by Tsai (2021), "
    "for all intervals and for 90 % of them. exact: the smallest scratchpad that captures all of "
    "this scope, alone and with the shorter ones above it."
)
_UNITS = {
    "_bytes_per_s": "B/s",
    "_flop_per_s": "FLOP/s",
    "flop_per_byte": "FLOP/B",
    "_cycles": "cycles",
    "cycles": "cycles",
    "_bytes": "B",
    "_s": "s",
    "flop": "FLOP",
    "active_time": PART,
    "utilization": PART,
    "resident": PART,
    "part": PART,
    "captured": PART,
}
"""By how a name ends; the first that fits."""
_GROUP = (
    *("steps", "time_s", "cycles", "compute_cycles", "dma_cycles", "stall_s", "stall_cause"),
    *("dram_in_bytes", "dram_out_bytes", "bandwidth_bytes_per_s", "active_time", "flop", "macs"),
    *("compute_utilization", "operand_bytes", "flop_per_byte", "attainable_flop_per_s"),
    *("roofline", "peak_spm_bytes", "mean_spm_bytes"),
)
_TENSOR = (
    *("name", "kind", "size_bytes", "uses", "dram_in_bytes", "dram_out_bytes", "flop"),
    *("flop_per_byte", "reusable_bytes", "captured_bytes", "resident"),
)
_SCOPE = (
    *("gaps", "reusable_bytes", "captured_bytes", "captured", "formula_bytes"),
    *("formula_most_bytes", "alone_bytes", "with_shorter_bytes"),
)
_GROUP_HEADS = {
    "steps": "steps",
    "time_s": "time",
    "stall_part": "stall",
    "stall_cause": "cause",
    "traffic_bytes": "traffic",
    "bandwidth_bytes_per_s": "bandwidth",
    "active_time": "active",
    "compute_utilization": "utilized",
    "flop_per_byte": "FLOP/B",
    "roofline": "roofline",
    "peak_spm_bytes": "SPM peak",
}
"""Names of columns in tables for people, and what a narrow terminal does without; also below."""
_GROUP_LESS = (
    *("SPM peak", "FLOP/B", "bandwidth", "active", "roofline", "utilized", "cause", "steps"),
)
_SCOPE_HEADS = {
    "scope": "reuse scope",
    "gaps": "intervals",
    "reusable_bytes": "reusable",
    "captured_bytes": "captured",
    "captured": "part",
    "formula_bytes": "formula",
    "formula_most_bytes": "for 90 %",
    "alone_bytes": "exact, alone",
    "with_shorter_bytes": "with shorter",
}
_SCOPE_LESS = ("intervals", "for 90 %", "formula", "with shorter", "exact, alone", "reusable")
_USE_HEADS = {
    "name": "tensor",
    "operation": "in",
    "access": "access",
    "size_bytes": "size",
    "resident_bytes": "on chip",
    "flop_per_byte": "FLOP/B",
    "roofline": "roofline",
    "next_operation": "next",
    "scope": "scope",
    "captured_bytes": "captured",
}
_USE_LESS = ("FLOP/B", "roofline", "next", "access", "scope", "size", "on chip")
_TENSOR_HEADS = {
    "name": "tensor",
    "kind": "kind",
    "size_bytes": "size",
    "uses": "uses",
    "dram_in_bytes": "in",
    "dram_out_bytes": "out",
    "flop_per_byte": "FLOP/B",
    "reusable_bytes": "reusable",
    "captured_bytes": "captured",
}
_TENSOR_LESS = ("FLOP/B", "kind", "uses", "size", "out", "in")
_LEAST_SHOWN = 5e-4
"""Causes of less than that part of the time would show as 0 %."""


def detail(analysis: Analysis, per: str) -> Columns:
    """Return columns of each ``operation``, ``layer`` (and pass), ``tensor`` or ``use``."""
    match per:
        case "use":
            return _uses(analysis)
        case "tensor":
            return _columns(analysis.by_tensor(), _TENSOR)
        case "layer":
            return _groups(analysis.by_layer(), "pass")
    return _groups(analysis.by_operation(), "kind")


def analysis_record(analysis: Analysis, result: Result, per: str | None) -> Record:
    """Return what ``--json`` prints; rows of ``per`` stand under its plural."""
    machine, network = analysis.instance.machine, analysis.network()
    (whole,) = records({"name": [analysis.instance.name], **_columns(network, _GROUP)})
    stalls = network.stall_by_cause[:, 0] / machine.clock_hz
    record: Record = {
        "instance": instance_record(analysis.instance),
        "result": result_record(machine, result),
        "ridge_point_flop_per_byte": ridge_point(machine),
        "network": {**whole, "loaded_in_vain_bytes": analysis.vain_bytes},
        "stall_s_by_cause": {c.words: float(stalls[c]) for c in Cause if c is not Cause.NONE},
        "types": records(_groups(analysis.types(), "kind")),
        "scopes": records(_scopes(analysis.scopes())),
    }
    if per is not None:
        record[f"{per}s"] = records(detail(analysis, per))
    return record


def csv_text(analysis: Analysis, per: str) -> str:
    """Return rows of ``per`` as CSV; a figure that is infinite is left empty."""
    return tables.csv_text(detail(analysis, per))


def analysis_parts(analysis: Analysis, result: Result, per: str | None) -> Iterator[Part]:
    """Yield what is printed, from top to bottom; ``per`` adds a table of :func:`detail`."""
    yield Line(text=f"{heading(analysis.instance, result)}; scheduler {result.scheduler}")
    yield from (Line(text=note) for note in barrier_notes(result))
    yield Line()
    yield Values(rows=list(_summary(analysis)))
    yield Line()
    yield _group_grid(analysis.types(), "type", "kind")
    yield Line(text=TIME)
    yield Line()
    yield _grid(_scopes(analysis.scopes()), _SCOPE_HEADS, 1, _SCOPE_LESS)
    yield Line(text=REUSE)
    if per is not None:
        yield Line()
        yield _detail_grid(analysis, per)


def unit_of(name: str) -> str:
    """Return the unit of a column by its name; empty for a count or text."""
    return next((unit for end, unit in _UNITS.items() if name.endswith(end)), "")


def records(columns: Mapping[str, object]) -> list[Record]:
    """Return the rows of columns as records."""
    rows = zip(*(as_list(column) for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def as_list(column: object) -> list[object]:
    """Return a column as Python's numbers or texts; what is infinite has no number."""
    found = plain(column)
    return found if isinstance(found, list) else [found]


def _columns(figures: object, names: Sequence[str]) -> Columns:
    return {name: as_list(getattr(figures, name)) for name in names}


def _groups(groups: Breakdown, label: str, names: Sequence[str] = _GROUP) -> Columns:
    """One row a group; ``label`` names the column of the labels."""
    return {"name": [*groups.names], label: [*groups.labels], **_columns(groups, names)}


def _scopes(scopes: Sequence[ScopeFigures]) -> Columns:
    """One row a reuse scope."""
    return {
        "scope": [each.scope.words for each in scopes],
        **{name: [getattr(each, name) for each in scopes] for name in _SCOPE},
    }


def _uses(analysis: Analysis) -> Columns:
    """One row a tensor in an operation; the last columns are of the interval until its next use."""
    uses, tensors = analysis.by_use(), analysis.instance.tensor_names
    order = analysis.steps.view.timeline.operation.tolist()
    names = [analysis.instance.operations[index].name for index in order]
    scope = uses.scope.tolist()
    return {
        "name": [tensors[tensor] for tensor in uses.tensor.tolist()],
        "operation": [names[step] for step in uses.step.tolist()],
        "access": [Access(kind).name.lower() for kind in uses.kind.tolist()],
        **_columns(uses, ("size_bytes", "resident_bytes", "flop_per_byte")),
        "roofline": ["memory" if memory else "compute" for memory in uses.memory_bound.tolist()],
        "next_operation": [None if step < 0 else names[step] for step in uses.next_step.tolist()],
        "scope": [None if number < 0 else Scope(number).words for number in scope],
        **_columns(uses, ("captured_bytes",)),
    }


def _detail_grid(analysis: Analysis, per: str) -> Grid:
    """Each operation, layer, tensor or use."""
    if per == "tensor":
        return _grid(detail(analysis, per), _TENSOR_HEADS, 2, _TENSOR_LESS)
    if per == "use":
        return _grid(detail(analysis, per), _USE_HEADS, 3, _USE_LESS)
    if per == "layer":
        return _group_grid(analysis.by_layer(), per, "pass")
    return _group_grid(analysis.by_operation(), per, "kind")


def _group_grid(groups: Breakdown, name: str, label: str) -> Grid:
    heads = {"name": name, label: label, **_GROUP_HEADS}
    return _grid(_groups(groups, label, [*_GROUP_HEADS]), heads, 2, (*_GROUP_LESS, label))


def _grid(columns: Columns, heads: Mapping[str, str], left: int, less: Sequence[str]) -> Grid:
    """A table of some columns, the first few to the left."""
    cells = [[_shown(unit_of(key), value) for value in columns[key]] for key in heads]
    rows, names = list(zip(*cells, strict=True)), list(heads.values())
    return Grid(columns=names, rows=rows, left=names[:left], dispensable=less)


def _shown(unit: str, value: object) -> str:
    """A figure in a column; its head bears FLOP/B."""
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
    machine, network, layers = analysis.instance.machine, analysis.network(), analysis.by_layer()
    cycles, causes = max(1, int(network.cycles[0])), network.stall_by_cause[:, 0]
    parts = [
        f"{share(causes[cause] / cycles)} {Cause(cause).words}"
        for cause in np.argsort(-causes).tolist()
        if causes[cause] / cycles >= _LEAST_SHOWN
    ]
    stall = share(int(network.stall_cycles[0]) / cycles)
    utilization = share(network.compute_utilization[0])
    yield "time", f"{si(float(network.time_s[0]), 's')}, compute utilization {utilization}"
    yield "stall", f"{stall} of the time" + (": " + ", ".join(parts)) * bool(parts)
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
    memory, uses = np.array(layers.roofline) == "memory", analysis.by_use().memory_bound
    part = share(int(layers.cycles[memory].sum()) / cycles)
    yield (
        "roofline",
        f"ridge point {ridge_point(machine):.4g} FLOP/B; with all operands in DRAM, memory-bound "
        f"are {memory.sum()} of {memory.size} layer passes ({part} of the time) and {uses.sum()} "
        f"of {uses.size} uses of tensors",
    )
