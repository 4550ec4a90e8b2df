"""Tables of an inspected network: inputs, operators, layers, totals."""

from __future__ import annotations

from collections.abc import Iterator

from spmopt.analysis.summary import NetworkSummary
from spmopt.reporting.quantities import si
from spmopt.reporting.tables import Grid, Line, NamedValues, Part


def inspection_parts(found: NetworkSummary) -> Iterator[Part]:
    """Yield the parts of an inspection from top to bottom."""
    yield found.title
    yield ""
    if found.inputs:
        yield Grid(
            columns=("input", "type", "shape"),
            rows=[(each.name, each.element_type, _shape(each.dimensions)) for each in found.inputs],
        )
        yield ""
    yield from _operators(found)
    if found.layers:
        yield from _layers(found)
        yield NamedValues(rows=list(_totals(found)))
    yield from (Line(text=note) for note in found.notes)
    if found.open_options and not found.layers:
        yield Line(
            text=f"Open dimensions: add {' '.join(found.open_options)} (sizes are examples)."
        )
    if found.problem:
        yield Line(text=f"Layer sizes are unknown: {found.problem}.")
    if found.paste:
        yield Line(text="Unknown operators: give each a class by --operators FILE, as:")
        yield from (Line(text=f"  {line}", fixed=True) for line in found.paste.splitlines())


def _shape(dimensions: tuple[int | str | None, ...]) -> str:
    return " x ".join("?" if size is None else str(size) for size in dimensions) or "scalar"


def _operators(found: NetworkSummary) -> Iterator[Part]:
    """Yield the operators; a column for rules only where one is missing."""
    if all(each.has_rule for each in found.operators):
        counts = ", ".join(f"{each.name} {each.nodes}" for each in found.operators)
        yield f"Operators: {counts}."
    else:
        rows = [
            (each.name, str(each.nodes), "yes" if each.has_rule else "none")
            for each in found.operators
        ]
        yield Grid(columns=("operator", "nodes", "rule"), rows=rows, left=("operator", "rule"))
    yield ""


def _layers(found: NetworkSummary) -> Iterator[Part]:
    """Yield the largest layers, or all in the given order."""
    shown = list(found.layers)
    if found.top is not None and len(shown) > found.top:
        largest = sorted(shown, key=lambda layer: (-layer.macs, layer.step))
        shown = largest[: found.top]
        yield f"{found.top} of {len(found.layers)} operations, by MACs (--all shows all):"
    rows = [
        (
            layer.name,
            layer.operator,
            f"{layer.macs:,}",
            *(
                si(size, "B", fill=True) if size else "-"
                for size in (layer.weight_bytes, layer.read_bytes, layer.written_bytes)
            ),
        )
        for layer in shown
    ]
    columns = ("operation", "operator", "MACs", "weights", "read", "written")
    yield Grid(columns=columns, rows=rows, left=columns[:2], ruled=True)
    yield ""


def _totals(found: NetworkSummary) -> Iterator[tuple[str, str]]:
    yield "operations", f"{len(found.layers):,}"
    yield "MACs", f"{found.macs:,}"
    yield "weights", si(found.weight_bytes, "B")
    if found.peak is not None:
        at = f"at {found.peak.operation} (step {found.peak.step})"
        yield "activations", f"peak {si(found.peak.live_bytes, 'B')} live {at}"
