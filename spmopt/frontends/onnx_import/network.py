"""A model taken apart: true inputs, constants, and the nodes that its outputs need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import onnx

from spmopt.core.errors import InputError
from spmopt.frontends.onnx_import.facts import Fact, constant_fact
from spmopt.frontends.onnx_import.topology import order_nodes, reads

Dimensions = tuple[int | str | None, ...]

_BATCH = "batch"
_RECURRENT = frozenset(("RNN", "GRU", "LSTM"))
"""A dimension of this name is the batch, wherever it stands: it is the name of the option."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A tensor type as the file writes it: dimensions are sizes, symbols, or unknown.

    ``batch_axis``: of an input, the axis that counts as the batch if that is given.
    """

    element_type: int
    dimensions: Dimensions
    batch_axis: int = 0

    @property
    def batch(self) -> int | str | None:
        """Size or symbol of the batch; None of a scalar too."""
        return self.dimensions[self.batch_axis] if self.dimensions else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelParts:
    """The parts of a model that matter.

    ``inputs`` are true inputs: before IR version 4 a file lists its initializers among the
    inputs too. ``declared`` are shapes that the file states for other values.
    """

    name: str
    inputs: Mapping[str, Declared]
    constants: Mapping[str, Fact]
    nodes: tuple[onnx.NodeProto, ...]
    outputs: tuple[str, ...]
    declared: Mapping[str, Declared]
    opsets: Mapping[str, int]


def take_apart(model: onnx.ModelProto, folder: Path | None) -> ModelParts:
    """Return the parts of ``model``, whose external data lie in ``folder``.

    Raises
    ------
    InputError
        Cycles, names without a producer, inputs that are not dense tensors.
    """
    graph = model.graph
    constants = initializers(graph, folder)
    # Before IR version 4 initializers had to be listed among the inputs.
    given = {value.name: value for value in graph.input if value.name not in constants}
    outputs = tuple(value.name for value in graph.output)
    nodes = order_nodes(graph.node, {*given, *constants}, outputs)
    for node in nodes:
        if node.domain:
            node.domain = plain_domain(node.domain)
    used = set(outputs).union(*map(reads, nodes))
    declared = {name: _declare(value) for name, value in given.items() if name in used}
    for name in _of_time(nodes) & {n for n, each in declared.items() if len(each.dimensions) > 1}:
        declared[name] = replace(declared[name], batch_axis=1)
    inputs = _name_open(declared)
    return ModelParts(
        name=graph.name or "model",
        inputs=inputs,
        constants=constants,
        nodes=tuple(nodes),
        outputs=outputs,
        declared={
            value.name: _declare(value)
            for value in (*graph.value_info, *graph.output)
            # Writers of gradients leave the element type out: an absent type says nothing.
            if value.type.tensor_type.HasField("shape") and value.type.tensor_type.elem_type
        },
        opsets=_opsets(model),
    )


def batch_of_file(inputs: Mapping[str, Declared]) -> int | str | None:
    """Return the batch size of the file, or its symbol: the batch of its first input."""
    if any(_BATCH in entry.dimensions for entry in inputs.values()):
        return _BATCH
    return next((entry.batch for entry in inputs.values() if entry.dimensions), None)


def _of_time(nodes: Iterable[onnx.NodeProto]) -> set[str]:
    """Return inputs of recurrent operators that begin with time or directions, and then the batch.

    A batch size in place of the time would make another sequence.
    """
    found = set[str]()
    for node in nodes:
        layout = next((each.i for each in node.attribute if each.name == "layout"), 0)
        if node.op_type in _RECURRENT and not node.domain and not layout:
            found |= {node.input[0], *node.input[5:7]} - {""}
    return found


def initializers(graph: onnx.GraphProto, folder: Path | None) -> dict[str, Fact]:
    """Return the constants that a graph holds; sparse ones by their dense shape."""
    found = {tensor.name: constant_fact(tensor, folder) for tensor in graph.initializer}
    for sparse in graph.sparse_initializer:
        # Schedules move dense tensors: zeros take room too.
        kind, shape = sparse.values.data_type, tuple(sparse.dims)
        found[sparse.values.name] = Fact(element_type=kind, shape=shape, live=False)
    return found


def plain_domain(name: str) -> str:
    """Return the name of a domain; the standard one has two."""
    return "" if name == "ai.onnx" else name


def _opsets(model: onnx.ModelProto) -> dict[str, int]:
    """Return the version of each operator set; of one that is named twice, the newer."""
    found: dict[str, int] = {}
    for entry in model.opset_import:
        # Schemas of ONNX have versions of 32 bits; its look-up fails on more.
        if not 0 < entry.version < 1 << 31:
            raise InputError(
                f"operator set {entry.domain or 'ai.onnx'} has version {entry.version}, which "
                "does not exist; the file is damaged, export it again"
            )
        name = plain_domain(entry.domain)
        found[name] = max(entry.version, found.get(name, 0))
    return found


def _declare(value: onnx.ValueInfoProto) -> Declared:
    tensor = value.type.tensor_type
    if not value.type.HasField("tensor_type") or not tensor.elem_type:
        raise InputError(f"input {value.name}: is not a dense tensor; only those are supported")
    if not tensor.HasField("shape"):
        raise InputError(f"input {value.name}: has no shape; export the model with input shapes")
    dimensions = tuple(_dimension(entry, axis) for axis, entry in enumerate(tensor.shape.dim))
    return Declared(element_type=tensor.elem_type, dimensions=dimensions)


def _name_open(inputs: dict[str, Declared]) -> dict[str, Declared]:
    """Name open dimensions that have no name, but for an open batch, as ``input.axis``."""
    fixed = batch_of_file(inputs) is not None

    def named(name: str, entry: Declared) -> Declared:
        sizes = enumerate(entry.dimensions)
        shape = (
            f"{name}.{k}" if size is None and (k != entry.batch_axis or fixed) else size
            for k, size in sizes
        )
        return replace(entry, dimensions=tuple(shape))

    return {name: named(name, entry) for name, entry in inputs.items()}


def _dimension(entry: onnx.TensorShapeProto.Dimension, axis: int) -> int | str | None:
    """Return a size, a symbol, or None; a first size of 0 is how some exporters leave it open.

    Further on, a size of 0 is an empty tensor, as the keys of a cache before the first token.
    """
    size: int = entry.dim_value
    if entry.HasField("dim_value") and (size > 0 or (size == 0 and axis > 0)):
        return size
    # Some exporters write "?" for each open dimension, however many sizes these have.
    return None if entry.dim_param in ("", "?") else entry.dim_param
