"""Analyses as named columns; JSON and CSV bear the same names."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from spmopt.analysis import Analysis, Breakdown, Scope, ScopeFigures, TensorFigures
from spmopt.analysis.roofline import Reals
from spmopt.core.table import Ints
from spmopt.core.timeline import Access

Columns = dict[str, list[object]]


def detail(analysis: Analysis, per: str) -> Columns:
    """Columns of each ``operation``, ``layer`` (and pass), ``tensor`` or ``use``."""
    makers: dict[str, Callable[[], Columns]] = {
        "operation": lambda: breakdown_columns(analysis.by_operation(), "kind"),
        "layer": lambda: breakdown_columns(analysis.by_layer(), "pass"),
        "tensor": lambda: tensor_columns(analysis.by_tensor()),
        "use": lambda: use_columns(analysis),
    }
    return makers[per]()


def breakdown_columns(groups: Breakdown, label: str | None = None) -> Columns:
    """One row a group; ``label`` names the column of the labels."""
    clock = groups.machine.clock_hz
    roofline = ["compute" if above else "memory" for above in groups.compute_bound]
    return {
        "name": list(groups.names),
        **({} if label is None else {label: list(groups.labels)}),
        "steps": plain(groups.steps),
        "time_s": plain(groups.time_s),
        "cycles": plain(groups.cycles),
        "compute_cycles": plain(groups.compute_cycles),
        "dma_cycles": plain(groups.dma_cycles),
        "stall_s": plain(groups.stall_cycles / clock),
        "stall_cause": [cause.words for cause in groups.cause],
        "dram_in_bytes": plain(groups.in_bytes),
        "dram_out_bytes": plain(groups.out_bytes),
        "bandwidth_bytes_per_s": plain(groups.bandwidth),
        "active_time": plain(groups.active_time),
        "flop": plain(groups.operations),
        "macs": plain(groups.macs),
        "compute_utilisation": plain(groups.utilisation),
        "operand_bytes": plain(groups.operand_bytes),
        "flop_per_byte": plain(groups.reuse_frequency),
        "attainable_flop_per_s": plain(groups.attainable),
        "roofline": list(roofline),
        "peak_spm_bytes": plain(groups.peak_spm_bytes),
        "mean_spm_bytes": plain(groups.mean_spm_bytes),
    }


def tensor_columns(tensors: TensorFigures) -> Columns:
    """One row a tensor."""
    return {
        "name": list(tensors.names),
        "kind": list(tensors.kinds),
        "size_bytes": plain(tensors.size_bytes),
        "uses": plain(tensors.uses),
        "dram_in_bytes": plain(tensors.in_bytes),
        "dram_out_bytes": plain(tensors.out_bytes),
        "flop": plain(tensors.operations),
        "flop_per_byte": plain(tensors.reuse_frequency),
        "reusable_bytes": plain(tensors.possible_bytes),
        "captured_bytes": plain(tensors.captured_bytes),
        "resident": plain(tensors.resident),
    }


def use_columns(analysis: Analysis) -> Columns:
    """One row a tensor in an operation; the last columns are of the gap until its next use."""
    uses, tensors = analysis.by_use(), analysis.instance.tensors
    order = analysis.steps.view.timeline.operation.tolist()
    names = [analysis.instance.operations[index].name for index in order]
    ahead = uses.next_step.tolist()
    scope = uses.scope.tolist()
    return {
        "name": [tensors[tensor].name for tensor in uses.tensor.tolist()],
        "operation": [names[step] for step in uses.step.tolist()],
        "access": [Access(kind).name.lower() for kind in uses.kind.tolist()],
        "size_bytes": plain(uses.size_bytes),
        "resident_bytes": plain(uses.resident_bytes),
        "flop_per_byte": plain(uses.reuse_frequency),
        "roofline": ["memory" if memory else "compute" for memory in uses.memory_bound.tolist()],
        "next_operation": [None if step < 0 else names[step] for step in ahead],
        "scope": [None if number < 0 else Scope(number).words for number in scope],
        "captured_bytes": plain(uses.captured_bytes),
    }


def scope_columns(scopes: Sequence[ScopeFigures]) -> Columns:
    """One row a reuse scope."""
    return {
        "scope": [scope.scope.words for scope in scopes],
        "gaps": [scope.gaps for scope in scopes],
        "reusable_bytes": [scope.possible_bytes for scope in scopes],
        "captured_bytes": [scope.captured_bytes for scope in scopes],
        "captured": [scope.captured for scope in scopes],
        "formula_bytes": [scope.formula_bytes for scope in scopes],
        "formula_most_bytes": [scope.formula_most_bytes for scope in scopes],
        "alone_bytes": [scope.alone_bytes for scope in scopes],
        "with_shorter_bytes": [scope.with_shorter_bytes for scope in scopes],
    }


def rows(columns: Columns) -> list[tuple[object, ...]]:
    """The columns as rows."""
    return list(zip(*columns.values(), strict=True))


def plain(values: Ints | Reals) -> list[object]:
    """Python's numbers; what is infinite has no number."""
    exact: list[object] = values.tolist()
    if np.isfinite(values).all():
        return exact
    finite = np.isfinite(values).tolist()
    return [value if there else None for value, there in zip(exact, finite, strict=True)]
