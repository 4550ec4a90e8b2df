"""An analysis for people: lines on the network, then tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from rich.console import Console

from spmopt.analysis import Analysis, Breakdown, Cause, ScopeFigures, TensorFigures
from spmopt.analysis.roofline import ridge_point
from spmopt.core.result import Result
from spmopt.core.table import Ints
from spmopt.report.analysis.columns import rows as rows_of
from spmopt.report.analysis.columns import use_columns
from spmopt.report.analysis.legend import REUSE, TIME
from spmopt.report.parts import Grid, Line, Part, Values, draw_parts
from spmopt.report.quantities import share, si
from spmopt.report.view import barrier_notes, heading

_NONE = "-"
_SHOWN = 5e-4
"""Causes of less than that part of the time would show as 0 %."""
_TABLE = (
    "time",
    "stall",
    "cause",
    "traffic",
    "bandwidth",
    "active",
    "utilised",
    "FLOP/B",
    "roofline",
    "SPM peak",
)
_LESS = ("SPM peak", "FLOP/B", "bandwidth", "active", "roofline", "utilised", "cause")
"""What a narrow terminal does without, in that order; likewise below."""
_SCOPES = (
    "reuse scope",
    "gaps",
    "reusable",
    "captured",
    "part",
    "formula",
    "90 % of gaps",
    "exact, alone",
    "with shorter",
)
_LESS_SCOPES = ("gaps", "90 % of gaps", "formula", "with shorter", "exact, alone", "reusable")
_USES = (
    "tensor",
    "in",
    "access",
    "size",
    "on chip",
    "FLOP/B",
    "roofline",
    "next",
    "scope",
    "captured",
)
_LESS_USES = ("FLOP/B", "roofline", "next", "access", "scope", "size", "on chip")
_TENSORS = ("tensor", "kind", "size", "uses", "in", "out", "FLOP/B", "reusable", "captured")
_LESS_TENSORS = ("FLOP/B", "kind", "uses", "size", "out", "in")


def draw_analysis(analysis: Analysis, result: Result, per: str | None, console: Console) -> None:
    """Print the analysis; with ``per`` also each operation, layer or tensor."""
    draw_parts(analysis_parts(analysis, result, per), console)


def analysis_parts(analysis: Analysis, result: Result, per: str | None) -> Iterator[Part]:
    """What is printed of the analysis, from top to bottom."""
    yield Line(text=f"{heading(analysis.instance, result)}; scheduler {result.scheduler}")
    yield from (Line(text=note) for note in barrier_notes(result))
    yield Line()
    yield Values(rows=list(_summary(analysis)))
    yield Line()
    head = ("type", "kind", "steps", *_TABLE)
    less = (*_LESS, "steps", "kind")
    yield Grid(columns=head, rows=_rows(analysis.types()), left=head[:2], dispensable=less)
    yield Line(text=TIME)
    yield Line()
    scopes = [_scope(scope) for scope in analysis.scopes()]
    yield Grid(columns=_SCOPES, rows=scopes, left=_SCOPES[:1], dispensable=_LESS_SCOPES)
    yield Line(text=REUSE)
    if per is not None:
        yield Line()
        yield _detail(analysis, per)


def _detail(analysis: Analysis, per: str) -> Grid:
    """Each operation, layer, tensor or use."""
    if per == "tensor":
        rows = _tensor_rows(analysis.by_tensor())
        return Grid(columns=_TENSORS, rows=rows, left=_TENSORS[:2], dispensable=_LESS_TENSORS)
    if per == "use":
        left = (*_USES[:3], *_USES[6:9])
        return Grid(columns=_USES, rows=_use_rows(analysis), left=left, dispensable=_LESS_USES)
    groups = analysis.by_layer() if per == "layer" else analysis.by_operation()
    head = (per, "pass" if per == "layer" else "kind", "steps")
    less = (*_LESS, *head[:0:-1])
    return Grid(columns=(*head, *_TABLE), rows=_rows(groups), left=head[:2], dispensable=less)


def _summary(analysis: Analysis) -> Iterable[tuple[str, str]]:
    machine, network = analysis.instance.machine, analysis.network()
    time_s, cycles = float(network.time_s[0]), max(1, int(network.cycles[0]))
    stall = int(network.stall_cycles[0])
    causes = network.stall_by_cause[:, 0]
    parts = [
        f"{share(causes[cause] / cycles)} {Cause(cause).words}"
        for cause in np.argsort(-causes).tolist()
        if causes[cause] / cycles >= _SHOWN
    ]
    sides = f"{si(float(network.in_bytes[0]), 'B')} in, {si(float(network.out_bytes[0]), 'B')} out"
    rate = f"{si(float(network.bandwidth[0]), 'B/s')} on average"
    yield "time", f"{si(time_s, 's')}, compute utilisation {share(network.utilisation[0])}"
    yield "stall", f"{share(stall / cycles)} of the time" + (": " + ", ".join(parts)) * bool(parts)
    vain = f"; {si(analysis.vain_bytes, 'B')} loaded in vain" * (analysis.vain_bytes > 0)
    yield (
        "traffic",
        f"{si(float(network.traffic_bytes[0]), 'B')} ({sides}), {rate}, "
        f"active {share(network.active_time[0])}{vain}",
    )
    mean, peak = float(network.mean_spm_bytes[0]), float(network.peak_spm_bytes[0])
    yield "SPM", f"{si(mean, 'B')} in use on average, {si(peak, 'B')} at most"
    yield "roofline", _roofline(analysis, ridge_point(machine), cycles)


def _roofline(analysis: Analysis, ridge: float, cycles: int) -> str:
    """How many layers cannot keep the engine busy with their tensors in DRAM."""
    groups = analysis.by_layer()
    memory = ~np.array(groups.compute_bound, bool)
    part = share(int(groups.cycles[memory].sum()) / cycles)
    uses = analysis.by_use().memory_bound
    return (
        f"ridge point {ridge:.4g} FLOP/B; memory-bound, were all operands in DRAM, are "
        f"{memory.sum()} of {memory.size} layer passes ({part} of the time) and {uses.sum()} of "
        f"{uses.size} uses of tensors"
    )


def _rows(groups: Breakdown) -> list[tuple[str, ...]]:
    """Name, label, number of steps, and the columns of :data:`_TABLE`."""
    time, stall, traffic = groups.time_s, groups.stall_cycles, groups.traffic_bytes
    bandwidth, active, used = groups.bandwidth, groups.active_time, groups.utilisation
    frequency, above = groups.reuse_frequency, groups.compute_bound
    return [
        (
            name,
            groups.labels[k] or _NONE,
            str(groups.steps[k]),
            si(float(time[k]), "s", fill=True),
            share(stall[k] / max(1, groups.cycles[k])),
            _NONE if cause is Cause.NONE else cause.words,
            si(float(traffic[k]), "B", fill=True),
            si(float(bandwidth[k]), "B/s", fill=True),
            share(active[k]),
            _finite(used[k], share),
            _finite(frequency[k], "{:.3g}".format),
            "compute" if above[k] else "memory",
            si(float(groups.peak_spm_bytes[k]), "B", fill=True),
        )
        for k, (name, cause) in enumerate(zip(groups.names, groups.cause, strict=True))
    ]


def _scope(scope: ScopeFigures) -> tuple[str, ...]:
    part = scope.captured
    if part is None:
        return (scope.scope.words, *[_NONE] * (len(_SCOPES) - 1))
    sizes = (
        scope.formula_bytes,
        scope.formula_most_bytes,
        scope.alone_bytes,
        scope.with_shorter_bytes,
    )
    return (
        scope.scope.words,
        str(scope.gaps),
        si(scope.possible_bytes, "B", fill=True),
        si(scope.captured_bytes, "B", fill=True),
        share(part),
        *(_NONE if size is None else si(size, "B", fill=True) for size in sizes),
    )


def _tensor_rows(tensors: TensorFigures) -> Sequence[tuple[str, ...]]:
    columns = (
        tensors.size_bytes,
        tensors.in_bytes,
        tensors.out_bytes,
        tensors.possible_bytes,
        tensors.captured_bytes,
    )
    size, inward, out, possible, captured = map(_sizes, columns)
    uses = [str(count) for count in tensors.uses.tolist()]
    frequency = [f"{value:.3g}" for value in tensors.reuse_frequency.tolist()]
    names = (tensors.names, tensors.kinds)
    return list(zip(*names, size, uses, inward, out, frequency, possible, captured, strict=True))


def _use_rows(analysis: Analysis) -> Sequence[tuple[str, ...]]:
    uses, columns = analysis.by_use(), use_columns(analysis)
    columns["size_bytes"] = [*_sizes(uses.size_bytes)]
    columns["resident_bytes"] = [*_sizes(uses.resident_bytes)]
    columns["captured_bytes"] = [*_sizes(uses.captured_bytes)]
    columns["flop_per_byte"] = [f"{value:.3g}" for value in uses.reuse_frequency.tolist()]
    return [tuple(_NONE if cell is None else str(cell) for cell in row) for row in rows_of(columns)]


def _sizes(column: Ints) -> list[str]:
    return [si(float(value), "B", fill=True) for value in column.tolist()]


def _finite(value: float, shown: Callable[[float], str]) -> str:
    return shown(value) if np.isfinite(value) else _NONE
