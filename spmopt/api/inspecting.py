"""Inspection of a network before it is scheduled: inputs, operators, layers, peak memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from spmopt.analysis.summary import (
    InspectedInput,
    InspectedLayer,
    InspectedOperator,
    NetworkSummary,
    Peak,
)
from spmopt.api.arguments import check
from spmopt.api.callbacks import QUIET, Callbacks
from spmopt.api.inputs import NETWORK_OPTIONS, Workload, load
from spmopt.api.mapper import lower
from spmopt.api.shown import Shown
from spmopt.core.errors import InputError, require_package

if TYPE_CHECKING:
    from spmopt.core.graph import Graph
    from spmopt.core.operation import Operation
    from spmopt.core.problem import Problem
    from spmopt.reporting.tables import Part

_EXAMPLE = 128
"""Size that is proposed for an open dimension."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Inspection(NetworkSummary, Shown):
    """Content of a network: inputs, operators, layers, peak of activations; prints tables."""

    def parts(self) -> Iterator[Part]:
        """Yield inputs, operators, the largest layers, and totals."""
        from spmopt.reporting.inspection import inspection_parts

        yield from inspection_parts(self)

    def record(self) -> Mapping[str, object]:
        """Return all figures, as ``spmopt inspect --json``."""
        return {
            "title": self.title,
            "inputs": [asdict(each) for each in self.inputs],
            "open_options": list(self.open_options),
            "operators": [asdict(each) for each in self.operators],
            "layers": self.rows(),
            "totals": {"macs": self.macs, "weight_bytes": self.weight_bytes},
            "peak": None if self.peak is None else asdict(self.peak),
            "problem": self.problem,
            "paste": self.paste,
            "notes": list(self.notes),
        }

    def rows(self) -> Sequence[Mapping[str, object]]:
        """Return a row for each layer."""
        return [asdict(layer) for layer in self.layers]


@check
def inspect(
    source: str | Path | Graph | Problem,
    *,
    training: bool = False,
    batch: int | None = None,
    optimizer: str | None = None,
    dtype: str | None = None,
    parameters: Mapping[str, int] | None = None,
    assume_pointwise: bool = False,
    operators: str | Path | None = None,
    top: int | None = 10,
    callbacks: Callbacks = QUIET,
) -> Inspection:
    """Inspect a network before it is scheduled.

    An ONNX file whose dimensions are open, or that has unknown operators, is inspected as far as
    its sizes are known.

    Parameters
    ----------
    source, training, batch, optimizer, dtype, parameters, assume_pointwise, operators
        As for :func:`load`.
    top
        Number of layers in the table, by multiply-accumulate operations; None: all.
    callbacks
        Receive progress and warnings.

    Returns
    -------
    Inspection
        Inputs, operators, layers with their sizes, and the peak of live activations.

    Raises
    ------
    InputError
        The file or network cannot be read, or an option does not go with it.
    """
    given: dict[str, Any] = dict(locals())
    options = {name: given[name] for name in NETWORK_OPTIONS}
    if Path(str(source)).suffix.lower() != ".onnx":
        workload = load(source, **options, callbacks=callbacks)
        return _size(workload, None, top, callbacks)
    known = _survey(Path(str(source)), batch, parameters or {}, operators, callbacks)
    known = replace(known, paste="" if assume_pointwise else known.paste)
    notes: tuple[str, ...] = ()
    if _BATCH in known.open_options:
        options["batch"], notes = 1, (f"The open batch size is taken as 1; {_BATCH} sets another.",)
    try:
        workload = load(source, **options, callbacks=callbacks)
    except InputError as error:
        enough = known.open_options and not parameters  # the options to paste
        return replace(known, problem="" if enough else str(error), top=top)
    return _size(workload, replace(known, notes=notes), top, callbacks)


_BATCH = "--batch 32"


def _survey(
    path: Path,
    batch: int | None,
    sizes: Mapping[str, int],
    rules: str | Path | None,
    callbacks: Callbacks,
) -> Inspection:
    """Return inputs, open dimensions and operators of an ONNX file."""
    from spmopt.graph.operators import register_operators

    require_package("onnx", f"{path}: an ONNX file")
    # Reading other networks should not wait for the onnx package.
    from spmopt.frontends.onnx_import.survey import survey_onnx

    if rules is not None:
        register_operators(rules, warn=callbacks.warn)
    found = survey_onnx(path)
    symbols = {size for _, shape in found.inputs.values() for size in shape}
    is_batch_open = not isinstance(found.batch, int) and found.batch not in sizes
    # The batch has an option of its own; --param sets all other dimensions.
    options = [_BATCH] if is_batch_open and batch is None and found.inputs else []
    others = {each for each in symbols if isinstance(each, str)} - {found.batch, *sizes}
    options += [f"--param {quote(f'{name}={_EXAMPLE}')}" for name in sorted(others)]
    return Inspection(
        title=path.name,
        inputs=[
            InspectedInput(name=name, element_type=kind, dimensions=shape)
            for name, (kind, shape) in found.inputs.items()
        ],
        operators=[
            InspectedOperator(name=name, nodes=count, has_rule=name not in found.unknown)
            for name, count in sorted(found.operators.items(), key=lambda each: -each[1])
        ],
        open_options=options,
        paste=found.paste,
    )


def _size(
    workload: Workload, known: Inspection | None, top: int | None, callbacks: Callbacks
) -> Inspection:
    """Return the inspection of a network whose sizes are known."""
    problem, graph = lower(workload, callbacks=callbacks), workload.graph
    found, count = known or Inspection(title=workload.title), len(problem.operations)
    if known is None and graph is not None:
        inputs, operators = _of_graph(graph)
        found = replace(found, inputs=inputs, operators=operators)
    elif known is None:
        kinds = Counter(operation.kind for operation in problem.operations)
        found = replace(found, operators=_count(kinds))
    if graph is not None and len(graph.nodes) != count:
        note = f"The {len(graph.nodes):,} nodes are scheduled as these {count:,} operations."
        found = replace(found, notes=(*found.notes, note))
    layers = [_layer(problem, step, each) for step, each in enumerate(problem.operations)]
    weights = sum(
        tensor.size_bytes for tensor in problem.tensors if tensor.kind in ("weight", "state")
    )
    return replace(
        found,
        title=workload.title,
        layers=layers,
        peak=_peak(problem),
        weight_bytes=weights,
        top=top,
    )


def _of_graph(graph: Graph) -> tuple[list[InspectedInput], list[InspectedOperator]]:
    """Return inputs and operators of a graph."""
    inputs = [
        InspectedInput(name=value.name, element_type=value.element_type, dimensions=value.shape)
        for value in graph.values
        if value.kind == "input"
    ]
    return inputs, _count(Counter(node.operator for node in graph.nodes))


def _count(kinds: Mapping[str, int]) -> list[InspectedOperator]:
    most_first = sorted(kinds.items(), key=lambda each: -each[1])
    return [InspectedOperator(name=name, nodes=count) for name, count in most_first]


def _layer(problem: Problem, step: int, operation: Operation) -> InspectedLayer:
    tensors = problem.tensors
    # State of an optimizer is stored with the weights and counts as such.
    weights = [index for index in operation.reads if tensors[index].kind in ("weight", "state")]
    others = [index for index in operation.reads if index not in weights]
    return InspectedLayer(
        step=step,
        name=operation.name,
        operator=operation.kind,
        macs=operation.mappings[0].macs,
        weight_bytes=sum(tensors[index].size_bytes for index in weights),
        read_bytes=sum(tensors[index].size_bytes for index in others),
        written_bytes=sum(tensors[index].size_bytes for index in operation.writes),
    )


def _peak(problem: Problem) -> Peak:
    from spmopt.analysis.liveness import live_activation_bytes

    live = live_activation_bytes(problem)
    step = int(live.argmax())
    return Peak(live_bytes=int(live[step]), step=step, operation=problem.operations[step].name)
